"""The bench of the graph engine driven by C++ through the generated header: no Python in a cycle.

It is the bench of `sim.engine`, memory and taps included; only who turns the clock and writes the
registers differs. The model has no programming interface, which leaves Verilator free to optimise.
"""

import hashlib
import json
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hw.gnn.config import GnnConfig
from hw.gnn.driver_sources import c_header
from hw.verilog import WAIVERS, ToolchainError
from sim.build import SimulationError, cache_folder, first_error, locked
from sim.engine import BENCH_WAIVERS, DEPTH_BYTES_MIN, bench_settings
from sim.toolchain import require, verilator_env, verilator_version

__all__ = ["NativeBench", "build_native"]

_MAIN = Path(__file__).parent / "cpp" / "gnn_main.cpp"
_PROGRAM = "run"


@dataclass(frozen=True)
class NativeBench:
    """A compiled bench: its program, and the seconds that the build took; 0 from the cache."""

    program: Path
    seconds: float

    def run(
        self, folder: Path, result: Path, plusargs: Sequence[str]
    ) -> tuple[dict[str, Any], float]:
        """Run a Program; return what software can read afterwards, and the wall time.

        Parameters
        ----------
        folder : Path
            The current folder of the run, where its log goes.
        result : Path
            File for what was read.
        plusargs : sequence of str
            Those of ``gnn_main.cpp`` but ``result``, and of the bench.

        Raises
        ------
        SimulationError
            If the program ends without a result.
        """
        log = folder / "simulation.log"
        begin = time.monotonic()
        with log.open("w") as file:
            done = subprocess.run(
                [self.program, f"+result={result}", *plusargs],
                cwd=folder,
                stdout=file,
                stderr=subprocess.STDOUT,
                check=False,
            )
        if done.returncode:
            raise SimulationError(f"the simulator ended without a result: {first_error(log)}")
        return json.loads(result.read_text()), time.monotonic() - begin


def build_native(config: GnnConfig, memory_bytes: int) -> NativeBench:
    """Compile the bench of `config` with its C++ driver, or find it in the cache.

    Parameters
    ----------
    config : GnnConfig
    memory_bytes : int, bytes
        What the memory must hold; it is rounded up to a power of two.

    Raises
    ------
    ToolchainError
        If a program is missing, or a compiler refuses the sources.
    """
    require("g++", "make", "perl")
    settings = bench_settings(config, max(memory_bytes, DEPTH_BYTES_MIN))
    header = c_header(config)
    arguments = [
        *("--cc", "--exe", "--build", "-O3", "-CFLAGS", "-O2", "--top-module", "tb_gnn"),
        *(f"-Wno-{rule}" for rule in (*WAIVERS, *BENCH_WAIVERS)),
        *(f"-D{name}={value}" for name, value in settings.defines.items()),
        *(f"-G{name}={value}" for name, value in settings.parameters.items()),
    ]
    texts = [*(source.read_text() for source in (*settings.sources, _MAIN)), header]
    recipe = json.dumps([verilator_version(), arguments, texts])
    key = hashlib.sha256(recipe.encode()).hexdigest()[:24]
    folder = cache_folder() / "native" / f"tb_gnn-{key}"
    program = folder / _PROGRAM
    begin = time.monotonic()
    with locked(folder):
        if program.is_file():
            return NativeBench(program, 0.0)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "bitwright_gnn.h").write_text(header)
        _compile(folder, [*arguments, *map(str, settings.sources), str(_MAIN)])
    return NativeBench(program, time.monotonic() - begin)


def _compile(folder: Path, arguments: list[str]) -> None:
    """Build in a folder that is removed afterwards: the objects have a hundred megabytes."""
    log, objects = folder / "build.log", folder / "objects"
    flags = ["-CFLAGS", f"-I{folder}", "--Mdir", str(objects), "-o", _PROGRAM]
    with log.open("w") as file:
        done = subprocess.run(
            ["verilator", *flags, *arguments],
            cwd=folder,
            env=verilator_env(),
            stdout=file,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if done.returncode:
        raise ToolchainError(f"verilator failed on tb_gnn: {first_error(log)}")
    (objects / _PROGRAM).replace(folder / _PROGRAM)
    shutil.rmtree(objects)
