"""Runs a graph Program on its gates: image in, memory, counters, command times and rows out."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hw.gnn.counters import COUNTERS
from hw.gnn.format import HEADER, VERSION, Word
from hw.gnn.program import Program
from hw.gnn.registers import ID_VALUE, REGISTERS
from sim.bench import DeadlockError
from sim.build import Build
from sim.engine import Simulator, build_bench
from sim.memory import IDEAL, MemoryLog, MemoryOptions, read_image, read_log, write_image
from sim.native import NativeBench, build_native

__all__ = [
    "CommandTimes",
    "Driver",
    "MismatchError",
    "Run",
    "default_limit",
    "launch",
    "launch_native",
    "make_job",
    "simulate",
]

Driver = Literal["cocotb", "native"]

_CYCLES_PER_BYTE = 20
_CYCLES_MIN = 50_000


class MismatchError(AssertionError):
    """Gates and golden model differ; the message is the first divergence."""


@dataclass(frozen=True)
class CommandTimes:
    """Cycles since the start of the run at which a command was taken, released and completed."""

    start: int
    go: int
    end: int


@dataclass(frozen=True)
class Run:
    """What one run left behind.

    Parameters
    ----------
    simulator : str
    options : MemoryOptions
    folder : Path
        Logs, image and dump.
    status : dict of str to bool
        Fields busy, done and error of the status register.
    error : int
        Code of the error register.
    counters : dict of str to int
    commands : dict of str to tuple of CommandTimes
        By queue, ``"combine"`` and ``"aggregate"``, as far as the command log goes.
    row_cycle : ndarray [rows], int64
        Cycle of each q row that combination handed to aggregation.
    q_rows : ndarray [rows, columns_max], int8
        Those rows.
    memory : ndarray [bytes], uint8
        The memory afterwards.
    log : MemoryLog
    edges : int
        Clock edges from start to interrupt as the bench counts them.
    build_seconds, run_seconds : float, s
    """

    simulator: str
    options: MemoryOptions
    folder: Path
    status: dict[str, bool]
    error: int
    counters: dict[str, int]
    commands: dict[str, tuple[CommandTimes, ...]]
    row_cycle: NDArray[np.int64]
    q_rows: NDArray[np.int8]
    memory: NDArray[np.uint8]
    log: MemoryLog
    edges: int
    build_seconds: float
    run_seconds: float

    @property
    def cycles_per_second(self) -> float:
        """Simulated cycles per second of wall time, start of the simulator included."""
        return self.edges / self.run_seconds


def simulate(
    program: Program,
    *,
    simulator: Simulator = "verilator",
    driver: Driver = "cocotb",
    memory: MemoryOptions = IDEAL,
    run_dir: Path | None = None,
    cycle_limit: int | None = None,
    place: int = 0,
) -> Run:
    """Run `program` on the gates of its config.

    Parameters
    ----------
    program : Program
    simulator : str
        ``"verilator"`` or ``"icarus"``.
    driver : str
        Who turns the clock and writes the registers: ``"cocotb"``, or ``"native"``, C++ through
        the generated header, which is faster and works with Verilator only.
    memory : MemoryOptions
    run_dir : Path, optional
        Where logs and waveforms go; a temporary folder if not given.
    cycle_limit : int, optional
        Cycles after which the run is given up; the default follows from the size of the image.
    place : int, bytes
        Address at which the Program lies, a multiple of 4096; what comes back counts from there.

    Raises
    ------
    ValueError
        If the native driver is asked of Icarus.
    DeadlockError
        If no interrupt came; the message says which commands had completed.
    """
    if driver == "native" and simulator != "verilator":
        raise ValueError(f"simulator must be verilator where driver is native, not {simulator}")
    folder = Path(run_dir or mkdtemp(prefix="bitwright-sim-")).resolve()
    limit = cycle_limit or default_limit(program)
    memory_bytes = place + len(program.image)
    bench: Build | NativeBench
    if driver == "native":
        bench = build_native(program.config, memory_bytes)
        result, seconds = launch_native(bench, program, memory, folder, limit, place=place)
    else:
        bench = build_bench(program.config, memory_bytes, simulator=simulator)
        result, seconds = launch(bench, program, memory, folder, limit, place=place)
    if not result["interrupt"]:
        raise DeadlockError(_deadlock(program, result, limit))
    beat_bytes = program.config.memory.beat_bytes
    row_cycle, q_rows = _read_taps(folder / "taps.log", program.config.combination.columns_max)
    return Run(
        simulator=simulator,
        options=memory,
        folder=folder,
        status=_status(result["status"]),
        error=result["error"],
        counters=result["counters"],
        commands=_times(result),
        row_cycle=row_cycle,
        q_rows=q_rows,
        memory=read_image(folder / "dump.hex", beat_bytes)[place : place + len(program.image)],
        log=read_log(folder / "memory.log", beat_bytes).counted_from(place),
        edges=result["edges"],
        build_seconds=bench.seconds,
        run_seconds=seconds,
    )


def default_limit(program: Program) -> int:
    """Return the cycles after which a run is given up: far more than a slow memory needs."""
    return _CYCLES_MIN + _CYCLES_PER_BYTE * len(program.image)


def launch(
    bench: Build,
    program: Program,
    memory: MemoryOptions,
    folder: Path,
    cycle_limit: int,
    plusargs: Sequence[str] = (),
    *,
    read_back: bool = True,
    place: int = 0,
) -> tuple[dict[str, Any], float]:
    """Run the bench once; return what it read from the registers, and the wall time.

    Parameters
    ----------
    bench : Build
        From `sim.engine.build_bench`, of the Program's config.
    program, memory
        What is run, on which memory.
    folder : Path
        Where all files go.
    cycle_limit : int
        Cycles after which the registers are read without an interrupt.
    plusargs : sequence of str
        Further ones.
    read_back : bool
        Read status, counters and command log at the end.
    place : int, bytes
        Address at which the Program lies.
    """
    files = _write_memory(program, memory, folder, place)
    job, result = folder / "job.json", folder / "result.json"
    job.write_text(
        json.dumps(
            make_job(program, result, cycle_limit, read_back=read_back, place=place), indent=1
        )
        + "\n"
    )
    result.unlink(missing_ok=True)
    done = bench.run(
        "sim.benches.gnn_run",
        folder,
        environment={"BITWRIGHT_JOB": str(job)},
        plusargs=[*files, *plusargs],
    )
    return json.loads(result.read_text()), done.seconds


def launch_native(
    bench: NativeBench,
    program: Program,
    memory: MemoryOptions,
    folder: Path,
    cycle_limit: int,
    *,
    place: int = 0,
) -> tuple[dict[str, Any], float]:
    """Run the bench once without Python; see `launch`."""
    files = _write_memory(program, memory, folder, place)
    job = make_job(program, folder / "result.json", cycle_limit, place=place)
    logged = {f"{queue}_commands": count for queue, (_, count) in job["log"].items()}
    numbers = {"cycle_limit": cycle_limit, "place": place, **logged}
    return bench.run(
        folder,
        folder / "result.json",
        [*files, *(f"+{name}={value}" for name, value in numbers.items())],
    )


def _write_memory(program: Program, memory: MemoryOptions, folder: Path, place: int) -> list[str]:
    """Write the image into `folder`; return the plusargs of memory and taps."""
    folder.mkdir(parents=True, exist_ok=True)
    image = np.concatenate((np.zeros(place, np.uint8), program.image))
    beats = write_image(folder / "image.hex", image, program.config.memory.beat_bytes)
    files = {
        "image": "image.hex",
        "dump": "dump.hex",
        "memory_log": "memory.log",
        "tap_log": "taps.log",
    }
    return [
        *memory.plusargs(),
        *(f"+{key}={folder / name}" for key, name in files.items()),
        f"+image_beats={beats}",
    ]


def make_job(
    program: Program, result: Path, cycle_limit: int, *, read_back: bool = True, place: int = 0
) -> dict[str, Any]:
    """Return what a bench must know to drive the registers for `program`."""
    header = _word_at(program.image, 0, HEADER)
    depth = program.config.log_depth
    return {
        "registers": {register.name: register.address for register in REGISTERS},
        "expect": {"ID": ID_VALUE, "VERSION": VERSION, "CONFIG_HASH": program.config.hash},
        "program_address": place,
        "irq_enable": 3,
        "start": 1,
        "cycle_limit": cycle_limit,
        "read_back": read_back,
        "counters": {counter.name: counter.name.upper() for counter in COUNTERS},
        "log": {
            "combine": (0, min(depth, header["combine_commands"])),
            "aggregate": (depth, min(depth, header["aggregate_commands"])),
        },
        "result": str(result),
    }


def _word_at(image: NDArray[np.uint8], address: int, word: Word) -> dict[str, int]:
    raw = image[address : address + word.width // 8].tobytes()
    return word.unpack(int.from_bytes(raw, "little"))


def _status(word: int) -> dict[str, bool]:
    return {name: bool(word >> bit & 1) for bit, name in enumerate(("busy", "done", "error"))}


def _times(result: dict[str, Any]) -> dict[str, tuple[CommandTimes, ...]]:
    return {
        queue: tuple(CommandTimes(**entry) for entry in entries)
        for queue, entries in result["commands"].items()
    }


def _read_taps(path: Path, columns: int) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    """Return cycle and values of each q row that was handed over on chip."""
    lines = [line.split() for line in path.read_text().splitlines() if line.startswith("q")]
    raw = np.frombuffer(bytes.fromhex("".join(row for _, _, row in lines)), np.uint8)
    raw = raw.reshape(len(lines), columns // 2)[:, ::-1]
    nibbles = np.stack((raw & 15, raw >> 4), axis=2).reshape(len(lines), columns).astype(np.int8)
    return np.array([int(cycle) for _, cycle, _ in lines], np.int64), nibbles - 16 * (nibbles >> 3)


def _deadlock(program: Program, result: dict[str, Any], limit: int) -> str:
    """Return one line that says how far both queues came."""
    parts = [f"no interrupt {limit} cycles after the start"]
    parts += [name for name, is_set in _status(result["status"]).items() if is_set]
    for queue, entries in result["commands"].items():
        complete = sum(entry["end"] > 0 for entry in entries)
        parts.append(f"{queue}: {complete} of {len(entries)} commands complete")
    busy = ("combine_rows", "aggregate_rows", "psum_drains", "output_values")
    parts += [f"{name} {result['counters'][name]}" for name in busy]
    return ", ".join(parts)
