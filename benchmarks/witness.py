"""Three witnesses on a whole real graph: ``python -m benchmarks.witness --data citeseer``.

Trains A2Q once (seed 0), lowers for `tiny` as one part and in parts of at most 512 rows, and runs
each in Verilator on ideal memory and on one that stalls at random; needs ``BITWRIGHT_DATA``. The
figures go to ``results/witness_<data>.json``.
"""

import argparse
import json
import time
from typing import Any

from hw.gnn.config import PRESETS
from quant.gnn.datasets import load
from quant.gnn.quantize import quantize
from sim.gnn import sim
from sim.memory import IDEAL, MemoryOptions
from sim.witness import WitnessReport

from .a2q_cora import RESULTS, machine

STALLS = MemoryOptions(stall=0.3, seed=5)
PART_ROWS = 512


def main() -> None:
    """Train, run four times, write what came out."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", default="citeseer", help="name of the set or folder")
    data = load(parser.parse_args().data)
    graph = quantize(data, "a2q", seed=0).graph
    assert graph is not None, "A2Q always exports"
    runs = []
    for part_rows in (None, PART_ROWS):
        for memory in (IDEAL, STALLS):
            start = time.perf_counter()
            report = sim(graph, PRESETS["tiny"], part_rows=part_rows, memory=memory)
            runs.append(figures(report, time.perf_counter() - start))
            print(runs[-1], flush=True)
    results = {"data": data.name, "tier": data.tier.value, "machine": machine(), "runs": runs}
    path = RESULTS / f"witness_{data.name}.json"
    path.write_text(json.dumps(results, indent=1) + "\n")


def figures(report: WitnessReport, seconds: float) -> dict[str, Any]:
    """Return what a note quotes of one run."""
    worst = report.worst_phase
    return {
        "parts": report.parts,
        "stall": report.memory["stall"],
        "compared": sum(check.compared for check in report.checks),
        "different": sum(check.different for check in report.checks),
        "events_equal": report.events_equal,
        "cycles": report.cycles_simulated,
        "predicted": report.cycles_predicted,
        "worst_phase_percent": worst.error_percent if report.time_is_gated else None,
        "accuracy": {row.split: [row.rtl, row.golden] for row in report.accuracy},
        "seconds": round(seconds, 1),
    }


if __name__ == "__main__":
    main()
