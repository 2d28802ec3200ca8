"""Where a result came from: commit, tools, machine-independent."""

import subprocess
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from sim.toolchain import find_tools

__all__ = ["Provenance", "project_version", "provenance"]


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
    return Provenance(
        commit=commit or f"bitwright {project_version()}", dirty=bool(changed), tools=tools
    )


def project_version() -> str:
    """Return the version that the sources state, or else the installed distribution's."""
    stated = Path(__file__).resolve().parents[1] / "pyproject.toml"
    if stated.is_file():
        return tomllib.loads(stated.read_text())["project"]["version"]
    try:
        return version("bitwright")
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
