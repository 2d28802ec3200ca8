"""Quantizes a network over several seeds and measures both gaps of each run."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean, pstdev
from typing import Any

from hw.gnn.config import GnnConfig
from quant.gnn.quantize import QuantizeResult
from quant.gnn.quantize import quantize as train
from quant.graph.onnx_export import save

from .gaps import IntegerGap, gnn_integer_gap

__all__ = ["QuantizeReport", "quantize"]


@dataclass(frozen=True)
class QuantizeReport:
    """All runs, one per seed, and the gap of each to the integers (None for a float network)."""

    runs: tuple[QuantizeResult, ...]
    gaps: tuple[IntegerGap | None, ...]

    @property
    def best(self) -> QuantizeResult:
        """The run with the best validation accuracy; the first wins a tie."""
        return max(self.runs, key=lambda run: run.accuracy["val"])

    @property
    def test_mean(self) -> float:
        """Mean test accuracy over the seeds."""
        return mean(run.accuracy["test"] for run in self.runs)

    @property
    def test_deviation(self) -> float:
        """Standard deviation of the test accuracy over the seeds, of the population."""
        return pstdev(run.accuracy["test"] for run in self.runs)

    def as_dict(self) -> dict[str, Any]:
        """Return the report as JSON can hold it, without the networks."""
        runs = [
            {**run.figures(), "integer_gap": None if gap is None else asdict(gap)}
            for run, gap in zip(self.runs, self.gaps, strict=True)
        ]
        return {"runs": runs, "test_mean": self.test_mean, "test_deviation": self.test_deviation}


def quantize(
    data: str,
    method: str,
    seeds: Sequence[int],
    config: GnnConfig,
    out: Path | None = None,
    progress: bool = False,
) -> QuantizeReport:
    """Train and quantize a two-layer GCN once for each seed.

    Parameters
    ----------
    data, method : str
        See `quant.gnn.quantize.quantize`.
    seeds : sequence of int
    config : GnnConfig
        Engine for which the gap to the integers is measured.
    out : Path, optional
        Where the BitGraph of the run with the best validation accuracy is written.
    progress : bool
        Show bars on stderr.

    Raises
    ------
    ValueError
        If the method is unknown, or `out` is given for a method without BitGraph.
    """
    if not seeds or len(set(seeds)) != len(seeds):
        raise ValueError(f"seeds must be different and at least one, not {list(seeds)}")
    if out is not None:
        # Before the training, which takes minutes.
        if method == "fp32":
            raise ValueError(f"--out must not be given with method {method}: it has no codes")
        out.parent.mkdir(parents=True, exist_ok=True)
    runs = tuple(train(data, method, seed, progress=progress) for seed in seeds)
    gaps = tuple(None if run.graph is None else gnn_integer_gap(run.graph, config) for run in runs)
    report = QuantizeReport(runs, gaps)
    if out is not None and report.best.graph is not None:
        save(report.best.graph, out)
    return report
