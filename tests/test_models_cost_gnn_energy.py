"""Energy and area of each unit by hand on a few counts; parts add up; leakage stays apart."""

import math
from dataclasses import replace

import numpy as np
import pytest

from hw.gnn.config import PRESETS, GnnConfig
from hw.gnn.counters import COUNTERS, READ_STREAMS, WRITE_STREAMS
from models.cost.bursts import Bursts
from models.cost.cost import Cost
from models.cost.gnn.energy import area, energy, leakage_uw, priced_units
from models.cost.gnn.events import Traffic
from models.cost.tables import Band
from models.cost.unit import total_energy

TINY = PRESETS["tiny"]
NOTHING = {c.name: 0 for c in COUNTERS if not c.is_time}
STILL = Traffic(
    {name: Bursts(np.array([], np.int64)) for name in READ_STREAMS},
    {name: Bursts(np.array([], np.int64)) for name in WRITE_STREAMS},
)


def _of(unit: str, **counters: int) -> Band:
    return energy(TINY, {**NOTHING, **counters}, STILL, "hbm2")[unit]


def _multiplier(b: int, c: int) -> float:
    return (0.00273 * b * c + 0.006905 * (b + c) + 0.01924) * 0.53


def _sram(kind: str, kilobytes: float, width: int) -> float:
    e0, size, wide = {"read": (9.295, 0.564, 0.529), "write": (8.25, 0.456, 0.783)}[kind]
    return e0 * (kilobytes / 64) ** size * (width / 64) ** wide


def test_lanes_of_the_array():
    # tiny: 4 columns; a lane gates 4 bits (0.4 fJ each) and adds 4.5 bits (3 fJ) in half an adder.
    lane = 4 * 0.4e-3 + 4.5 * 0.5 * 3e-3
    assert _of("bit_serial_array", combine_bit_ops=10).nominal == pytest.approx(10 * 4 * lane)


def test_a_single_lane_has_no_tree():
    config = TINY.model_copy(
        update={"combination": TINY.combination.model_copy(update={"lanes": 1})}
    )
    counters = {**NOTHING, "combine_bit_ops": 1}
    lane = energy(config, counters, STILL, "hbm2")["bit_serial_array"]
    assert lane.nominal == pytest.approx(4 * 4 * 0.4e-3)


def test_accumulators_of_the_array():
    # 24 bits added (3 fJ) and registered (2 fJ) in 4 columns a plane.
    expected = 5 * 4 * 24 * (3e-3 + 2e-3)
    assert _of("bit_serial_array", combine_planes=5).nominal == pytest.approx(expected)


def test_weight_banks():
    # 32 KB in two banks of 16 KB x 16 b.
    read, write = _sram("read", 16, 16), _sram("write", 16, 16)
    assert _of("bit_serial_array", weight_reads=3).nominal == pytest.approx(3 * read)
    assert _of("bit_serial_array", weight_writes=2).nominal == pytest.approx(2 * write)


def test_requantizer():
    # 24 x 12 and 36 x 12 bits in 4 columns.
    expected = 7 * 4 * (_multiplier(24, 12) + _multiplier(36, 12))
    assert _of("requantizer", requantize_words=7).nominal == pytest.approx(expected)


def test_psum_buffer():
    # 128 KB x 64 b; an update and a drain read and write, a clear writes.
    read, write = _sram("read", 128, 64), _sram("write", 128, 64)
    assert _of("psum_buffer", psum_updates=1).nominal == pytest.approx(read + write)
    assert _of("psum_buffer", psum_drains=2).nominal == pytest.approx(2 * (read + write))
    assert _of("psum_buffer", psum_clears=3).nominal == pytest.approx(3 * write)


def test_scatter_add():
    assert _of("scatter_add", psum_updates=5).nominal == pytest.approx(5 * 4 * 16 * 3e-3)


def test_post_processor():
    one = _multiplier(16, 12) + _multiplier(28, 16) + 48 * 3e-3 + _multiplier(48, 12)
    assert _of("post_processor", psum_drains=2).nominal == pytest.approx(2 * 4 * one)


