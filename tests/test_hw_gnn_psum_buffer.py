"""PsumBuffer against a list of lists."""

from random import Random

import pytest

from hw.gnn.config import AggregationConfig, GnnConfig
from hw.gnn.psum_buffer import PsumBuffer, PsumOperation
from sim.bench import GRID, check


def _config(lanes: int, psum_width: int = 16) -> GnnConfig:
    depth = 64
    return GnnConfig(
        aggregation=AggregationConfig(
            lanes=lanes, psum_width=psum_width, psum_buffer_bytes=depth * lanes * psum_width // 8
        )
    )


def _operations(config: GnnConfig, rng: Random) -> list[tuple[PsumOperation, int, list[int]]]:
    """Clear all; the same word again and again; drains after adds; then anything."""
    lanes, depth = config.aggregation.lanes, config.aggregation.depth

    def add(address: int) -> tuple[PsumOperation, int, list[int]]:
        return PsumOperation.ADD, address, [rng.randint(-8, 7) for _ in range(lanes)]

    def bare(operation: PsumOperation, address: int) -> tuple[PsumOperation, int, list[int]]:
        return operation, address, [0] * lanes

    steps = [bare(PsumOperation.CLEAR, a) for a in range(depth)]
    steps += [add(3) for _ in range(5)]
    steps += [bare(PsumOperation.DRAIN, 3), bare(PsumOperation.DRAIN, 3), add(3)]
    steps += [bare(PsumOperation.CLEAR, 3), add(3), bare(PsumOperation.DRAIN, 3)]
    for _ in range(150):
        address = rng.randrange(4)
        kind = rng.choice([*PsumOperation, PsumOperation.ADD, PsumOperation.ADD])
        steps.append(add(address) if kind == PsumOperation.ADD else bare(kind, address))
    return steps + [bare(PsumOperation.DRAIN, a) for a in range(depth)]


def _drained(config: GnnConfig, operations: list) -> list[list[int]]:
    words = [[0] * config.aggregation.lanes for _ in range(config.aggregation.depth)]
    out = []
    for kind, address, addend in operations:
        if kind == PsumOperation.ADD:
            words[address] = [p + q for p, q in zip(words[address], addend, strict=True)]
        else:
            if kind == PsumOperation.DRAIN:
                out.append(words[address])
            words[address] = [0] * config.aggregation.lanes
    return out


def _packed(psum_width: int, word: list[int]) -> int:
    return sum((v & (1 << psum_width) - 1) << psum_width * k for k, v in enumerate(word))


def _payloads(operations: list) -> list[dict]:
    return [{"operation": k, "address": a, "addend": q} for k, a, q in operations]


@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize(("idle", "stall"), GRID)
def test_equals_a_list_and_never_loses_an_addition(lanes, idle, stall):
    config = _config(lanes)
    operations = _operations(config, Random(lanes))
    expected = [_packed(16, word) for word in _drained(config, operations)]
    inputs, outputs = {"i": _payloads(operations)}, {"o": expected}
    check(PsumBuffer(config), inputs, outputs, idle=idle, stall=stall, seed=1)


def test_one_operation_a_cycle_and_a_drained_word_in_the_next():
    config = _config(4)
    operations = _operations(config, Random(0))
    expected = [_packed(16, word) for word in _drained(config, operations)]
    result = check(PsumBuffer(config), {"i": _payloads(operations)}, {"o": expected})
    assert result.taken["i"] == list(range(len(operations)))
    drains = [t for t, (kind, _, _) in enumerate(operations) if kind == PsumOperation.DRAIN]
    assert result.given["o"] == [t + 1 for t in drains]


def test_the_extremes_of_a_narrow_sum_fit():
    config = _config(2, psum_width=8)
    rows = [[-8, 7]] * 16 + [[0, 7], [0, 7]]
    operations = [(PsumOperation.ADD, 0, row) for row in rows]
    operations.append((PsumOperation.DRAIN, 0, [0, 0]))
    check(PsumBuffer(config), {"i": _payloads(operations)}, {"o": [_packed(8, [-128, 126])]})
