"""The cost of one network on one engine, without simulating it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hw.gnn.config import GnnConfig
from hw.gnn.counters import READ_STREAMS, WRITE_STREAMS
from hw.gnn.lower import lower
from hw.gnn.partition import PartitionMode
from hw.gnn.program import Program
from models.cost.cost import Cost
from models.cost.dram import Dram
from models.cost.gnn.estimate import Estimate, estimate
from models.cost.gnn.memory import IdealMemory
from models.cost.gnn.timing import CommandTime
from models.cost.tables import Band
from models.golden.gnn.execute import execute
from quant.graph.model import BitGraph

__all__ = ["CostReport", "Phase", "StreamTraffic", "cost", "phases"]

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Phase:
    """One layer's commands of one engine.

    Parameters
    ----------
    layer : int
    engine : str
        ``combine`` or ``aggregate``.
    commands : int
    start, end : int, cycle
        First command taken, last one complete.
    waiting_cycles, working_cycles : int
        Before and after the release of each command, summed up.
    """

    layer: int
    engine: str
    commands: int
    start: int
    end: int
    waiting_cycles: int
    working_cycles: int


@dataclass(frozen=True)
class StreamTraffic:
    """What one memory stream moves."""

    stream: str
    direction: str
    beats: int
    bytes: int
    bursts: int


@dataclass(frozen=True)
class CostReport:
    """What was priced, and the estimate."""

    program: Program
    estimate: Estimate
    graph_name: str
    data_tier: str

    @property
    def phases(self) -> tuple[Phase, ...]:
        """Cycles by layer and engine."""
        return phases(self.estimate.commands)

    @property
    def traffic(self) -> tuple[StreamTraffic, ...]:
        """Beats, bytes and bursts of each stream."""
        beat_bytes = self.program.config.memory.beat_bytes
        rows = []
        for direction, streams in (("read", READ_STREAMS), ("write", WRITE_STREAMS)):
            for stream in streams:
                beats = self.estimate.counters[f"{direction}_beats_{stream}"]
                bursts = self.estimate.bursts[stream]
                rows.append(StreamTraffic(stream, direction, beats, beats * beat_bytes, bursts))
        return tuple(rows)

    @property
    def total(self) -> Cost:
        """Cycles, counts, energy and area, with their sums."""
        e = self.estimate
        return Cost(e.counters["cycles"], e.counters, e.energy_pj, e.area_um2)

    def as_dict(self) -> dict[str, Any]:
        """Return the report as JSON can hold it; units stand in the names."""
        config, e, total = self.program.config, self.estimate, self.total
        return {
            "schema_name": "bitwright-cost",
            "schema_version": SCHEMA_VERSION,
            "engine": "gnn",
            "config": config.model_dump(),
            "config_hash": f"{config.hash:08x}",
            "graph": {"name": self.graph_name, "hash": self.program.graph_hash},
            "data_tier": self.data_tier,
            "parts": len(self.program.parts),
            "cycles": e.counters["cycles"],
            "phases": [asdict(phase) for phase in self.phases],
            "commands": [asdict(command) for command in e.commands],
            "counters": dict(e.counters),
            "traffic": [asdict(stream) for stream in self.traffic],
            "dram": e.dram,
            "dram_pj_per_bit": e.dram_pj_per_bit._asdict(),
            "energy_pj": _bands(e.energy_pj),
            "energy_total_pj": total.total_energy_pj._asdict(),
            "leakage_uw": e.leakage_uw._asdict(),
            "area_um2": _bands(e.area_um2),
            "area_total_um2": total.total_area_um2._asdict(),
        }


def _bands(parts: dict[str, Band]) -> dict[str, dict[str, float]]:
    return {name: band._asdict() for name, band in parts.items()}


def phases(commands: Sequence[CommandTime]) -> tuple[Phase, ...]:
    """Sum up the commands of each layer and engine, in the order of the layers."""
    rows = []
    for layer in sorted({c.layer for c in commands}):
        for engine in ("combine", "aggregate"):
            own = [c for c in commands if (c.layer, c.queue) == (layer, engine)]
            rows.append(
                Phase(
                    layer,
                    engine,
                    len(own),
                    min(c.start for c in own),
                    max(c.end for c in own),
                    sum(c.go - c.start for c in own),
                    sum(c.end - c.go for c in own),
                )
            )
    return tuple(rows)


def cost(
    graph: BitGraph,
    config: GnnConfig,
    *,
    partition: PartitionMode = "auto",
    part_rows: int | None = None,
    dram: Dram = "hbm2",
    memory: IdealMemory | None = None,
) -> CostReport:
    """Return cycles, traffic, energy and area of `graph` on `config`.

    The golden model runs once, since the zeros of hidden layers are skipped.

    Parameters
    ----------
    graph : BitGraph
        With its features and edges inside.
    config : GnnConfig
    partition, part_rows
        See `hw.gnn.lower.lower`.
    dram : {"hbm2", "hbm1", "ddr4", "lpddr4"}
        Memory for which energy is priced.
    memory : IdealMemory, optional
        Latencies for which time is predicted; those of the simulated memory if not given.

    Raises
    ------
    ValueError
        If lowering refuses the graph.
    """
    program = lower(graph, config, partition, part_rows)
    predicted = estimate(program, execute(program).inputs, memory, dram)
    return CostReport(program, predicted, graph.name, graph.metadata.get("tier", "unknown"))
