"""The first value that differs is named by layer, unit, element and cycle; no gates needed."""

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from hw.gnn.config import PRESETS
from hw.gnn.lower import lower
from hw.gnn.program import Kind, Program, Region
from models.golden.gnn.encode import bitmap_stream
from models.golden.gnn.execute import Execution, execute
from quant.graph.synthetic import random_gcn
from sim.divergence import Divergence, feature_element, locate, on_chip_divergence

NODES = 21


@pytest.fixture(scope="module", params=[1, 3], ids=["one part", "three parts"])
def lowered(request: pytest.FixtureRequest) -> tuple[Program, Execution]:
    graph = random_gcn(NODES, features=20, hidden=19, classes=5, seed=4)
    program = lower(graph, PRESETS["tiny"], "natural", part_rows=-(-NODES // request.param))
    assert len(program.parts) == request.param
    return program, execute(program)


def _find(
    lowered: tuple[Program, Execution],
    kind: Kind,
    change: Callable[[Region, np.ndarray], None],
    layer: int = 0,
) -> Divergence | None:
    """Let `change` spoil the memory of the last region of a kind, and locate the difference."""
    program, execution = lowered
    regions = [r for r in program.outputs() if (r.kind, r.layer) == (kind, layer)]
    memory = execution.memory.copy()
    change(regions[-1], memory)
    return locate(program, execution, memory, regions[-1], lambda address: 1000 + address)


def test_nothing_differs(lowered: tuple[Program, Execution]) -> None:
    program, execution = lowered
    for region in program.outputs():
        assert locate(program, execution, execution.memory, region, lambda _: 0) is None


def test_logit(lowered: tuple[Program, Execution]) -> None:
    program, execution = lowered
    first_row = program.parts[-1][0]

    def change(region: Region, memory: np.ndarray) -> None:
        at = region.address + 8 * (5 * 2 + 3)
        memory[at : at + 8].view("<i8")[0] -= 17

    found = _find(lowered, Kind.LOGITS, change, layer=1)
    assert found is not None
    expected = int(execution.logits[first_row + 2, 3])
    assert (found.layer, found.element.unit) == (1, "aggregation.post_processor")
    assert (found.element.row, found.element.column) == (first_row + 2, 3)
    assert (found.element.expected, found.element.got) == (expected, expected - 17)
    assert found.node == program.node_order[first_row + 2]
    assert found.address is not None
    assert found.cycle == 1000 + found.address


@pytest.mark.parametrize("which", [0, 0.5, 1], ids=["first", "middle", "last"])
@pytest.mark.parametrize("columns", [range(1), range(16), range(16, 19)], ids=str)
def test_feature_code_becomes_zero_or_another_value(
    lowered: tuple[Program, Execution], columns: range, which: float
) -> None:
    program, execution = lowered
    rows = slice(*program.parts[-1])
    codes, width = execution.codes[0][rows].astype(np.int64), execution.widths[1][rows]
    candidates = np.argwhere((codes[:, columns] > 0) & (width[:, None] > 1)) + [0, columns.start]
    row, column = candidates[int(which * (len(candidates) - 1))].tolist()
    code = int(codes[row, column])
    for value in (0, code ^ (2 if code != 2 else 1)):

        def change(region: Region, memory: np.ndarray, value: int = value) -> None:
            spoiled = codes.copy()
            spoiled[row, column] = value
            stream = bitmap_stream(spoiled, width, signed=False)
            begin = region.address + program.config.memory.beat_bytes
            memory[begin : region.address + region.size_bytes] = 0
            memory[begin : begin + len(stream)] = stream
            memory[region.address] ^= 1  # as if the stream had another length too

        found = _find(lowered, Kind.FEATURES, change)
        assert found is not None
        at = found.element
        assert (at.unit, at.row) == ("aggregation.post_processor", rows.start + row)
        assert (at.column, at.expected, at.got) == (column, code, value)


def test_signed_code() -> None:
    codes, width = np.array([[0, -3, 5], [1, -2, -1]]), np.array([3, 2])
    spoiled = codes.copy()
    spoiled[1, 1] = -3
    memory, expected = (bitmap_stream(c, width, signed=True) for c in (spoiled, codes))
    bits = np.unpackbits(memory ^ expected, bitorder="little")
    at = feature_element(codes, width, memory, int(bits.argmax()), 0, signed=True)
    assert (at.row, at.column, at.expected, at.got, at.width) == (1, 1, -2, -3, 3)


def test_feature_header(lowered: tuple[Program, Execution]) -> None:
    def change(region: Region, memory: np.ndarray) -> None:
        memory[region.address] += 1

    found = _find(lowered, Kind.FEATURES, change)
    assert found is not None
    assert (found.element.unit, found.element.row) == ("aggregation.encoder", -1)
    assert found.element.got == found.element.expected + 1


def test_q_row_in_memory(lowered: tuple[Program, Execution]) -> None:
    program, execution = lowered
    if program.one_part:
        assert all(region.kind != Kind.Q_ROWS for region in program.outputs())
        return

    def change(region: Region, memory: np.ndarray) -> None:
        memory[region.address + 4 * 16 + 7] ^= 0x10  # row 4, column 15, of 16 bytes a row

    found = _find(lowered, Kind.Q_ROWS, change)
    assert found is not None
    at = found.element
    assert (at.unit, at.row, at.column) == ("combination.requantizer", 4, 15)
    assert at.expected == execution.q[0][4, 15]
    assert at.got == ((int(at.expected) ^ 1) & 15 ^ 8) - 8


def test_q_row_on_chip(lowered: tuple[Program, Execution]) -> None:
    program, execution = lowered
    rows = np.zeros((2 * NODES, 32), np.int8)
    rows[:NODES, :19], rows[NODES:, :5] = execution.q[0], execution.q[1]
    cycles = np.arange(len(rows)) * 10
    assert on_chip_divergence(program, execution, rows, cycles) is None
    missing = on_chip_divergence(program, execution, rows[:-1], cycles)
    assert missing is not None
    assert (missing.layer, missing.element.row, missing.cycle) == (1, NODES - 1, None)
    rows[NODES + 3, 2] = 7 if execution.q[1][3, 2] != 7 else -7
    found = on_chip_divergence(program, execution, rows, cycles)
    assert found is not None
    line = (
        rf"layer 1, unit combination\.requantizer, node {program.node_order[3]} \(row 3\), "
        r"column 2: expected -?\d \(0x[0-9a-f]\), got -?7 \(0x[79]\), cycle 240; "
        r"P = -?\d+; B = \d; x = \{.*\}"
    )
    assert re.fullmatch(line, str(found))


def test_line_of_a_value_that_was_never_written(lowered: tuple[Program, Execution]) -> None:
    def change(region: Region, memory: np.ndarray) -> None:
        memory[region.address] ^= 1

    found = _find(lowered, Kind.LOGITS, change, layer=1)
    assert found is not None
    assert re.search(
        r", never written, address 0x[0-9a-f]+; acc = ", str(replace(found, cycle=None))
    )
