"""The cost model against the gates on real Cora: events equal, time within its gate."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from hw.gnn.config import PRESETS, AggregationConfig, CombinationConfig, GnnConfig
from hw.memory_config import MemoryConfig
from quant.gnn.datasets import load
from quant.graph.synthetic import untrained_gcn
from sim.gnn import sim
from sim.witness import TIME_GATE_PERCENT, CommandRow, WitnessReport

pytestmark = [pytest.mark.rtl, pytest.mark.slow]

FOUR_LANES = GnnConfig(
    name="four-lanes",
    memory=MemoryConfig(axi_data_width=128),
    combination=CombinationConfig(lanes=4, cols=8),
    aggregation=AggregationConfig(lanes=8),
)

SETUPS = {
    "tiny, one part": (PRESETS["tiny"], None),
    "tiny, six parts": (PRESETS["tiny"], 512),
    "four lanes, one part": (FOUR_LANES, None),
}


@dataclass(frozen=True)
class Phase:
    """All commands of one engine for one layer."""

    commands: list[CommandRow]

    @property
    def error(self) -> int:
        """Predicted minus simulated cycles between release and completion, summed up."""
        return sum(
            (c.predicted_cycles[2] - c.predicted_cycles[1])
            - (c.simulated_cycles[2] - c.simulated_cycles[1])
            for c in self.commands
        )


def _layer_cycles(report: WitnessReport, layer: int) -> int:
    """Return the cycles from the first start to the last end of a layer's commands."""
    times = [c.simulated_cycles for c in report.commands if c.layer == layer]
    return max(t[2] for t in times) - min(t[0] for t in times)


@pytest.mark.parametrize("setup", SETUPS)
def test_events_equal_and_time_within_the_gate(
    setup: str, data_set: Callable[[str], Path], tmp_path: Path
) -> None:
    config, part_rows = SETUPS[setup]
    data = load(data_set("cora"))
    graph = untrained_gcn(data.name, data.features, data.edge_index, data.classes)
    report = sim(graph, config, partition="natural", part_rows=part_rows, run_dir=tmp_path)
    assert report.outputs_equal
    differing = {c.name: c.difference for c in report.counters if not c.is_time and c.difference}
    assert differing == {}
    assert abs(report.time_error_percent) <= TIME_GATE_PERCENT
    for layer in range(2):
        gate = TIME_GATE_PERCENT / 100 * _layer_cycles(report, layer)
        for engine in ("combine", "aggregate"):
            rows = [c for c in report.commands if (c.layer, c.engine) == (layer, engine)]
            assert rows
            assert abs(Phase(rows).error) <= gate, (setup, layer, engine)
            for row in rows:
                assert abs(Phase([row]).error) <= gate, row
    times = {c.name: c.difference for c in report.counters if c.is_time}
    limit = TIME_GATE_PERCENT / 100 * report.cycles_simulated
    assert all(abs(difference) <= limit for difference in times.values()), times
