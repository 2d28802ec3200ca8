"""RowAssembler against words put side by side."""

from random import Random

import pytest

from hw.gnn.config import CombinationConfig, GnnConfig
from hw.gnn.row_assembler import RowAssembler
from sim.bench import GRID, check

CONFIG = GnnConfig(combination=CombinationConfig(columns_max=20))


def _stimulus(tiles: list[int], seed: int) -> tuple[list[dict], list[int]]:
    rng = Random(seed)
    words, rows = [], []
    for count in tiles:
        row = 0
        for tile in range(count):
            q = [rng.randint(-7, 7) for _ in range(4)]
            words.append({"q": q, "tile": tile, "last": int(tile == count - 1)})
            row |= sum((v & 15) << 4 * c for c, v in enumerate(q)) << 16 * tile
        rows.append(row)
    return words, rows


@pytest.mark.parametrize(("idle", "stall"), GRID)
def test_columns_without_a_word_are_zero(idle, stall):
    words, rows = _stimulus([5, 1, 3, 2, 5, 1, 1, 4, 2] * 4, seed=1)
    check(RowAssembler(CONFIG), {"i": words}, {"o": rows}, idle=idle, stall=stall)


@pytest.mark.parametrize("tiles", [1, 3])
def test_a_row_in_the_cycle_after_its_last_word(tiles):
    words, rows = _stimulus([tiles] * 10, seed=2)
    result = check(RowAssembler(CONFIG), {"i": words}, {"o": rows})
    assert result.taken["i"] == list(range(10 * tiles))
    assert result.given["o"] == list(range(tiles, 10 * tiles + 1, tiles))


def test_the_next_row_starts_with_the_handover():
    words, rows = _stimulus([2] * 20, seed=3)
    result = check(RowAssembler(CONFIG), {"i": words}, {"o": rows}, stall=0.7)
    for row in range(1, 20):
        handed = result.given["o"][row - 1]
        assert result.taken["i"][2 * row] == handed
        assert result.taken["i"][2 * row + 1] == handed + 1
