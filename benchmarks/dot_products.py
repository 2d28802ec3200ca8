"""Dot products of the gates against NumPy: ``python -m benchmarks.dot_products --count 10000000``.

Sweeps the bit-serial array at `tiny` and at a wide size, with and without idle and stall; the
figures go to ``results/dot_products.json``. The sweep's small sibling is a test
(``tests/test_sim_harness.py``); what it consists of is told by `sim.dot_products.make`.
"""

import argparse
import json
import time
from typing import Any

from hw.gnn.config import PRESETS, CombinationConfig, GnnConfig
from sim import dot_products
from sim.bench import GRID
from sim.cosim import MismatchError
from sim.harness import Harness, unit_harness
from sim.toolchain import verilator_version

from .a2q_cora import RESULTS, machine

WIDE = GnnConfig(
    name="wide",
    combination=CombinationConfig(
        lanes=8, cols=32, weight_buffer_bytes=12 * 1024, columns_max=128, group_fifo_depth=8
    ),
)
BATCH = 200_000
"""Dot products of one batch, each with weights of its own."""


def main() -> None:
    """Sweep each config, write the figures, fail on a mismatch."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--count", type=int, default=10_000_000, help="dot products of each config")
    count = parser.parse_args().count
    runs = [sweep(config, count) for config in (PRESETS["tiny"], WIDE)]
    tools = {"verilator": verilator_version()}
    path = RESULTS / "dot_products.json"
    path.write_text(json.dumps({"machine": machine() | tools, "runs": runs}, indent=1) + "\n")
    print(path)
    if any(run["batches_different"] for run in runs):
        raise SystemExit(1)


def sweep(config: GnnConfig, count: int) -> dict[str, Any]:
    """Return the figures of at least `count` dot products, batch after batch."""
    start = time.perf_counter()
    array = unit_harness("bit_serial_array", config)
    combination = config.combination
    figures: dict[str, Any] = {
        "config": config.name,
        "lanes": combination.lanes,
        "cols": combination.cols,
        "tiles_max": combination.tiles_max,
        "build_seconds": round(time.perf_counter() - start, 1),
    }
    totals = dict.fromkeys(("dot_products", "rows", "values", "mismatches", "batches_different"), 0)
    totals |= {"longest_row": 0, "cycles": 0}
    seconds, seed = 0.0, 0
    while totals["dot_products"] < count:
        seconds += batch(array, config, seed, totals)
        seed += 1
        if seed % 10 == 0:
            print(config.name, totals, flush=True)
    return (
        figures
        | totals
        | {
            "batches": seed,
            "batch_seconds": round(seconds, 1),
            "cycles_per_second": round(totals["cycles"] / seconds),
            "seconds": round(time.perf_counter() - start, 1),
        }
    )


def batch(array: Harness, config: GnnConfig, seed: int, totals: dict[str, int]) -> float:
    """Run one batch, add its figures to `totals`; return its seconds, packing included."""
    idle, stall = GRID[seed % len(GRID)]
    work = dot_products.make(config, BATCH, seed)
    start = time.perf_counter()
    psums, words, result = dot_products.run(array, work, idle=idle, stall=stall, seed=seed)
    seconds = time.perf_counter() - start
    try:
        dot_products.compare(work, psums, words, result.events, seed)
    except MismatchError as error:
        print(error, flush=True)
        totals["batches_different"] += 1
    totals["dot_products"] += work.count
    totals["rows"] += len(work.width)
    totals["values"] += int((work.code != 0).sum())
    totals["longest_row"] = max(totals["longest_row"], int(work.values.max()))
    totals["mismatches"] += int((psums != work.psums).sum())
    totals["cycles"] += result.simulated
    return seconds


if __name__ == "__main__":
    main()
