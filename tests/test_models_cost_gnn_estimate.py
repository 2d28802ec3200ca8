"""The whole estimate: every counter predicted, the same from the same, a command for each slot."""

import pytest

from hw.gnn.config import PRESETS
from hw.gnn.counters import COUNTERS
from hw.gnn.lower import lower
from hw.memory_config import MemoryConfig
from models.cost.gnn.commands import read_commands
from models.cost.gnn.estimate import Estimate, estimate
from models.cost.gnn.memory import IdealMemory
from models.golden.gnn.execute import execute
from quant.graph.synthetic import random_gcn

TINY = PRESETS["tiny"]


def _estimate(part_rows: int | None = None, **how) -> Estimate:
    program = lower(random_gcn(nodes=20, seed=4), TINY, "natural", part_rows)
    return estimate(program, execute(program).inputs, **how)


@pytest.mark.parametrize("part_rows", [None, 6])
def test_every_counter_is_predicted(part_rows: int | None):
    predicted = _estimate(part_rows)
    assert predicted.counters.keys() == {c.name for c in COUNTERS}
    assert all(value >= 0 for value in predicted.counters.values())


@pytest.mark.parametrize("part_rows", [None, 6])
def test_every_command_has_its_times(part_rows: int | None):
    program = lower(random_gcn(nodes=20, seed=4), TINY, "natural", part_rows)
    commands = read_commands(program)
    predicted = estimate(program, execute(program).inputs)
    slots = [
        (queue, fields["layer"], fields["part"])
        for queue in ("combine", "aggregate")
        for fields in getattr(commands, queue)
    ]
    assert [(c.queue, c.layer, c.part) for c in predicted.commands] == slots
    for queue in ("combine", "aggregate"):
        own = [c for c in predicted.commands if c.queue == queue]
        assert all(c.start < c.go < c.end for c in own)
        assert all(a.end < b.start for a, b in zip(own, own[1:], strict=False))
    assert predicted.counters["cycles"] == max(c.end for c in predicted.commands) + 2


MEMORIES = [
    MemoryConfig(burst_beats=1, stream_bursts=1),
    MemoryConfig(burst_beats=64, stream_bursts=1),
    MemoryConfig(axi_data_width=256, burst_beats=2, stream_bursts=16),
    MemoryConfig(axi_data_width=1024, burst_beats=32),
]


@pytest.mark.parametrize("part_rows", [None, 6])
@pytest.mark.parametrize("memory", MEMORIES, ids=lambda m: f"{m.axi_data_width}x{m.burst_beats}")
def test_any_bus_has_an_estimate(memory: MemoryConfig, part_rows: int | None):
    config = TINY.model_copy(update={"memory": memory})
    program = lower(random_gcn(nodes=20, seed=4), config, "natural", part_rows)
    predicted = estimate(program, execute(program).inputs)
    assert predicted.counters.keys() == {c.name for c in COUNTERS}
    assert predicted.counters["cycles"] == max(c.end for c in predicted.commands) + 2


def test_the_same_gives_the_same():
    assert _estimate() == _estimate()


def test_time_follows_the_memory_and_counts_do_not():
    near, far = (_estimate(memory=IdealMemory(n, n)) for n in (4, 40))
    assert near.counters["cycles"] < far.counters["cycles"]
    events = [c.name for c in COUNTERS if not c.is_time]
    assert [near.counters[n] for n in events] == [far.counters[n] for n in events]


def test_the_memory_that_is_priced_has_its_name():
    predicted = _estimate(dram="lpddr4")
    assert predicted.dram == "lpddr4"
    assert "dram_lpddr4" in predicted.energy_pj
    low, nominal, high = predicted.dram_pj_per_bit
    # At least the table's 8 pJ of each bit; padding makes it more.
    assert nominal >= 8.0
    assert low < nominal < high


def test_leakage_is_not_in_the_energy():
    predicted = _estimate()
    assert predicted.leakage_uw.nominal == pytest.approx(25 * 160)
    assert not any("leak" in part for part in predicted.energy_pj)
