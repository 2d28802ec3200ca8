"""``bitwright doctor``: tools and versions, what is missing, what will not work without it."""

from dataclasses import asdict, dataclass
from pathlib import Path

import hw
import models
import quant
import sim

from ..toolchain import APT_LINE, Tool, find_tools
from .failures import TOOL_MISSING
from .output import JsonOption, print_json, print_table

__all__ = ["Diagnosis", "doctor", "run", "shadows"]

_OURS = {"hw": hw, "models": models, "quant": quant, "sim": sim}
_OPTIONAL = ("torch", "iverilog")


@dataclass(frozen=True)
class Diagnosis:
    """Tools found and missing, and folders of the caller that hide or may hide our packages."""

    tools: tuple[Tool, ...]
    shadows: tuple[str, ...]

    @property
    def missing(self) -> tuple[Tool, ...]:
        """Tools without which a verb of the main path does not work."""
        return tuple(t for t in self.tools if t.version is None and t.name not in _OPTIONAL)


def doctor(folder: Path | None = None) -> Diagnosis:
    """Examine the installation, as seen by a caller in `folder` (default: the current one)."""
    return Diagnosis(find_tools(), shadows(folder or Path.cwd()))


def shadows(folder: Path) -> tuple[str, ...]:
    """Return a line for each entry of `folder` that `python` started there takes for a package."""
    lines = []
    for name, package in _OURS.items():
        ours = Path(str(package.__file__)).resolve().parent
        for entry in (folder / name, folder / f"{name}.py"):
            taken = entry.is_dir() if entry.suffix == "" else entry.is_file()
            if taken and entry.resolve() != ours:
                lines.append(
                    f"{entry} shadows bitwright's package {name}: rename it, or start elsewhere"
                )
    return tuple(lines)


def run(as_json: JsonOption = False) -> int:
    """Show tools and versions found, what is missing and what will not work without it."""
    diagnosis = doctor()
    if as_json:
        print_json(asdict(diagnosis))
    else:
        rows = [(t.name, t.version or "MISSING", t.needed_for) for t in diagnosis.tools]
        print_table("tools", ("tool", "version", "needed for"), rows)
        for line in diagnosis.shadows:
            print(line)
        for tool in diagnosis.tools:
            if tool.version is None:
                print(f"{tool.name} is missing; will not work: {tool.needed_for}")
        if any(tool.version is None for tool in diagnosis.tools):
            print(f"what the system gives: {APT_LINE}")
    return TOOL_MISSING if diagnosis.missing else 0
