"""A2Q on Cora over five seeds: ``python -m benchmarks.a2q_cora``; needs ``BITWRIGHT_DATA``.

Every run is listed in ``results/a2q_cora.json``: validation and test accuracy, average bits, the
gap from the float network and the gap to the engine's integers, and for comparison A2Q with the
release's hyper-parameters and in the release's order (bias before aggregation, both factors of
the normalisation after the 4-bit quantizer; dropout stands after the quantizer here too).

``--tune`` repeats the choice of hyper-parameters instead: validation accuracy of the candidates
on seeds that are not reported, into ``results/a2q_cora_tuning.json``. Test labels are not read.
"""

import argparse
import json
import os
import platform
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from statistics import mean, pstdev
from typing import Any

from hw.gnn.config import PRESETS
from quant.gnn.datasets import load
from quant.gnn.graph_data import GraphData
from quant.gnn.quantize import accuracies, quantize
from quant.gnn.recipe import FLOAT_RECIPE, RECIPES, RELEASE_RECIPE, Recipe
from quant.gnn.train_gcn import Order, train
from quant.gnn.trained import average_widths
from sim.gaps import gnn_integer_gap

RESULTS = Path(__file__).with_name("results")
SEEDS = (0, 1, 2, 3, 4)
TUNING_SEEDS = (100, 101, 102, 103, 104, 105)
CHOSEN = RECIPES["cora"]
TUNING_BASE = replace(CHOSEN, epochs=200)
CHANGES: tuple[dict[str, Any], ...] = (
    {},
    {"xw_step_rate": 0.008},
    {"xw_step_rate": 0.04},
    {"weight_decay": 0.005},
    {"weight_decay": 0.02},
    {"dropout": 0.35},
    {"dropout": 0.6},
    {"node_step_rate": 0.02},
    {"weight_step_rate": 0.005},
    {"memory_weight": 1.5},
    {"epochs": 300},
)
"""A2Q candidates: what differs from `TUNING_BASE`. The best validation mean is the choice."""

FLOAT_CHANGES: tuple[dict[str, Any], ...] = (
    {},
    {"weight_decay": 0.0005},
    {"weight_decay": 0.01},
    {"weight_decay": 0.02, "dropout": 0.35},
)
"""Candidates: what differs from the chosen float recipe."""


def main() -> None:
    """Run what the arguments ask for and write the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", default="cora", help="name of the set or folder")
    parser.add_argument("--tune", action="store_true", help="repeat the choice of the recipe")
    arguments = parser.parse_args()
    data = load(arguments.data)
    RESULTS.mkdir(exist_ok=True)
    start = time.perf_counter()
    results = tune(data) if arguments.tune else measure(data)
    head = {"data": data.name, "tier": data.tier.value, "machine": machine()}
    results = {**head, "seconds": round(time.perf_counter() - start, 1), **results}
    path = RESULTS / f"a2q_{data.name}{'_tuning' if arguments.tune else ''}.json"
    path.write_text(json.dumps(results, indent=1) + "\n")
    print(path)


def measure(data: GraphData) -> dict[str, Any]:
    """Train, export and compare for each seed; then the comparisons that are trained only."""
    runs = list(contract_runs(data))
    comparisons = {
        "contract order, release's recipe": trained_runs(data, RELEASE_RECIPE, "contract"),
        "release's order, release's recipe": trained_runs(data, RELEASE_RECIPE, "release"),
        "release's order, chosen recipe": trained_runs(data, CHOSEN, "release"),
    }
    return {
        "a2q": {**summary([run["accuracy"]["test"] for run in runs]), "runs": runs},
        "fp32": summary([run["float_accuracy"]["test"] for run in runs]),
        "average_bits": {
            "hidden": mean(run["average_widths"]["hidden"] for run in runs),
            "weighted_with_input": mean(run["average_widths"]["weighted"] for run in runs),
        },
        "comparisons": comparisons,
    }


def contract_runs(data: GraphData) -> Iterator[dict[str, Any]]:
    """Yield the figures of each seed in the contract's order, both gaps included."""
    for seed in SEEDS:
        result = quantize(data, seed=seed, recipe=CHOSEN, progress=True)
        assert result.graph is not None
        gap = gnn_integer_gap(result.graph, PRESETS["tiny"])
        yield {**result.figures(), "graph_hash": result.graph.hash, "integer_gap": asdict(gap)}


def trained_runs(data: GraphData, recipe: Recipe, order: Order) -> dict[str, Any]:
    """Train for each seed without export; only the contract's order has one."""
    runs = []
    for seed in SEEDS:
        trained = train(data, recipe, seed, order=order)
        figures = accuracies(data, trained.logits)
        bits = average_widths(trained.layers).hidden
        runs.append({"seed": seed, "epoch": trained.epoch, "accuracy": figures, "hidden": bits})
    return {
        **summary([run["accuracy"]["test"] for run in runs]),
        "val_mean": mean(run["accuracy"]["val"] for run in runs),
        "hidden_bits": mean(run["hidden"] for run in runs),
        "runs": runs,
    }


def tune(data: GraphData) -> dict[str, Any]:
    """List the validation accuracy of every candidate, A2Q and float."""
    return {
        "seeds": TUNING_SEEDS,
        "a2q": [candidate(data, TUNING_BASE, changes, True) for changes in CHANGES],
        "fp32": [candidate(data, FLOAT_RECIPE, changes, False) for changes in FLOAT_CHANGES],
    }


def candidate(
    data: GraphData, recipe: Recipe, changes: dict[str, Any], quantized: bool
) -> dict[str, Any]:
    """Train one candidate on all tuning seeds and look at the validation nodes."""
    scores, bits = [], []
    for seed in TUNING_SEEDS:
        trained = train(data, replace(recipe, **changes), seed, quantized)
        chosen = trained.history[trained.epoch]
        scores.append(chosen["accuracy"])
        bits.append(chosen["bits"])
    found = {"changes": changes, "val_mean": mean(scores), "val_deviation": pstdev(scores)}
    print(found, flush=True)
    return {**found, "hidden_bits": mean(bits)}


def summary(test: Sequence[float]) -> dict[str, float]:
    """Mean and deviation (of the population) of the test accuracy."""
    return {"test_mean": mean(test), "test_deviation": pstdev(test)}


def machine() -> dict[str, Any]:
    """Describe the machine and the versions on which the figures depend."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return {
        "processor": names[0] if names else platform.processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        **{name: version(name) for name in ("torch", "numpy", "scipy")},
    }


if __name__ == "__main__":
    main()
