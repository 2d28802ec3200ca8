"""FeatureEncoder against the bit stream that the memory format states."""

from random import Random

import pytest

from hw.gnn.config import AggregationConfig, CombinationConfig, GnnConfig
from hw.gnn.feature_encoder import FeatureEncoder
from sim.bench import GRID, check
from sim.streams import Strobes


def _config(lanes: int) -> GnnConfig:
    return GnnConfig(
        combination=CombinationConfig(columns_max=32),
        aggregation=AggregationConfig(lanes=lanes, psum_buffer_bytes=4096),
    )


def _rows(columns: int, signed: int, rng: Random) -> list[tuple[int, list[int]]]:
    """Widths with their codes: none, all zero, all at the limit, then sparse ones."""
    top = 8 - signed
    rows = [(0, [0] * columns), (top, [0] * columns), (1, [1] * columns)]
    rows += [(top, [(1 << top) - 1] * columns), (0, [0] * columns)]
    for _ in range(12):
        width = rng.randrange(top + 1)
        limit = (1 << width) - 1
        codes = [rng.choice([0, rng.randint(-limit * signed, limit)]) for _ in range(columns)]
        rows.append((width, codes))
    return rows


def _words(rows: list, lanes: int, columns: int, rng: Random) -> list[dict]:
    """Words of the rows; what stands beyond the last column must not matter."""
    words = []
    for width, codes in rows:
        filled = codes + [rng.randint(1, 255) for _ in range(-columns % lanes)]
        for at in range(0, len(filled), lanes):
            pairs = [{"magnitude": abs(c), "negative": c < 0} for c in filled[at : at + lanes]]
            words.append({"codes": pairs, "width": width, "last": 0})
    words[-1]["last"] = 1
    return words


def _gives(rows: list, signed: int) -> list[list[dict]]:
    """Return the gives of each chunk, and the end as one more."""
    chunks = []
    for width, codes in rows:
        for at in range(0, len(codes), 16):
            part = codes[at : at + 16]
            bitmap = sum(1 << k for k, code in enumerate(part) if code)
            gives = [{"bits": bitmap, "width": 16}]
            for code in filter(None, part):
                bits = abs(code) | (code < 0) << width
                gives.append({"bits": bits, "width": width + signed})
            chunks.append(gives if width else [])
    return [*chunks, [{"last": 1}]]


def _run(lanes: int, columns: int, signed: int, idle: float, stall: float):
    rng = Random(columns)
    rows = _rows(columns, signed, rng)
    gives = _gives(rows, signed)
    dut = FeatureEncoder(_config(lanes))
    value = Strobes("value", dut.value, sum(code != 0 for _, codes in rows for code in codes))
    result = check(
        dut,
        {"i": _words(rows, lanes, columns, rng)},
        {"o": [give for chunk in gives for give in chunk]},
        idle=idle,
        stall=stall,
        constants={"columns": columns, "signed": signed},
        extra=[value],
    )
    return result, gives


@pytest.mark.parametrize(
    ("lanes", "columns", "signed"), [(4, 7, 0), (4, 16, 1), (16, 20, 1), (1, 32, 0)]
)
@pytest.mark.parametrize(("idle", "stall"), GRID)
def test_gives_equal_the_format(lanes, columns, signed, idle, stall):
    _run(lanes, columns, signed, idle, stall)


@pytest.mark.parametrize(("lanes", "columns"), [(4, 7), (4, 20), (16, 20), (2, 32)])
def test_cycles_follow_the_recurrence(lanes, columns):
    result, gives = _run(lanes, columns, 0, 0.0, 0.0)
    chunk_words = [-(-min(16, columns - at) // lanes) for at in range(0, columns, 16)]
    last, given = -1, 0
    starts, expected, word = [], [], 0
    for chunk, leaving in enumerate(gives[:-1]):
        words = chunk_words[chunk % len(chunk_words)]
        last += max(given, words)
        given = len(leaving)
        word += words
        starts.append(result.taken["i"][word - 1] == last)
        expected += range(last + 1, last + 1 + given)
    assert all(starts)
    assert result.given["o"] == [*expected, last + given + 1]


def test_a_second_region_follows_without_a_trace_of_the_first():
    rows = [[(3, [5, 0, 1])], [(2, [0, 3, 3])]]
    words = [word for part in rows for word in _words(part, 4, 3, Random(1))]
    gives = [give for part in rows for chunk in _gives(part, 0) for give in chunk]
    constants = {"columns": 3, "signed": 0}
    check(FeatureEncoder(_config(4)), {"i": words}, {"o": gives}, constants=constants)
