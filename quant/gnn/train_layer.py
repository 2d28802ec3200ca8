"""One graph convolution with A2Q's quantizers, as a PyTorch module."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import nn

from .graph_data import GraphData
from .train_quantizers import (
    COLUMN_WIDTH,
    MIN_STEP,
    fake_quantize,
    local_quantize,
    rounded_width,
)
from .trained import TrainedLayer

__all__ = ["GcnLayer", "SparseFeatures", "SparseProduct", "features_for"]

MAX_WIDTH = 8
"""Largest magnitude width B, and most bits of a signed code."""

Keep = Callable[[torch.Tensor], torch.Tensor]


class SparseProduct(torch.autograd.Function):
    """M @ x for a constant SciPy matrix M: one thread, one order of addition."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, matrix: sp.csr_array) -> torch.Tensor:
        ctx.matrix = matrix
        return torch.from_numpy(matrix @ x.detach().numpy())

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        return torch.from_numpy(ctx.matrix.T @ gradients[0].numpy()), None


class SparseFeatures:
    """Input features: stored values, their row, and the shape."""

    def __init__(self, matrix: sp.csr_array) -> None:
        self.matrix = matrix
        self.values = torch.from_numpy(matrix.data)
        self.rows = torch.from_numpy(
            np.repeat(np.arange(matrix.indptr.size - 1), np.diff(matrix.indptr))
        )

    def product(self, values: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        """Multiply the matrix, with other `values` in the same places, by `weight`."""
        parts = values.detach().numpy(), self.matrix.indices, self.matrix.indptr
        return SparseProduct.apply(weight, sp.csr_array(parts, shape=self.matrix.shape))


def features_for(data: GraphData) -> SparseFeatures:
    """Return the features of a data set as training reads them."""
    return SparseFeatures(data.features)


class GcnLayer(nn.Module):
    """Quantize the input per node, multiply, quantize per column, aggregate.

    Parameters
    ----------
    weight : Tensor [reduction, columns]
        First values.
    propagate : csr_array [nodes, nodes]
        A + I.
    factor : Tensor [nodes, 1]
        d^-1/2 of each node.
    order : str
        "contract" or "release", see `Gcn`.
    quantized : bool
        Whether weights and XW are quantized.
    learned : bool
        Whether the input has a step and a width per node (a 0/1 input needs none).
    signed : bool
        Whether the input has negative values, which cost one bit of the largest width.
    """

    def __init__(
        self,
        weight: torch.Tensor,
        propagate: sp.csr_array,
        factor: torch.Tensor,
        order: str,
        quantized: bool,
        learned: bool,
        signed: bool,
    ) -> None:
        super().__init__()
        self.propagate, self.factor, self.order = propagate, factor, order
        self.most = MAX_WIDTH + (not signed)
        self.weight = nn.Parameter(weight)
        self.bias = nn.Parameter(torch.zeros(1, weight.shape[1]))
        columns, nodes = (1, weight.shape[1]), (factor.shape[0], 1)
        self.weight_step = nn.Parameter(torch.ones(columns)) if quantized else None
        self.xw_step = nn.Parameter(torch.ones(columns)) if quantized else None
        self.node_step = nn.Parameter(torch.ones(nodes)) if learned else None
        self.node_width = nn.Parameter(torch.ones(nodes)) if learned else None

    def start(self, x: SparseFeatures | torch.Tensor, width: float) -> torch.Tensor:
        """Set the steps to 2 mean|x| / sqrt(m) of what they will quantize, and b to `width`."""
        if self.node_step is not None and self.node_width is not None:
            self.node_width.fill_(width)
            total = x.matrix if isinstance(x, SparseFeatures) else x.numpy()
            mean = np.asarray(abs(total).mean(1), np.float32).reshape(-1, 1)
            _set_step(self.node_step, torch.from_numpy(mean), 2 ** (round(width) - 1) - 1)
        largest = 2 ** (COLUMN_WIDTH - 1) - 1
        if self.weight_step is not None:
            _set_step(self.weight_step, self.weight.abs().mean(0, keepdim=True), largest)
        xw = self._before_quantizer(self._product(x, lambda values: values)[0])
        if self.xw_step is not None:
            _set_step(self.xw_step, xw.abs().mean(0, keepdim=True), largest)
        return self._aggregate(xw)

    def forward(
        self, x: SparseFeatures | torch.Tensor, keep: Keep
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Compute the layer's result and the sum of its local quantization errors."""
        product, error = self._product(x, keep)
        xw = self._before_quantizer(product)
        if self.xw_step is not None:
            width = torch.tensor(float(COLUMN_WIDTH))
            xw, mine = local_quantize(xw, self.xw_step, width, COLUMN_WIDTH, xw.shape[0])
            error = error + mine
        return self._aggregate(xw), error

    def magnitude_width(self) -> torch.Tensor | None:
        """Return B = [b] - 1 of each node, None if the layer does not learn it."""
        if self.node_width is None:
            return None
        return (rounded_width(self.node_width.detach(), self.most) - 1).long()

    def arrays(self) -> TrainedLayer:
        """Return copies of all parameters as they take effect."""
        width = self.magnitude_width()
        return TrainedLayer(
            weight=self.weight.detach().numpy().copy(),
            bias=self.bias.detach().numpy().ravel().copy(),
            weight_step=_step_array(self.weight_step),
            xw_step=_step_array(self.xw_step),
            node_step=_step_array(self.node_step),
            node_width=None if width is None else width.numpy().ravel().copy(),
        )

    def _product(
        self, x: SparseFeatures | torch.Tensor, keep: Keep
    ) -> tuple[torch.Tensor, torch.Tensor]:
        weight, error = self.weight, torch.zeros(())
        if self.weight_step is not None:
            width = torch.tensor(float(COLUMN_WIDTH))
            weight = fake_quantize(weight, self.weight_step, width)
        values = x.values if isinstance(x, SparseFeatures) else x
        if self.node_step is not None and self.node_width is not None:
            step, width = self.node_step, self.node_width
            if isinstance(x, SparseFeatures):
                step, width = step[x.rows, 0], width[x.rows, 0]
            group = self.weight.shape[0]
            values, error = local_quantize(values, step, width, self.most, group)
        # Dropout stands after the quantizer, so that codes are the same in training and inference.
        values = keep(values)
        if isinstance(x, SparseFeatures):
            return x.product(values, weight), error
        return values @ weight, error

    def _before_quantizer(self, product: torch.Tensor) -> torch.Tensor:
        return product * self.factor if self.order == "contract" else product + self.bias

    def _aggregate(self, xw: torch.Tensor) -> torch.Tensor:
        if self.order == "contract":
            return SparseProduct.apply(xw, self.propagate) * self.factor + self.bias
        return SparseProduct.apply(xw * self.factor, self.propagate) * self.factor


def _set_step(step: nn.Parameter, mean: torch.Tensor, largest: int) -> None:
    step.copy_((2 * mean / largest**0.5).clamp(min=10 * MIN_STEP))


def _step_array(step: nn.Parameter | None) -> np.ndarray | None:
    if step is None:
        return None
    return step.detach().abs().clamp(min=MIN_STEP).numpy().ravel().copy()
