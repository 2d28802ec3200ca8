"""Requantizer against the golden function, corners first."""

from random import Random

import pytest

from hw.gnn.config import CombinationConfig, GnnConfig
from hw.gnn.requantizer import Requantizer
from models.golden.gnn.requantizer import requantize
from sim.bench import GRID, check

TINY = GnnConfig()
WIDE = GnnConfig(
    combination=CombinationConfig(cols=8, columns_max=24, psum_width=20, weight_buffer_bytes=1024)
)


def _columns(config: GnnConfig, rng: Random) -> list[tuple[int, int]]:
    corners = [(2048, 11), (4095, 0), (2048, 12), (4095, 63), (0, 5), (3000, 30), (2048, 1)]
    count = config.combination.columns_max - len(corners)
    return corners + [(rng.randint(2048, 4095), rng.randint(8, 30)) for _ in range(count)]


def _rows(config: GnnConfig, rng: Random, tiles: int) -> list[tuple[list[int], int, int]]:
    """Rows of psums with their (m, e): extremes, ties of both signs, shift 0 and 63, random."""
    width, columns = config.combination.psum_width, tiles * config.combination.cols
    top = (1 << width - 1) - 1
    kinds = [
        ([0] * columns, 4095, 0),
        ([top, -top - 1] * (columns // 2), 4095, 0),
        ([top, -top - 1] * (columns // 2), 4095, 12),
        ([top, -top - 1] * (columns // 2), 4095, 63),
        ([1, -1, 3, -3] * (columns // 4), 2048, 12),  # P * m / 2^e = 0.5, 1.5: ties
        ([5, -5, 7, -7] * (columns // 4), 2048, 13),
        ([1, -1] * (columns // 2), 2048, 11),
        ([9, -9] * (columns // 2), 0, 0),
    ]
    for _ in range(30):
        scale = rng.choice([30, 1000, top])
        psums = [rng.randint(-scale, scale) for _ in range(columns)]
        kinds.append((psums, rng.randint(2048, 4095), rng.randint(0, 30)))
    return kinds


class Columns:
    """Write the column table in the first cycles, one column a cycle."""

    name = "columns"
    finished = True

    def __init__(self, dut: Requantizer, columns: list[tuple[int, int]]) -> None:
        self._port, self._columns = dut.column_write, columns

    def signals(self) -> tuple[()]:
        """Return nothing."""
        return ()

    def start(self, ctx) -> None:
        """Write column 0."""
        self.step(ctx, -1, ())

    def step(self, ctx, cycle, values) -> bool:
        """Write the next column."""
        enable = cycle + 1 < len(self._columns)
        ctx.set(self._port.enable, enable)
        if enable:
            n, f = self._columns[cycle + 1]
            ctx.set(self._port.column, cycle + 1)
            ctx.set(self._port.n, n)
            ctx.set(self._port.f, f)
        return enable


def _stimulus(config: GnnConfig, tiles: int, seed: int) -> tuple[list, list, list]:
    rng = Random(seed)
    cols = config.combination.cols
    columns = _columns(config, rng)
    words, expected = [], []
    for psums, m, e in _rows(config, rng, tiles):
        factors = columns[: tiles * cols]
        q = requantize(psums, m, e, [n for n, _ in factors], [f for _, f in factors]).tolist()
        for tile in range(tiles):
            at, last = slice(tile * cols, (tile + 1) * cols), int(tile == tiles - 1)
            words.append({"psum": psums[at], "tile": tile, "last": last, "m": m, "e": e})
            expected.append({"q": q[at], "tile": tile, "last": last})
    # The table is written while the first words wait: a column is read after it was written.
    pause = [dict(words[0], psum=[0] * cols)] * config.combination.columns_max
    return columns, pause + words, [dict(expected[0], q=[0] * cols)] * len(pause) + expected


@pytest.mark.parametrize(("idle", "stall"), GRID)
@pytest.mark.parametrize(("config", "tiles"), [(TINY, 8), (TINY, 1), (WIDE, 3)])
def test_equals_the_golden_function(config, tiles, idle, stall):
    columns, words, expected = _stimulus(config, tiles, seed=7)
    dut = Requantizer(config)
    extra = [Columns(dut, columns)]
    check(dut, {"i": words}, {"o": expected}, idle=idle, stall=stall, extra=extra)


def test_five_cycles_and_one_word_a_cycle():
    columns, words, expected = _stimulus(TINY, 4, seed=8)
    dut = Requantizer(TINY)
    result = check(dut, {"i": words}, {"o": expected}, extra=[Columns(dut, columns)])
    assert result.taken["i"] == list(range(len(words)))
    assert result.given["o"] == [cycle + 5 for cycle in result.taken["i"]]


@pytest.mark.parametrize("stall", [0.3, 0.7])
def test_is_a_queue_of_five_places(stall):
    columns, words, expected = _stimulus(TINY, 2, seed=9)
    dut = Requantizer(TINY)
    extra = [Columns(dut, columns)]
    result = check(dut, {"i": words}, {"o": expected}, stall=stall, extra=extra)
    enter, leave = result.taken["i"], result.given["o"]
    for n in range(1, len(words)):
        places = leave[n - 5] if n >= 5 else 0
        assert enter[n] == max(enter[n - 1] + 1, places)
