"""The cost of one network on one engine, without simulating it."""

from dataclasses import asdict, dataclass
from typing import Any

from hw.gnn.config import GnnConfig
from hw.gnn.lower import lower
from hw.gnn.program import Program
from models.cost.gnn.estimate import Estimate, estimate
from models.golden.gnn.execute import execute
from quant.graph.model import BitGraph

__all__ = ["CostReport", "cost"]


@dataclass(frozen=True)
class CostReport:
    """What was priced, and the estimate."""

    program: Program
    estimate: Estimate
    data_tier: str

    def as_dict(self) -> dict[str, Any]:
        """Return the report as JSON can hold it."""
        config = self.program.config
        return {
            "config": config.model_dump(),
            "config_hash": f"{config.hash:08x}",
            "graph_hash": self.program.graph_hash,
            "data_tier": self.data_tier,
            "parts": len(self.program.parts),
            **asdict(self.estimate),
        }


def cost(graph: BitGraph, config: GnnConfig) -> CostReport:
    """Return cycles, traffic, energy and area of `graph` on `config`.

    The golden model runs once, since the zeros of hidden layers are skipped.

    Raises
    ------
    ValueError
        If lowering refuses the graph.
    """
    program = lower(graph, config)
    predicted = estimate(program, execute(program).inputs)
    return CostReport(program, predicted, graph.metadata.get("tier", "unknown"))
