"""Trains a two-layer GCN, in float or with A2Q's quantizers in the loop.

Everything runs in one thread and draws from one generator, so a seed gives the same network again
on the same machine and library versions.
"""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
import torch
from torch import nn
from torch.nn import functional

from .graph_data import GraphData
from .recipe import Recipe
from .train_layer import GcnLayer, features_for
from .trained import TrainedGcn

__all__ = ["Gcn", "Order", "train"]

Order = Literal["contract", "release"]
"""Where bias and normalisation stand, see `Gcn`."""

BITS_PER_KB = 8192


class Gcn(nn.Module):
    """Two graph convolutions with a ReLU between them.

    Parameters
    ----------
    data : GraphData
    recipe : Recipe
    quantized : bool
        Whether A2Q's quantizers stand in the network.
    order : {"contract", "release"}
        ``contract``: the source's factor before the 4-bit quantizer, bias after aggregation, as
        the hardware computes. ``release``: bias before the quantizer, both factors after, as
        A2Q's code does.
    generator : torch.Generator
        Source of the first weights and of dropout.
    """

    def __init__(
        self,
        data: GraphData,
        recipe: Recipe,
        quantized: bool,
        order: Order,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.dropout = recipe.dropout
        self.generator = generator
        self.features = features_for(data)
        propagate = _propagation(data)
        factor = torch.from_numpy(np.asarray(propagate.sum(1)).ravel() ** -0.5)[:, None]
        learned = (quantized and not data.binary, quantized)
        sizes = ((data.reduction, recipe.hidden), (recipe.hidden, data.classes))
        signed = bool((data.features.data < 0).any()), False
        self.layers = nn.ModuleList(
            GcnLayer(_glorot(*size, generator), propagate, factor, order, quantized, nodes, sign)
            for size, nodes, sign in zip(sizes, learned, signed, strict=True)
        )
        with torch.no_grad():
            hidden = self._layer(0).start(self.features, recipe.start_width)
            self._layer(1).start(functional.relu(hidden), recipe.start_width)

    def forward(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Compute the logits and the sum of the local quantization errors."""
        hidden, first = self._layer(0)(self.features, self._keep)
        logits, second = self._layer(1)(functional.relu(hidden), self._keep)
        return logits, first + second

    def widths(self) -> list[torch.Tensor]:
        """Return the width parameters b of all layers that learn them."""
        return [w for la in self.layers if (w := getattr(la, "node_width", None)) is not None]

    def _layer(self, index: int) -> GcnLayer:
        layer = self.layers[index]
        assert isinstance(layer, GcnLayer)
        return layer

    def _keep(self, values: torch.Tensor) -> torch.Tensor:
        """Drop values at random while training."""
        if not self.training or not self.dropout:
            return values
        kept = torch.rand(values.shape, generator=self.generator) >= self.dropout
        return values * kept / (1 - self.dropout)


def train(
    data: GraphData,
    recipe: Recipe,
    seed: int,
    quantized: bool = True,
    order: Order = "contract",
    on_epoch: Callable[[dict[str, float]], None] | None = None,
) -> TrainedGcn:
    """Train on the training nodes and return the epoch that is best on the validation nodes.

    Best is the highest validation accuracy, then the lowest validation loss, among the epochs
    whose mean hidden width is within `recipe.bits_limit`. Test labels are not read.

    Raises
    ------
    ValueError
        If no epoch reaches the limit.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return _train(data, recipe, seed, quantized, order, on_epoch)
    finally:
        torch.set_num_threads(threads)


def _train(
    data: GraphData,
    recipe: Recipe,
    seed: int,
    quantized: bool,
    order: Order,
    on_epoch: Callable[[dict[str, float]], None] | None,
) -> TrainedGcn:
    model = Gcn(data, recipe, quantized, order, torch.Generator().manual_seed(seed))
    optimizer = torch.optim.Adam(_parameter_groups(model, recipe))
    labels = torch.from_numpy(data.labels)
    train_idx, val_idx = torch.from_numpy(data.train_idx), torch.from_numpy(data.val_idx)
    best: tuple[tuple[float, float], TrainedGcn] | None = None
    history: list[dict[str, float]] = []
    for epoch in range(recipe.epochs):
        model.train()
        logits, error = model()
        loss = functional.cross_entropy(logits[train_idx], labels[train_idx])
        optimizer.zero_grad()
        (loss + error + _memory_penalty(model, recipe)).backward()
        optimizer.step()
        logits, val = _validate(model, labels, val_idx)
        history.append({"epoch": epoch, "loss": float(loss.detach()), **val})
        score = val["accuracy"], -val["val_loss"]
        if val["bits"] <= recipe.bits_limit and (best is None or score > best[0]):
            layers = tuple(model._layer(i).arrays() for i in range(2))
            best = score, TrainedGcn(layers, logits.numpy(), epoch, val["val_loss"], history)
        if on_epoch is not None:
            on_epoch(history[-1])
    if best is None:
        least = min(entry["bits"] for entry in history)
        raise ValueError(
            f"{data.name}: the mean width must come to {recipe.bits_limit} bits or less within "
            f"{recipe.epochs} epochs, not {least:.2f}"
        )
    return best[1]


def _parameter_groups(model: Gcn, recipe: Recipe) -> list[dict[str, Any]]:
    """Group the parameters by their last name; only weights and biases decay."""
    rates = {
        "weight": recipe.learning_rate,
        "bias": recipe.learning_rate,
        "node_step": recipe.node_step_rate,
        "node_width": recipe.node_width_rate,
        "weight_step": recipe.weight_step_rate,
        "xw_step": recipe.xw_step_rate,
    }
    groups = []
    for path, parameter in model.named_parameters():
        name = path.rsplit(".", 1)[-1]
        decay = recipe.weight_decay if name in ("weight", "bias") else 0.0
        groups.append({"params": [parameter], "lr": rates[name], "weight_decay": decay})
    return groups


def _memory_penalty(model: Gcn, recipe: Recipe) -> torch.Tensor:
    """Compute lambda * relu(M - target)^2; each node is charged `hidden` values, as released."""
    bits = sum((width.abs().sum() for width in model.widths()), torch.zeros(()))
    memory_kb = recipe.hidden * bits / BITS_PER_KB
    return recipe.memory_weight * functional.relu(memory_kb - recipe.memory_target_kb) ** 2


def _validate(
    model: Gcn, labels: torch.Tensor, val_idx: torch.Tensor
) -> tuple[torch.Tensor, dict[str, float]]:
    model.eval()
    with torch.no_grad():
        logits, _ = model()
    chosen, right = logits[val_idx], labels[val_idx]
    width = model._layer(1).magnitude_width()
    return logits, {
        "accuracy": float((chosen.argmax(1) == right).float().mean()),
        "val_loss": float(functional.cross_entropy(chosen, right)),
        "bits": 0.0 if width is None else float(width.float().mean()),
    }


def _propagation(data: GraphData) -> sp.csr_array:
    """Return A + I as float32; entry [v, u] counts the edges from u to v."""
    nodes = np.arange(data.nodes)
    source = np.concatenate([data.edge_index[0], nodes])
    target = np.concatenate([data.edge_index[1], nodes])
    ones = np.ones(source.size, np.float32)
    return sp.csr_array((ones, (target, source)), shape=(data.nodes, data.nodes))


def _glorot(rows: int, columns: int, generator: torch.Generator) -> torch.Tensor:
    limit = (6 / (rows + columns)) ** 0.5
    return (torch.rand(rows, columns, generator=generator) * 2 - 1) * limit
