"""Says what an exception means to a user: an exit code and one line."""

import sys
import traceback
from pathlib import Path
from types import TracebackType

from typer.exceptions import TyperException

from hw.verilog import ToolchainError

__all__ = ["CHECK_FAILED", "OUR_FAULT", "TOOL_MISSING", "USER_MISTAKE", "explain"]

CHECK_FAILED = 1
USER_MISTAKE = 2
TOOL_MISSING = 3
OUR_FAULT = 4

_ROOT = Path(__file__).resolve().parents[2]
_OURS = ("hw", "models", "quant", "sim")
_FOLDERS = tuple(str(_ROOT / name) for name in _OURS)

# Named, not imported: a module that was never loaded cannot have raised its exception.
_CHECKS = (
    ("sim.bench", "DeadlockError"),
    ("sim.bench", "StreamRuleError"),
    ("sim.build", "SimulationError"),
    ("sim.cosim", "MismatchError"),
)


def explain(error: BaseException) -> tuple[int, str]:
    """Return the exit code and the line for an exception.

    A `ValueError` is the user's mistake where a `raise` of our packages made it; one that came up
    by itself, or in the depth of another library, is a fault of ours.
    """
    message = str(error).strip() or type(error).__name__
    if isinstance(error, ToolchainError):
        return TOOL_MISSING, message
    if isinstance(error, ModuleNotFoundError) and _foreign(error.name):
        return TOOL_MISSING, _missing_package(str(error.name))
    if isinstance(error, _check_errors()):
        return CHECK_FAILED, message
    if isinstance(error, TyperException):
        return USER_MISTAKE, error.format_message().replace("Value error, ", "")
    if isinstance(error, OSError):
        return USER_MISTAKE, _os_error(error)
    if isinstance(error, ValueError) and _raised_by_us(error.__traceback__):
        return USER_MISTAKE, message
    line = f"fault in bitwright: {type(error).__name__}: {message.splitlines()[0]}"
    return OUR_FAULT, f"{line} (run again with --debug, and report what it prints)"


def _check_errors() -> tuple[type[BaseException], ...]:
    modules = [(sys.modules.get(module), name) for module, name in _CHECKS]
    return tuple(getattr(module, name) for module, name in modules if hasattr(module, name))


def _foreign(module: str | None) -> bool:
    return module is not None and module.partition(".")[0] not in _OURS


def _missing_package(name: str) -> str:
    top = name.partition(".")[0]
    extra = "bitwright[train]" if top == "torch" else top
    return f"{top} is missing: install it with `pip install '{extra}'`"


def _os_error(error: OSError) -> str:
    if error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def _raised_by_us(trace: TracebackType | None) -> bool:
    frames = traceback.extract_tb(trace)
    if not frames or not frames[-1].filename.startswith(_FOLDERS):
        return False
    return (frames[-1].line or "").lstrip().startswith("raise ")
