"""Whole Programs on the gates: corner graphs, stalls, errors, and a mistake that must be found."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hw.gnn.config import PRESETS
from hw.gnn.format import COMBINE, HEADER, ErrorCode
from hw.gnn.lower import lower
from hw.gnn.program import Kind, Program, Region
from models.golden.gnn.decode import read_weights, read_word
from models.golden.gnn.execute import Execution, execute
from quant.graph.model import BitGraph
from quant.graph.synthetic import CORNERS, random_gcn
from sim.bench import DeadlockError
from sim.compare import compare
from sim.cosim import MismatchError, Run, simulate
from sim.memory import IDEAL, MemoryOptions
from sim.waves import write_window

pytestmark = pytest.mark.rtl

TINY = PRESETS["tiny"]

STALLS = MemoryOptions(stall=0.35, seed=3)
SLOW = MemoryOptions(
    read_latency=37, write_latency=90, read_beats_per_cycle=0.3, write_beats_per_cycle=0.2, seed=9
)

GRAPHS: dict[str, Callable[[], BitGraph]] = {
    "all corners": lambda: random_gcn(26, corners=CORNERS, widths=(0, 1, 5, 8), seed=1),
    "signed": lambda: random_gcn(25, signed=True, input_width=None, corners=CORNERS, seed=2),
    "no self loops": lambda: random_gcn(25, self_loops=False, corners=("isolated",), seed=3),
    "real features": lambda: random_gcn(22, input_width=None, widths=(0, 3, 8), seed=4),
    "dense features": lambda: random_gcn(20, features=33, density=0.9, seed=5),
    "widest": lambda: random_gcn(12, features=40, hidden=32, classes=31, seed=6),
    "narrowest": lambda: random_gcn(9, features=1, hidden=1, classes=1, edges=4, seed=7),
    "one node": lambda: random_gcn(1, features=5, hidden=3, classes=2, edges=0, seed=8),
    "one node, nothing stored": lambda: random_gcn(
        1, features=5, hidden=3, classes=2, edges=0, widths=(0,), density=0.0, seed=8
    ),
    "no edges": lambda: random_gcn(11, edges=0, seed=9),
    "all widths 0": lambda: random_gcn(15, widths=(0,), input_width=None, seed=10),
}


def _lowered(graph: BitGraph, parts: int = 1) -> tuple[Program, Execution]:
    rows = graph.tensor("labels").shape[0]
    program = lower(graph, TINY, "natural", -(-rows // parts))
    return program, execute(program)


@pytest.mark.parametrize("memory", [IDEAL, STALLS, SLOW], ids=["ideal", "stalls", "slow"])
@pytest.mark.parametrize("name", GRAPHS)
def test_corner_graph_in_one_part(name: str, memory: MemoryOptions, tmp_path: Path) -> None:
    program, execution = _lowered(GRAPHS[name]())
    run = simulate(program, memory=memory, run_dir=tmp_path)
    compare(program, execution, run).require_equal()
    assert run.status == {"busy": False, "done": True, "error": False}


@pytest.mark.parametrize("memory", [IDEAL, STALLS], ids=["ideal", "stalls"])
@pytest.mark.parametrize("name", ["all corners", "signed", "widest", "no edges"])
def test_corner_graph_in_several_parts(name: str, memory: MemoryOptions, tmp_path: Path) -> None:
    program, execution = _lowered(GRAPHS[name](), parts=3)
    assert len(program.parts) >= 3
    run = simulate(program, memory=memory, run_dir=tmp_path)
    compare(program, execution, run).require_equal()


@pytest.mark.parametrize("parts", [1, 3])
def test_program_may_lie_at_any_page(parts: int, tmp_path: Path) -> None:
    program, execution = _lowered(GRAPHS["all corners"](), parts)
    run = simulate(program, run_dir=tmp_path, place=3 * 4096)
    compare(program, execution, run).require_equal()
    assert run.memory.size == program.image.size
    assert run.log.address.min() >= 0
    at_zero = simulate(program, run_dir=tmp_path / "zero")
    assert run.counters == at_zero.counters


@pytest.mark.parametrize("parts", [1, 2])
def test_icarus(parts: int, tmp_path: Path) -> None:
    program, execution = _lowered(GRAPHS["all corners"](), parts)
    run = simulate(program, simulator="icarus", memory=STALLS, run_dir=tmp_path)
    compare(program, execution, run).require_equal()


def test_same_seed_same_cycles(tmp_path: Path) -> None:
    program, _ = _lowered(GRAPHS["all corners"]())
    runs = [simulate(program, memory=STALLS, run_dir=tmp_path / str(i)) for i in range(2)]
    assert runs[0].counters == runs[1].counters
    assert runs[0].commands == runs[1].commands
    other = simulate(program, memory=replace(STALLS, seed=4), run_dir=tmp_path / "other")
    assert other.counters["cycles"] != runs[0].counters["cycles"]


@pytest.mark.parametrize("parts", [1, 3])
def test_flipped_weight_is_found(parts: int, tmp_path: Path) -> None:
    """One bit of one weight: the report names layer, unit, element and the cycle of the write."""
    program, execution = _lowered(random_gcn(24, density=0.6, seed=12), parts)
    commands = first_combine(program)
    weights = read_weights(program.image, commands, TINY.combination.lanes, TINY.combination.cols)
    k, column = 3, 5
    image = program.image.copy()
    at, shift = weight_byte(program, commands, k, column)
    image[at] ^= 4 << shift  # bit 2 of a 4-bit weight
    flipped = replace(program, image=image)
    got = read_weights(image, commands, TINY.combination.lanes, TINY.combination.cols)
    assert np.argwhere(got != weights).tolist() == [[k, column]]
    run = simulate(flipped, run_dir=tmp_path)
    comparison = compare(program, execution, run)
    with pytest.raises(MismatchError) as error:
        comparison.require_equal()
    found = comparison.divergence
    assert found is not None
    assert (found.layer, found.element.unit) == (0, "combination.requantizer")
    assert found.element.column == column
    rows = execution.inputs[0].matrix(program.layers[0].reduction).toarray()
    assert rows[found.element.row, k] != 0, "a row that does not use the weight cannot differ"
    assert found.node == program.node_order[found.element.row]
    wrong = execute(flipped).q[0]
    different = np.flatnonzero((wrong != execution.q[0]).any(axis=1))
    assert found.element.row == different[0], "rows are made in order"
    assert found.element.got == wrong[found.element.row, column]
    assert found.cycle is not None
    assert re.match(
        r"layer 0, unit combination\.requantizer, node \d+ \(row \d+\), column 5: "
        r"expected -?\d \(0x[0-9a-f]\), got -?\d \(0x[0-9a-f]\), cycle \d+",
        str(error.value),
    )


def first_combine(program: Program) -> dict[str, int]:
    """Return the first COMBINE command."""
    header = read_word(program.image, 0, HEADER)
    return read_word(program.image, header["combine_address"], COMBINE)


def weight_byte(program: Program, command: dict[str, int], k: int, column: int) -> tuple[int, int]:
    """Return the byte and the shift of a weight, by the words of `hw.gnn.format`."""
    lanes, cols = TINY.combination.lanes, TINY.combination.cols
    tile, c = divmod(column, cols)
    word = (tile * command["bank_stride"] + k // lanes) * lanes + k % lanes
    nibble = word * cols + c
    return command["weights_address"] + nibble // 2, 4 * (nibble % 2)


def _region(program: Program, kind: Kind, layer: int) -> Region:
    return next(r for r in program.regions if (r.kind, r.layer) == (kind, layer))


@pytest.mark.parametrize(
    ("kind", "layer", "code"),
    [
        (Kind.INPUT, 0, ErrorCode.READ_ERROR),
        (Kind.WEIGHTS, 1, ErrorCode.READ_ERROR),
        (Kind.EDGES, 1, ErrorCode.READ_ERROR),
        (Kind.COMMANDS, -1, ErrorCode.READ_ERROR),
        (Kind.LOGITS, 1, ErrorCode.WRITE_ERROR),
        (Kind.FEATURES, 0, ErrorCode.WRITE_ERROR),
    ],
)
@pytest.mark.parametrize("stall", [0.0, 0.35])
def test_bus_error_stops_and_keeps_earlier_outputs(
    kind: Kind, layer: int, code: ErrorCode, stall: float, tmp_path: Path
) -> None:
    program, execution = _lowered(GRAPHS["all corners"]())
    run = _run_into_error(program, _region(program, kind, layer), stall, tmp_path)
    assert run.error == code
    if layer == 1 and kind is not Kind.WEIGHTS:
        _check_output(program, execution, run, Kind.FEATURES, 0)
    written = run.memory != program.image
    assert (run.memory[written] == execution.memory[written]).all(), "nothing wrong is written"


@pytest.mark.parametrize("stall", [0.0, 0.35])
def test_bus_error_keeps_finished_parts(stall: float, tmp_path: Path) -> None:
    program, execution = _lowered(GRAPHS["all corners"](), parts=4)
    run = _run_into_error(program, program.region(Kind.EDGES, 1, 2), stall, tmp_path)
    assert run.error == ErrorCode.READ_ERROR
    for part in range(4):
        _check_output(program, execution, run, Kind.FEATURES, 0, part)
    _check_output(program, execution, run, Kind.Q_ROWS, 0)
    _check_output(program, execution, run, Kind.Q_ROWS, 1)
    _check_output(program, execution, run, Kind.LOGITS, 1, 0)
    _check_output(program, execution, run, Kind.LOGITS, 1, 1)


def _run_into_error(program: Program, bad: Region, stall: float, folder: Path) -> Run:
    """Run with errors in the second half of a region; it returns, so the interrupt came."""
    low = bad.address + bad.size_bytes // 2 & -8
    memory = MemoryOptions(stall=stall, error_range=(low, bad.address + bad.size_bytes))
    run = simulate(program, memory=memory, run_dir=folder)
    assert run.status == {"busy": False, "done": False, "error": True}
    assert not run.log.violations
    return run


def _check_output(
    program: Program, execution: Execution, run: Run, kind: Kind, layer: int, part: int = -1
) -> None:
    """Hold one region of the run against the golden model's."""
    region = program.region(kind, layer, part) if part >= 0 else _region(program, kind, layer)
    span = slice(region.address, region.address + region.size_bytes)
    np.testing.assert_array_equal(run.memory[span], execution.memory[span])


