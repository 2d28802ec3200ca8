"""Exports a trained A2Q network as a BitGraph: integer weights, steps, widths, graph and split."""

from collections.abc import Mapping

import numpy as np

from quant.graph.build import CODE_WIDTH, LayerParameters, gcn_graph
from quant.graph.model import BitGraph
from quant.rounding import half_away

from .graph_data import GraphData
from .trained import TrainedGcn, TrainedLayer

__all__ = ["export", "weight_codes"]


def export(data: GraphData, trained: TrainedGcn, metadata: Mapping[str, str]) -> BitGraph:
    """Make the BitGraph of a network that was trained with quantizers in the contract's order.

    Labels and the split travel inside as constants. A node of width 0 keeps the step 1, since its
    codes are 0 whatever the step.

    Raises
    ------
    ValueError
        If the network is a float network.
    """
    signed = bool((data.features.data < 0).any()), False
    layers = [_parameters(la, sign) for la, sign in zip(trained.layers, signed, strict=True)]
    constants = {
        "labels": data.labels.astype(np.int32),
        "train_idx": data.train_idx.astype(np.int32),
        "val_idx": data.val_idx.astype(np.int32),
        "test_idx": data.test_idx.astype(np.int32),
    }
    return gcn_graph(
        data.name,
        data.features,
        data.edge_index,
        layers,
        self_loops=True,
        constants=constants,
        metadata=metadata,
    )


def weight_codes(weight: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Round weights to codes of 4 bits, half away from zero, in float32 as training does.

    >>> weight_codes(np.float32([[0.25, -0.25, 9.0]]), np.float32([0.1, 0.1, 0.1]))
    array([[ 3, -3,  7]], dtype=int8)
    """
    largest = (1 << (CODE_WIDTH - 1)) - 1
    scaled = np.asarray(weight, np.float32) / np.asarray(step, np.float32)
    return np.clip(half_away(scaled), -largest, largest).astype(np.int8)


def _parameters(layer: TrainedLayer, signed: bool) -> LayerParameters:
    if layer.weight_step is None or layer.xw_step is None:
        raise ValueError("a BitGraph must be made of a quantized network, not of a float one")
    if layer.node_step is None or layer.node_width is None:
        scale, width = np.float32(1), np.int64(1)
    else:
        width = layer.node_width
        scale = np.where(width > 0, layer.node_step, np.float32(1))
    return LayerParameters(
        scale=np.asarray(scale),
        magnitude_width=np.asarray(width),
        signed=signed,
        weight_codes=weight_codes(layer.weight, layer.weight_step),
        weight_scale=layer.weight_step,
        xw_scale=layer.xw_step,
        bias=layer.bias,
    )
