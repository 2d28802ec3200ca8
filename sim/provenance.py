"""Where a result came from: commit, tools, machine-independent."""

import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from sim.toolchain import find_tools

__all__ = ["Provenance", "provenance"]


class Provenance(BaseModel):
    """Commit of the sources, whether they were changed since, and the tools that were used.

    `commit` is the version of the distribution where the sources do not lie in a repository.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    commit: str
    dirty: bool
    tools: dict[str, str]


def provenance() -> Provenance:
    """Return the provenance of what this process computes."""
    root = Path(__file__).resolve().parents[1]
    commit = _git(root, "rev-parse", "HEAD")
    changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    tools = {tool.name: tool.version for tool in find_tools() if tool.version}
    return Provenance(commit=commit or _distribution(), dirty=bool(changed), tools=tools)


def _distribution() -> str:
    try:
        return f"bitwright {version('bitwright')}"
    except PackageNotFoundError:
        return "unknown"


def _git(root: Path, *arguments: str) -> str:
    if not (root / ".git").exists():
        return ""
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