@pytest.mark.parametrize(
    ("field", "bit", "code"),
    [
        (0, 0, ErrorCode.BAD_MAGIC),
        (4, 1, ErrorCode.BAD_VERSION),
        (8, 2, ErrorCode.BAD_CONFIG),
    ],
)
def test_foreign_program_is_refused(field: int, bit: int, code: ErrorCode, tmp_path: Path) -> None:
    program, _ = _lowered(GRAPHS["one node"]())
    image = program.image.copy()
    image[field] ^= 1 << bit
    run = simulate(replace(program, image=image), run_dir=tmp_path)
    assert (run.status["error"], run.status["done"], run.error) == (True, False, code)
    np.testing.assert_array_equal(run.memory, image)


def test_bad_opcode_is_refused(tmp_path: Path) -> None:
    program, _ = _lowered(GRAPHS["one node"]())
    image = program.image.copy()
    image[_region(program, Kind.COMMANDS, -1).address] = 0
    run = simulate(replace(program, image=image), run_dir=tmp_path)
    assert (run.status["error"], run.error) == (True, ErrorCode.BAD_OPCODE)


def test_deadlock_says_how_far_it_came(tmp_path: Path) -> None:
    program, _ = _lowered(GRAPHS["all corners"]())
    message = (
        r"no interrupt 500 cycles after the start, busy, combine: \d of 2 commands complete, "
        r"aggregate: \d of 2 commands complete, combine_rows \d+, aggregate_rows \d+, "
        r"psum_drains \d+, output_values \d+"
    )
    with pytest.raises(DeadlockError, match=rf"\A{message}\Z"):
        simulate(program, cycle_limit=500, run_dir=tmp_path)


@pytest.mark.slow
def test_window_around_a_divergence(tmp_path: Path) -> None:
    program, _ = _lowered(GRAPHS["all corners"]())
    path = write_window(program, 300, tmp_path)
    times = [int(line[1:]) for line in path.read_text().splitlines() if line.startswith("#")]
    # Two time steps of 1000 ps a cycle, from cycle 260 on.
    assert times[0] // 2000 in (259, 260, 261)
    assert 50 <= len(times) / 2 <= 120
    names = path.read_text()
    assert "o_rows__valid" in names or "i_rows__valid" in names
