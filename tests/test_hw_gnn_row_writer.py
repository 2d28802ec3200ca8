"""RowWriter against rows cut into beats."""

from random import Random

import pytest

from hw.gnn.config import CombinationConfig, GnnConfig
from hw.gnn.row_writer import RowWriter
from sim.bench import GRID, check

CONFIG = GnnConfig(combination=CombinationConfig(columns_max=64))


def _stimulus(row_beats: int, count: int) -> tuple[list[int], list[dict]]:
    rng = Random(row_beats)
    rows = [rng.getrandbits(min(256, 64 * row_beats)) for _ in range(count)]
    mask = (1 << 64) - 1
    beats = [row >> 64 * n & mask for row in rows for n in range(row_beats)]
    return rows, [{"data": beat, "valid": 1, "last": 0} for beat in beats]


@pytest.mark.parametrize(("idle", "stall"), GRID)
@pytest.mark.parametrize("row_beats", [1, 3, 4, 5])
def test_beats_lowest_columns_first(row_beats, idle, stall):
    rows, beats = _stimulus(row_beats, 12)
    constants = {"row_beats": row_beats}
    dut = RowWriter(CONFIG)
    check(dut, {"i": rows}, {"o": beats}, idle=idle, stall=stall, constants=constants)


@pytest.mark.parametrize("row_beats", [1, 4])
def test_a_beat_a_cycle_and_the_end_of_the_last_row(row_beats):
    rows, beats = _stimulus(row_beats, 6)
    for row in range(1, 7):  # every row is the last of a request
        beats[row * row_beats - 1]["last"] = 1
    constants = {"row_beats": row_beats, "last_row": 1}
    result = check(RowWriter(CONFIG), {"i": rows}, {"o": beats}, constants=constants)
    assert result.taken["i"] == [0, *range(row_beats, 6 * row_beats, row_beats)]
    assert result.given["o"] == list(range(1, 6 * row_beats + 1))
