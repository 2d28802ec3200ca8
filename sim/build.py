"""Simulators built once: a cache of compiled models, keyed by everything that goes into them.

The key is the SHA-256 of the Verilog, the flags, and the versions of the tools; the models lie
under ``$BITWRIGHT_CACHE`` (default ``~/.cache/bitwright``). Two processes that want the same model
build it once: the second waits for the first. A model that was not finished is built anew.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

from cocotb_tools.runner import VerilatorControlFile

from hw.verilog import WAIVERS, ToolchainError
from sim.runners import RUNNERS, control_file
from sim.toolchain import require, verilator_version

__all__ = [
    "Build",
    "Run",
    "SimulationError",
    "build",
    "cache_folder",
    "first_error",
    "locked",
]

Simulator = Literal["verilator", "icarus"]


class SimulationError(AssertionError):
    """A test of a bench failed, or the simulator ended without a result."""


@dataclass(frozen=True)
class Run:
    """What a run left: its folder, log and waveform (None if not asked for), and its seconds."""

    folder: Path
    log: Path
    waves: Path | None
    seconds: float


@dataclass(frozen=True)
class Build:
    """A compiled model.

    Parameters
    ----------
    simulator : str
        ``"verilator"`` or ``"icarus"``.
    top : str
        Name of the top module.
    folder : Path
        Where the model lies; a run writes nothing there.
    waves : bool
        Whether the model can write a waveform.
    seconds : float, s
        Time that the build took; 0 where the cache had it.
    """

    simulator: Simulator
    top: str
    folder: Path
    waves: bool
    seconds: float

    def run(
        self,
        test_module: str,
        run_dir: Path,
        *,
        testcase: str | None = None,
        environment: Mapping[str, str] | None = None,
        plusargs: Sequence[str] = (),
        waves: bool = False,
        seed: int = 0,
    ) -> Run:
        """Run the cocotb tests of an importable module on this model.

        Parameters
        ----------
        test_module : str
            Dotted name, such as ``sim.benches.gnn``.
        run_dir : Path
            Folder for log, results and waveform; made if missing, and the simulator's current one.
        testcase : str, optional
            Only this test of the module.
        environment : mapping of str to str, optional
            Environment variables of the simulator.
        plusargs : sequence of str
            Such as ``"+image=/path"``.
        waves : bool
            Write ``waves.vcd`` (Verilator) or ``waves.fst`` (Icarus).
        seed : int
            Random seed of cocotb.

        Raises
        ------
        ValueError
            If waves are asked of a model built without them.
        SimulationError
            If a test fails or the simulator ends early; the message has the first failure and the
            path of the log.
        """
        if waves and not self.waves:
            raise ValueError("waves must be given to build() before run(), not to run() alone")
        run_dir = Path(run_dir).resolve()
        run_dir.mkdir(parents=True, exist_ok=True)
        log, results = run_dir / "simulation.log", run_dir / "results.xml"
        wave_file = run_dir / ("waves.vcd" if self.simulator == "verilator" else "waves.fst")
        start = time.monotonic()
        # Under pytest the runner exits the process where a test failed; we read the results.
        with contextlib.suppress(SystemExit, RuntimeError):
            RUNNERS[self.simulator](environment).test(
                test_module=test_module,
                hdl_toplevel=self.top,
                hdl_toplevel_lang="verilog",
                build_dir=self.folder,
                test_dir=run_dir,
                testcase=testcase,
                seed=seed,
                test_args=["--trace-file", str(wave_file)] if self._vcd(waves) else [],
                plusargs=[*plusargs, f"+dumpfile_path={wave_file}"],
                waves=waves,
                results_xml=str(results),
                log_file=log,
            )
        _check_results(results, log)
        return Run(run_dir, log, wave_file if waves else None, time.monotonic() - start)

    def _vcd(self, waves: bool) -> bool:
        return waves and self.simulator == "verilator"


def cache_folder() -> Path:
    """Return the folder of compiled models."""
    default = Path.home() / ".cache" / "bitwright"
    return Path(os.environ.get("BITWRIGHT_CACHE") or default).resolve()


@dataclass(frozen=True)
class _Recipe:
    """All that decides what a compiled model is."""

    simulator: Simulator
    top: str
    waves: bool
    defines: dict[str, str]
    parameters: dict[str, str]
    public: list[str]
    args: list[str]
    tools: dict[str, str]
    sources: list[str]
    recipe: int = 1

    @property
    def key(self) -> str:
        text = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:24]


def build(
    sources: Sequence[Path],
    top: str,
    *,
    simulator: Simulator = "verilator",
    waves: bool = False,
    defines: Mapping[str, object] | None = None,
    parameters: Mapping[str, object] | None = None,
    public: Sequence[str] = (),
    args: Sequence[str] = (),
) -> Build:
    """Compile Verilog for cocotb, or find the model in the cache.

    Parameters
    ----------
    sources : sequence of Path
        Verilog files, the top's file among them. Only their content counts, not where they lie.
    top : str
        Name of the top module.
    simulator : str
        ``"verilator"`` or ``"icarus"``.
    waves : bool
        Make the model able to write waveforms (slower).
    defines, parameters : mapping, optional
        Macros, and parameters of the top.
    public : sequence of str
        Signals besides the top's ports that a bench reads through Verilator, as ``module.signal``.
        The rest stays private, which makes free-running clocks two to five times faster.
    args : sequence of str
        Further arguments of the simulator's compiler.

    Raises
    ------
    ToolchainError
        If a program is missing, or the compiler refuses the sources.
    """
    texts = {Path(source).resolve(): Path(source).read_text() for source in sources}
    recipe = _Recipe(
        simulator=simulator,
        top=top,
        waves=waves,
        defines={key: str(value) for key, value in (defines or {}).items()},
        parameters={key: str(value) for key, value in (parameters or {}).items()},
        public=list(public),
        args=list(args),
        tools=_tool_versions(simulator),
        sources=[hashlib.sha256(text.encode()).hexdigest() for text in texts.values()],
    )
    folder = cache_folder() / simulator / f"{top}-{recipe.key}"
    finished = folder / "bitwright.json"
    start = time.monotonic()
    with locked(folder):
        if finished.is_file():
            return Build(simulator, top, folder, waves, 0.0)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        _compile(folder, texts, recipe)
        finished.write_text(json.dumps(asdict(recipe), indent=1) + "\n")
    return Build(simulator, top, folder, waves, time.monotonic() - start)


def _tool_versions(simulator: Simulator) -> dict[str, str]:
    tools = {"cocotb": version("cocotb"), "python": sys.version.split()[0]}
    if simulator == "verilator":
        require("g++", "make", "perl")
        tools["verilator"] = verilator_version() or "missing"
    else:
        require("iverilog")
    return tools


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes from building in `folder` meanwhile."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _compile(folder: Path, texts: Mapping[Path, str], recipe: _Recipe) -> None:
    control: list[VerilatorControlFile] = []
    args = recipe.args
    if recipe.simulator == "verilator":
        path = folder / "public.vlt"
        path.write_text(control_file(list(texts.values()), recipe.top, recipe.public))
        control = [VerilatorControlFile(path)]
        args = [*(f"-Wno-{rule}" for rule in WAIVERS), "-CFLAGS", "-O2", *args]
    log = folder / "build.log"
    try:
        RUNNERS[recipe.simulator]().build(
            sources=[*control, *texts],
            hdl_toplevel=recipe.top,
            defines=recipe.defines,
            parameters=recipe.parameters,
            build_args=args,
            build_dir=folder,
            timescale=("1ns", "1ps"),
            waves=recipe.waves,
            always=True,
            log_file=log,
        )
    except (RuntimeError, SystemExit) as error:
        message = first_error(log)
        raise ToolchainError(f"{recipe.simulator} failed on {recipe.top}: {message}") from error
    # Two precompiled headers alone have 150 MB, and only the program is run again.
    for pattern in ("*.gch", "*.o", "*.a"):
        for path in folder.glob(pattern):
            path.unlink()


def first_error(log: Path) -> str:
    """Return the first line of a log that says error, or the last line, and the log's path."""
    lines = log.read_text(errors="replace").splitlines() if log.is_file() else []
    errors = [line for line in lines if re.search(r"error", line, re.I)] or lines[-1:]
    return f"{errors[0].strip() if errors else 'no message'} (log: {log})"


def _check_results(results: Path, log: Path) -> None:
    if not results.is_file():
        raise SimulationError(f"the simulator ended without a result: {first_error(log)}")
    cases = list(ElementTree.parse(results).iter("testcase"))
    for case in cases:
        for failure in (*case.findall("failure"), *case.findall("error")):
            message = failure.get("message") or failure.get("error_msg") or (failure.text or "")
            raise SimulationError(f"{case.get('name')}: {message.strip()} (log: {log})")
    if not cases:
        raise SimulationError(f"the bench has no test (log: {log})")
