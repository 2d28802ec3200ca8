"""Trains, quantizes and exports one graph network, and measures what quantization costs."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from quant.graph.execute import execute
from quant.graph.model import BitGraph
from quant.graph.onnx_export import save

from .datasets import load
from .export import export
from .graph_data import GraphData
from .recipe import FLOAT_RECIPE, Recipe, recipe_for
from .trained import AverageWidths, TrainedGcn, average_widths

__all__ = ["METHODS", "QuantizeResult", "accuracies", "quantize"]

METHODS = ("a2q", "fp32")


@dataclass(frozen=True, eq=False)
class QuantizeResult:
    """One trained network and its figures.

    Parameters
    ----------
    data, tier, method : str
    seed : int
    recipe : Recipe
    epoch : int
        The epoch that the validation split selected.
    accuracy : dict of str to float
        Share of right predictions on ``train``, ``val`` and ``test``; of the executed BitGraph
        where there is one.
    float_accuracy : dict of str to float
        The same for the float network of that seed: the first gap is their difference.
    average_widths : AverageWidths or None
        None for a float network.
    framework_agreement : float or None
        Share of nodes for which training's own fake quantization (float32) and the BitGraph
        (float64) predict the same class.
    seconds : float
        Of training the network, without its float sibling.
    graph : BitGraph or None
    """

    data: str
    tier: str
    method: str
    seed: int
    recipe: Recipe
    epoch: int
    accuracy: dict[str, float]
    float_accuracy: dict[str, float]
    average_widths: AverageWidths | None
    framework_agreement: float | None
    seconds: float
    graph: BitGraph | None

    def figures(self) -> dict[str, Any]:
        """Return everything but the graph, for JSON."""
        figures = {name: value for name, value in vars(self).items() if name != "graph"}
        widths = None if self.average_widths is None else asdict(self.average_widths)
        return {**figures, "recipe": asdict(self.recipe), "average_widths": widths}


def quantize(
    data: GraphData | str | Path,
    method: str = "a2q",
    seed: int = 0,
    out: Path | None = None,
    recipe: Recipe | None = None,
    progress: bool = False,
    with_float: bool = True,
) -> QuantizeResult:
    """Train a two-layer GCN and, with ``a2q``, export it as a BitGraph.

    Parameters
    ----------
    data : GraphData, str or Path
        A data set, or what `quant.gnn.datasets.load` finds.
    method : {"a2q", "fp32"}
    seed : int
        Of weights and dropout; same seed, same BitGraph.
    out : Path, optional
        Where the BitGraph is written.
    recipe : Recipe, optional
        By default the one that is written down for the data set.
    progress : bool
        Show a bar on stderr.
    with_float : bool
        Also train the float network of that seed, for the first gap.

    Raises
    ------
    ValueError
        If `method` is unknown, or `out` is given for a float network.
    ImportError
        If PyTorch is not installed.
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, not {method!r}")
    if method == "fp32" and out is not None:
        raise ValueError("out must not be given with method fp32: a float network has no codes")
    data = data if isinstance(data, GraphData) else load(data)
    quantized = method == "a2q"
    recipe = recipe or (recipe_for(data) if quantized else FLOAT_RECIPE)
    start = time.perf_counter()
    trained = _train(data, recipe, seed, quantized, progress)
    seconds = time.perf_counter() - start
    graph, logits = None, trained.logits
    if quantized:
        graph = export(data, trained, _metadata(data, recipe, seed))
        logits = np.asarray(execute(graph)[graph.outputs[0]])
        if out is not None:
            save(graph, out)
    float_logits = trained.logits
    if quantized and with_float:
        float_logits = _train(data, FLOAT_RECIPE, seed, False, progress).logits
    same = logits.argmax(1) == trained.logits.argmax(1)
    return QuantizeResult(
        data=data.name,
        tier=data.tier.value,
        method=method,
        seed=seed,
        recipe=recipe,
        epoch=trained.epoch,
        accuracy=accuracies(data, logits),
        float_accuracy=accuracies(data, float_logits) if with_float or not quantized else {},
        average_widths=average_widths(trained.layers) if quantized else None,
        framework_agreement=float(same.mean()) if quantized else None,
        seconds=seconds,
        graph=graph,
    )


def accuracies(data: GraphData, logits: np.ndarray) -> dict[str, float]:
    """Compute the share of right predictions in each part of the split; ties go to the lowest."""
    right = logits.argmax(1) == data.labels
    parts = {"train": data.train_idx, "val": data.val_idx, "test": data.test_idx}
    return {name: float(right[index].mean()) for name, index in parts.items()}


def _metadata(data: GraphData, recipe: Recipe, seed: int) -> dict[str, str]:
    return {
        "data": data.name,
        "tier": data.tier.value,
        "provenance": data.provenance,
        "method": "a2q",
        "seed": str(seed),
        "recipe": json.dumps(asdict(recipe), sort_keys=True),
    }


def _train(
    data: GraphData, recipe: Recipe, seed: int, quantized: bool, progress: bool
) -> TrainedGcn:
    try:
        from .train_gcn import train
    except ModuleNotFoundError as error:
        raise ImportError("training needs PyTorch: pip install 'bitwright[train]'") from error
    title = f"{data.name} {'A2Q' if quantized else 'FP32'} seed {seed}"
    with _bar(title, recipe.epochs, progress) as advance:
        return train(data, recipe, seed, quantized, on_epoch=advance)


@contextmanager
def _bar(title: str, epochs: int, shown: bool) -> Iterator[Any]:
    """Show a progress bar on stderr; gives the function that training calls after each epoch."""
    if not shown:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    text = TextColumn("val {task.fields[accuracy]:.1%}{task.fields[bits]}")
    columns = TextColumn("{task.description}"), BarColumn(), text, TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=epochs, accuracy=0.0, bits="")

        def advance(entry: dict[str, float]) -> None:
            # A float network has no widths.
            bits = f" at {entry['bits']:.2f} bits" if entry["bits"] else ""
            bar.update(task, advance=1, accuracy=entry["accuracy"], bits=bits)

        yield advance
