"""The layers of a BitGraph as the integers of the contract, in the order of its nodes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hw.gnn.codes import Codes
from hw.gnn.config import CODE_WIDTH_MAX, GnnConfig
from hw.gnn.multipliers import (
    AggregateFactors,
    CombineFactors,
    aggregate_factors,
    combine_factors,
)
from hw.gnn.ranges import code_psum_bound, require_at_most, require_signed, width_psum_bound
from quant.graph.model import BitGraph
from quant.graph.patterns import GcnLayer, features, layers
from quant.graph.quantizer import quantize

__all__ = ["IntegerLayer", "integer_layers"]

Q_MAX = 7
"""Largest magnitude of an aggregation operand and of a weight (s4 without -8)."""


@dataclass(frozen=True)
class IntegerLayer:
    """One layer without real numbers.

    Parameters
    ----------
    codes : Codes or None
        Input codes, known in layer 0 only.
    width : ndarray [nodes], int64
        Magnitude bits B of the input.
    signed : bool
        Whether the input codes carry a sign.
    weights : ndarray [reduction, columns], int64
    combine : CombineFactors
    aggregate : AggregateFactors
    source, destination : ndarray [edges], int64
        Edges, self loops included, duplicates as often as they stand.
    width_next : ndarray [nodes], int64
        Magnitude bits of the next layer's input; zeros in the last layer.
    signed_next : bool
    last : bool
    """

    codes: Codes | None
    width: NDArray[np.int64]
    signed: bool
    weights: NDArray[np.int64]
    combine: CombineFactors
    aggregate: AggregateFactors
    source: NDArray[np.int64]
    destination: NDArray[np.int64]
    width_next: NDArray[np.int64]
    signed_next: bool
    last: bool


def integer_layers(graph: BitGraph, config: GnnConfig) -> tuple[IntegerLayer, ...]:
    """Return the integers of every layer, each width proved by range over the graph.

    Raises
    ------
    ValueError
        If the graph is empty or a code, sum or factor does not fit its width.
    """
    chain = layers(graph)
    nodes = len(chain[0].scale)
    if not nodes:
        raise ValueError("graph must have at least one node, not 0")
    codes = quantize(features(graph), chain[0].quantizer)
    following = (*chain[1:], None)
    return tuple(
        _integer_layer(layer, chain[layer], following[layer], codes, config)
        for layer in range(len(chain))
    )


def _integer_layer(
    index: int, layer: GcnLayer, following: GcnLayer | None, codes: csr_array, config: GnnConfig
) -> IntegerLayer:
    weights, width = layer.weight_codes.astype(np.int64), layer.magnitude_width
    _check_codes(index, layer)
    first = codes if index == 0 else None
    psum = width_psum_bound(width, weights) if first is None else code_psum_bound(first, weights)
    psum_width = config.combination.psum_width
    require_signed(f"P of layer {index}", psum, psum_width, "combination.psum_width")
    loops = np.arange(len(width) if layer.self_loops else 0)
    source, destination = np.concatenate((layer.edge_index, [loops, loops]), axis=1)
    acc = Q_MAX * np.bincount(destination, minlength=len(width))
    acc_width = config.aggregation.psum_width
    require_signed(f"acc of layer {index}", acc, acc_width, "aggregation.psum_width")
    node = np.where(width > 0, layer.c_source * layer.scale, 0.0)
    column = layer.weight_scale / layer.xw_scale
    last = following is None
    width_next = np.zeros_like(width) if last else following.magnitude_width
    step = None if last else np.where(width_next > 0, following.scale, np.inf)
    return IntegerLayer(
        codes=None
        if first is None
        else Codes.from_matrix(first, width, signed=layer.signed, reduction=len(weights)),
        width=width,
        signed=layer.signed,
        weights=weights,
        combine=combine_factors(node, column, psum, index),
        aggregate=aggregate_factors(
            layer.c_destination, layer.xw_scale, layer.bias, step, acc, index
        ),
        source=source,
        destination=destination,
        width_next=width_next,
        signed_next=not last and following.signed,
        last=last,
    )


def _check_codes(index: int, layer: GcnLayer) -> None:
    limit = CODE_WIDTH_MAX - layer.signed
    kind = "signed" if layer.signed else "unsigned"
    widest = int(layer.magnitude_width.max(initial=0))
    require_at_most(f"magnitude bits of layer {index}", widest, limit, f"the {kind} limit")
    require_at_most(f"weights of layer {index}", int(np.abs(layer.weight_codes).max(initial=0)),
                    Q_MAX, "the code limit")  # fmt: skip
