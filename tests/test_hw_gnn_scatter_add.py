"""ScatterAdd against the list of its updates."""

from random import Random

import pytest

from hw.gnn.config import AggregationConfig, GnnConfig
from hw.gnn.scatter_add import ScatterAdd
from sim.bench import GRID, DeadlockError, check, run
from sim.streams import Source, Strobes

CONFIGS = {
    lanes: GnnConfig(aggregation=AggregationConfig(lanes=lanes, psum_buffer_bytes=4096))
    for lanes in (4, 16)
}
COUNTS = [0, 0, 3, 1, 0, 1, 1, 9, 0, 2, 0]


def _tokens(counts: list[int], rng: Random) -> list[list[dict]]:
    records = []
    for count in counts:
        record = [{"address": rng.randrange(400), "empty": 0} for _ in range(count)]
        records.append([*(record or [{"address": 0, "empty": 1}])])
        records[-1][-1]["last"] = 1
    records[-1][-1]["final"] = 1
    return records


def _updates(config: GnnConfig, rows: list[int], records: list[list[dict]], tiles: int) -> list:
    width = 4 * config.aggregation.lanes
    return [
        {
            "address": token["address"] + tile,
            "addend": [row >> width * tile + 4 * k & 15 for k in range(config.aggregation.lanes)],
        }
        for row, record in zip(rows, records, strict=True)
        for token in record
        if not token["empty"]
        for tile in range(tiles)
    ]


def _run(lanes: int, tiles: int, idle: float, stall: float):
    config = CONFIGS[lanes]
    rng = Random(tiles)
    records = _tokens(COUNTS, rng)
    rows = [rng.getrandbits(config.row_width) for _ in COUNTS]
    dut = ScatterAdd(config)
    done, final = Strobes("row_done", dut.row_done, len(rows)), Strobes("final", dut.final, 1)
    result = check(
        dut,
        {"i_row": rows, "i_edge": [token for record in records for token in record]},
        {"o": _updates(config, rows, records, tiles)},
        idle=idle,
        stall=stall,
        constants={"tiles": tiles, "enable": 1},
        extra=[done, final],
    )
    return result, done, final


@pytest.mark.parametrize(("lanes", "tiles"), [(4, 1), (4, 2), (4, 8), (16, 1), (16, 2)])
@pytest.mark.parametrize(("idle", "stall"), GRID)
def test_each_destination_gets_each_word_of_its_row(lanes, tiles, idle, stall):
    result, done, final = _run(lanes, tiles, idle, stall)
    assert done.cycles == result.taken["i_row"]
    assert final.cycles == done.cycles[-1:]


@pytest.mark.parametrize(("lanes", "tiles"), [(4, 1), (4, 5), (16, 2)])
def test_a_row_takes_count_times_tiles_cycles_or_one(lanes, tiles):
    result, _, _ = _run(lanes, tiles, 0.0, 0.0)
    at, expected = -1, []
    for count in COUNTS:
        at += max(count * tiles, 1)
        expected.append(at)
    assert result.taken["i_row"] == expected


def test_nothing_moves_without_enable():
    dut = ScatterAdd(CONFIGS[4])
    starved = Strobes("starved", dut.starved, 0)
    inputs = {"i_row": [1], "i_edge": _tokens([0], Random(0))[0]}
    constants = {"tiles": 1, "enable": 0}
    with pytest.raises(DeadlockError, match=r"^no progress .* waiting for i_row, i_edge$"):
        check(dut, inputs, {"o": []}, constants=constants, extra=[starved])


@pytest.mark.parametrize("present", ["i_row", "i_edge"])
def test_a_missing_row_or_edge_starves(present):
    dut = ScatterAdd(CONFIGS[4])
    starved = Strobes("starved", dut.starved)
    value = {"i_row": 1, "i_edge": _tokens([0], Random(0))[0][0]}[present]
    source = Source(present, getattr(dut, present), [value])
    constants = {"tiles": 1, "enable": 1}
    with pytest.raises(DeadlockError, match=f"^not done after 5 cycles; waiting for {present}$"):
        run(dut, [source, starved], constants=constants, limit=5)
    assert starved.cycles == [0, 1, 2, 3, 4]