def test_stream_fifos():
    # 32 beats of 8 bytes are below 512 bytes: flip-flops, 64 bits written and read a beat.
    expected = 6 * 2 * 64 * 2e-3
    counters = {"read_beats_edges": 2, "read_beats_program": 3, "write_beats_outputs": 1}
    assert _of("stream_fifos", **counters).nominal == pytest.approx(expected)


def test_memory_outside():
    moved = replace(STILL, reads={**STILL.reads, "edges": Bursts(np.array([8, 4]))})
    parts = energy(TINY, NOTHING, moved, "hbm2")
    # 64 bytes, and 32 padded to 64: 1024 bits, two activations.
    assert parts["dram_hbm2"].nominal == pytest.approx(1024 * 3.48 + 2 * 909)
    assert "dram_ddr4" in energy(TINY, NOTHING, moved, "ddr4")


COUNTED = {name: 100 + 7 * at for at, name in enumerate(NOTHING)}


def test_three_columns_are_ordered_and_add_up():
    parts = energy(TINY, COUNTED, STILL, "hbm2")
    assert all(0 < b.low <= b.nominal <= b.high for n, b in parts.items() if n != "dram_hbm2")
    total = Cost(energy_pj=parts).total_energy_pj
    for column in range(3):
        assert total[column] == pytest.approx(math.fsum(band[column] for band in parts.values()))


def test_energy_is_linear_in_the_counts():
    once = energy(TINY, COUNTED, STILL, "hbm2")
    twice = energy(TINY, {name: 2 * n for name, n in COUNTED.items()}, STILL, "hbm2")
    for name, band in once.items():
        assert tuple(twice[name]) == pytest.approx([2 * value for value in band])


def test_every_event_that_costs_has_a_price():
    priced = set()
    for name in NOTHING:
        alone = energy(TINY, {**NOTHING, name: 1}, STILL, "hbm2")
        if Cost(energy_pj=alone).total_energy_pj.nominal:
            priced.add(name)
    # What these count has its price in another counter, or in the bursts.
    unpriced = {
        "combine_values", "combine_groups", "combine_conflicts", "combine_rows",
        "aggregate_rows", "aggregate_edges", "output_values", "read_bursts", "write_bursts",
    }  # fmt: skip
    assert priced == set(NOTHING) - unpriced


def test_actions_are_named_and_add_up():
    for unit in priced_units(TINY).values():
        actions = unit.actions(COUNTED)
        assert len({action.name for action in actions}) == len(actions)
        total = total_energy(actions)
        assert total.nominal == pytest.approx(sum(a.count * a.energy_pj.nominal for a in actions))


def test_area_by_hand():
    parts = area(TINY)
    one_lane = (5.984 * 4 + 19.01 * 5 + 25.88) * 0.38
    array = 2 * 4 * one_lane + 1.6 * 2 * 32 * 24 + 0.17 * 8 * 32 * 1024
    assert parts["bit_serial_array"].nominal == pytest.approx(array)
    assert parts["psum_buffer"].nominal == pytest.approx(0.17 * 8 * 128 * 1024)
    assert parts["scatter_add"].nominal == pytest.approx(1.63 * 16 * 4)
    assert parts["stream_fifos"].nominal == pytest.approx(10 * 1.6 * 8 * 256)
    assert all(0 < b.low <= b.nominal <= b.high for b in parts.values())
    assert parts.keys() == priced_units(TINY).keys()


def test_leakage_is_a_line_of_its_own():
    # 160 KB at 25 uW/KB.
    assert tuple(leakage_uw(GnnConfig())) == pytest.approx((0.15 * 160, 25 * 160, 165 * 160))
    assert not any("leak" in name for name in energy(TINY, COUNTED, STILL, "hbm2"))


def test_costs_add():
    one, two, three, zero = Band(1, 2, 3), Band(4, 5, 6), Band(7, 8, 9), Band(0, 0, 0)
    total = Cost(3, {"a": 1}, {"x": one}, {"x": three}) + Cost(4, {"a": 2, "b": 5}, {"y": two})
    assert (total.cycles, total.counts) == (7, {"a": 3, "b": 5})
    assert total.energy_pj == {"x": one, "y": two}
    assert total.total_energy_pj == Band(5, 7, 9)
    assert total.total_area_um2 == three
    assert Cost().total_energy_pj == zero
