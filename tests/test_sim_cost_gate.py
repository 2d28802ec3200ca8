"""The cost model against the gates: events equal, time within its gate, on real Cora."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from hw.gnn.config import PRESETS, AggregationConfig, CombinationConfig, GnnConfig
from hw.memory_config import MemoryConfig
from quant.gnn.datasets import load
from quant.graph.synthetic import CORNERS, random_gcn, untrained_gcn
from sim.gnn import sim
from sim.witness import TIME_GATE_PERCENT, CommandRow, WitnessReport

pytestmark = pytest.mark.rtl

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


def _require_gate(report: WitnessReport) -> None:
    """Assert outputs and events, and the gate of the time of each layer, phase and command."""
    assert report.outputs_equal
    differing = {c.name: c.difference for c in report.counters if not c.is_time and c.difference}
    assert differing == {}
    assert abs(report.time_error_percent) <= TIME_GATE_PERCENT
    for layer in range(2):
        gate = TIME_GATE_PERCENT / 100 * _layer_cycles(report, layer)
        for engine in ("combine", "aggregate"):
            rows = [c for c in report.commands if (c.layer, c.engine) == (layer, engine)]
            assert rows
            assert abs(Phase(rows).error) <= gate, (layer, engine)
            for row in rows:
                assert abs(Phase([row]).error) <= gate, row


def _require_target(report: WitnessReport) -> None:
    """Assert that one part has no error at all, and several parts only the stated residue."""
    memory = report.config["memory"]
    held = memory["burst_beats"] * memory["stream_bursts"] if report.parts > 1 else 0
    for row in report.commands:
        assert abs(Phase([row]).error) <= held, row
        if report.parts == 1:
            assert row.predicted_cycles == row.simulated_cycles
    times = {c.name: c.difference for c in report.counters if c.is_time}
    assert all(abs(n) <= held * len(report.commands) for n in times.values()), times


@pytest.mark.slow
@pytest.mark.parametrize("setup", SETUPS)
def test_real_cora(setup: str, data_set: Callable[[str], Path], tmp_path: Path) -> None:
    config, part_rows = SETUPS[setup]
    data = load(data_set("cora"))
    graph = untrained_gcn(data.name, data.features, data.edge_index, data.classes)
    report = sim(graph, config, partition="natural", part_rows=part_rows, run_dir=tmp_path)
    _require_gate(report)
    _require_target(report)


SMALL = {
    "corners": {"nodes": 26, "corners": CORNERS, "widths": (0, 1, 5, 8)},
    "signed": {"nodes": 25, "signed": True, "input_width": None},
    "narrowest": {"nodes": 9, "features": 1, "hidden": 1, "classes": 1, "edges": 4},
    "widest": {"nodes": 12, "features": 40, "hidden": 32, "classes": 31},
    "one node": {"nodes": 1, "features": 5, "hidden": 3, "classes": 2, "edges": 0},
    "nothing stored": {"nodes": 15, "widths": (0,), "input_width": None},
}


@pytest.mark.parametrize("part_rows", [None, 9])
@pytest.mark.parametrize("name", SMALL)
def test_small_graphs(name: str, part_rows: int | None, tmp_path: Path) -> None:
    graph = random_gcn(seed=5, **SMALL[name])
    tiny = PRESETS["tiny"]
    report = sim(graph, tiny, partition="natural", part_rows=part_rows, run_dir=tmp_path)
    assert report.outputs_equal
    assert report.events_equal
    _require_target(report)
