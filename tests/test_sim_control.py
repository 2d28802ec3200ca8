"""What software may do between and during runs: start again, stop, clear an error, go on."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hw.gnn.config import PRESETS
from hw.gnn.counters import COUNTERS
from hw.gnn.format import ErrorCode
from hw.gnn.lower import lower
from hw.gnn.program import Kind, Program
from hw.gnn.registers import REGISTERS
from models.golden.gnn.execute import execute
from quant.graph.synthetic import CORNERS, random_gcn
from sim.engine import build_bench
from sim.memory import MemoryOptions, read_image, read_log, write_image

pytestmark = [pytest.mark.rtl, pytest.mark.slow]

TINY = PRESETS["tiny"]
PAGE = 4096
DONE, ERROR = 2, 4
START, SOFT_RESET = ["write", "CONTROL", 1], ["write", "CONTROL", 2]
CLEAR = ["write", "STATUS", DONE | ERROR]


@dataclass(frozen=True)
class Placed:
    """A Program at a page of its own, and the memory that its run must leave."""

    program: Program
    place: int
    expected: np.ndarray

    @property
    def span(self) -> slice:
        return slice(self.place, self.place + len(self.expected))

    @property
    def select(self) -> list[Any]:
        return ["write", "PROGRAM_ADDRESS_LO", self.place]

    @property
    def steps(self) -> list[list[Any]]:
        """Select, start, wait."""
        return [self.select, START, ["until interrupt"]]


@cache
def _placed() -> tuple[Placed, Placed, Placed]:
    """Return a Program of one part, one of several signed parts, and the first once more."""
    one = lower(random_gcn(26, corners=CORNERS, widths=(0, 1, 5, 8), seed=1), TINY)
    signed = random_gcn(25, signed=True, input_width=None, corners=CORNERS, seed=2)
    several = lower(signed, TINY, "natural", 9)
    placed, place = [], PAGE
    for program in (one, several, one):
        placed.append(Placed(program, place, execute(program).memory))
        place += -(-len(program.image) // PAGE) * PAGE
    return placed[0], placed[1], placed[2]


def _run(
    steps: list[list[Any]], folder: Path, memory: MemoryOptions
) -> tuple[list[dict[str, Any]], np.ndarray]:
    """Take the steps on a memory with all three Programs; return the entries and the memory."""
    image = np.zeros(_placed()[-1].span.stop, np.uint8)
    for placed in _placed():
        image[placed.span] = placed.program.image
    beat_bytes = TINY.memory.beat_bytes
    beats = write_image(folder / "image.hex", image, beat_bytes)
    job = {
        "registers": {register.name: register.address for register in REGISTERS},
        "counters": {counter.name: counter.name.upper() for counter in COUNTERS},
        "log": {},
        "cycle_limit": 50_000,
        "result": str(folder / "result.json"),
        "steps": [["write", "IRQ_ENABLE", 3], *steps],
    }
    (folder / "job.json").write_text(json.dumps(job))
    files = {"image": "image.hex", "dump": "dump.hex", "memory_log": "memory.log"}
    build_bench(TINY, len(image)).run(
        "sim.benches.gnn_steps",
        folder,
        environment={"BITWRIGHT_JOB": str(folder / "job.json")},
        plusargs=[
            *memory.plusargs(),
            *(f"+{key}={folder / name}" for key, name in files.items()),
            f"+image_beats={beats}",
        ],
    )
    assert not read_log(folder / "memory.log", beat_bytes).violations
    entries = json.loads((folder / "result.json").read_text())
    assert all(entry["in_time"] for entry in entries)
    return entries, read_image(folder / "dump.hex", beat_bytes)


def _check(memory: np.ndarray, *placed: Placed) -> None:
    for each in placed:
        np.testing.assert_array_equal(memory[each.span], each.expected)


@pytest.mark.parametrize("stall", [0.0, 0.4])
def test_programs_run_one_after_another(stall: float, tmp_path: Path) -> None:
    one, several, _ = _placed()
    steps = [*one.steps, *several.steps, *one.steps, *several.steps]
    # Start clears done, so each wait is for a new interrupt.
    entries, memory = _run(steps, tmp_path, MemoryOptions(stall=stall))
    assert [entry["status"] for entry in entries] == [DONE] * 4
    _check(memory, one, several)
    if not stall:
        assert entries[0]["counters"] == entries[2]["counters"]
        assert entries[1]["counters"] == entries[3]["counters"]


def test_start_and_address_are_ignored_while_busy(tmp_path: Path) -> None:
    one, several, _ = _placed()
    later = [["cycles", 150], several.select, START]
    entries, memory = _run(
        [*one.steps, one.select, START, *later, *later, ["until interrupt"]],
        tmp_path,
        MemoryOptions(),
    )
    assert [entry["status"] for entry in entries] == [DONE] * 2
    assert entries[0]["counters"] == entries[1]["counters"]
    _check(memory, one)
    np.testing.assert_array_equal(memory[several.span], several.program.image)


@pytest.mark.parametrize("cycles", [30, 400, 1100, 1600])
@pytest.mark.parametrize("stall", [0.0, 0.4])
def test_soft_reset_in_a_run_leaves_nothing_behind(
    cycles: int, stall: float, tmp_path: Path
) -> None:
    one, several, _ = _placed()
    stop = [several.select, START, ["cycles", cycles], SOFT_RESET, ["until idle"]]
    # Long latencies: bursts are in flight when the reset comes.
    memory_options = MemoryOptions(stall=stall, read_latency=60, write_latency=60, seed=cycles)
    entries, memory = _run([*stop, *one.steps, *several.steps], tmp_path, memory_options)
    assert [entry["status"] for entry in entries] == [0, DONE, DONE]
    assert entries[0]["error"] == 0
    _check(memory, one, several)


@pytest.mark.parametrize("kind", [Kind.COMMANDS, Kind.INPUT, Kind.EDGES, Kind.FEATURES])
@pytest.mark.parametrize("stall", [0.0, 0.4])
def test_after_an_error_is_cleared_runs_are_right(kind: Kind, stall: float, tmp_path: Path) -> None:
    one, several, bad = _placed()
    region = next(region for region in bad.program.regions if region.kind is kind)
    # The last beat; of features, whose size is not known before, the header, written last.
    last = 0 if kind is Kind.FEATURES else region.size_bytes - 8
    low = bad.place + region.address + last
    memory_options = MemoryOptions(stall=stall, error_range=(low, low + 8))
    entries, memory = _run(
        # A start while the error is set is ignored.
        [*bad.steps, START, ["until idle"], CLEAR, *one.steps, CLEAR, *several.steps],
        tmp_path,
        memory_options,
    )
    code = ErrorCode.WRITE_ERROR if kind is Kind.FEATURES else ErrorCode.READ_ERROR
    assert [entry["status"] for entry in entries] == [ERROR, ERROR, DONE, DONE]
    assert [entry["error"] for entry in entries] == [code, code, 0, 0]
    _check(memory, one, several)
