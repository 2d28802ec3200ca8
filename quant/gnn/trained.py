"""What training hands over: plain arrays, without PyTorch."""

from dataclasses import dataclass, field

import numpy as np

__all__ = ["AverageWidths", "TrainedGcn", "TrainedLayer", "average_widths"]


@dataclass(frozen=True, eq=False)
class TrainedLayer:
    """One layer of a trained GCN, all real numbers float32.

    Parameters
    ----------
    weight : ndarray [reduction, columns]
        Real weights, before quantization.
    bias : ndarray [columns]
    weight_step, xw_step : ndarray [columns] or None
        None in a float network.
    node_step : ndarray [nodes] or None
        Steps of the input features; None where the input is 0/1, or float.
    node_width : ndarray [nodes], int64, or None
        Magnitude widths B of the input features.
    """

    weight: np.ndarray
    bias: np.ndarray
    weight_step: np.ndarray | None = None
    xw_step: np.ndarray | None = None
    node_step: np.ndarray | None = None
    node_width: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class TrainedGcn:
    """A trained network, at the epoch that the validation split selected.

    Parameters
    ----------
    layers : tuple of TrainedLayer
    logits : ndarray [nodes, classes], float32
        As the training framework computes them.
    epoch : int
        The selected epoch, 0 the first.
    val_loss : float
    history : list of dict
        Loss, validation accuracy and mean width of each epoch.
    """

    layers: tuple[TrainedLayer, ...]
    logits: np.ndarray
    epoch: int
    val_loss: float
    history: list[dict[str, float]] = field(default_factory=list)


@dataclass(frozen=True)
class AverageWidths:
    """Mean magnitude width B of a quantized network's features, counted in three ways.

    Parameters
    ----------
    hidden : float
        Mean over the nodes, averaged over all layers but the first: what A2Q reports, which
        leaves the input out.
    per_layer : tuple of float
        Mean over the nodes for each layer, the input layer included.
    weighted : float
        Mean over all features of all layers, the input layer included, so that a wide layer
        counts more.
    """

    hidden: float
    per_layer: tuple[float, ...]
    weighted: float


def average_widths(layers: tuple[TrainedLayer, ...]) -> AverageWidths:
    """Average the widths; an input without learned widths has 1 bit."""
    means = [1.0 if la.node_width is None else float(la.node_width.mean()) for la in layers]
    sizes = [la.weight.shape[0] for la in layers]
    weighted = float(np.average(means, weights=sizes))
    return AverageWidths(float(np.mean(means[1:])), tuple(means), weighted)
