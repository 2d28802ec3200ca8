"""The layers of a BitGraph as the integers of the contract, in the order of its nodes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hw.gnn.codes import Codes
from hw.gnn.config import GnnConfig
from hw.gnn.multipliers import (
    AggregateFactors,
    CombineFactors,
    aggregate_factors,
    combine_factors,
)
from hw.gnn.ranges import code_psum_bound, require_signed, width_psum_bound
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
        If the graph is no GCN, or a code, sum or factor does not fit its width.
    """
    chain = layers(graph)
    first, known = chain[0], quantize(features(graph), chain[0].quantizer)
    codes = Codes.from_matrix(
        known, first.magnitude_width, signed=first.signed, reduction=len(first.weight_codes)
    )
    following = (*chain[1:], None)
    return tuple(
        _integer_layer(index, layer, following[index], None if index else codes, config)
        for index, layer in enumerate(chain)
    )


def _edges(layer: GcnLayer) -> NDArray[np.int64]:
    """Return sources and destinations [2, edges] with the self loops of the model."""
    loops = np.arange(len(layer.scale) if layer.self_loops else 0)
    return np.concatenate((layer.edge_index, [loops, loops]), axis=1)


def _psum_bound(
    index: int, layer: GcnLayer, codes: Codes | None, config: GnnConfig
) -> NDArray[np.int64]:
    """Return the largest |P| of each node, proved to fit."""
    weights = layer.weight_codes.astype(np.int64)
    if codes is None:
        bound = width_psum_bound(layer.magnitude_width, weights)
    else:
        bound = code_psum_bound(codes, weights)
    psum_width = config.combination.psum_width
    require_signed(f"P of layer {index}", bound, psum_width, "combination.psum_width")
    return bound


def _acc_bound(
    index: int, layer: GcnLayer, destination: NDArray[np.int64], config: GnnConfig
) -> NDArray[np.int64]:
    """Return the largest |acc| of each node, proved to fit."""
    bound = Q_MAX * np.bincount(destination, minlength=len(layer.scale))
    psum_width = config.aggregation.psum_width
    require_signed(f"acc of layer {index}", bound, psum_width, "aggregation.psum_width")
    return bound


def _integer_layer(
    index: int,
    layer: GcnLayer,
    following: GcnLayer | None,
    codes: Codes | None,
    config: GnnConfig,
) -> IntegerLayer:
    width = layer.magnitude_width
    psum = _psum_bound(index, layer, codes, config)
    source, destination = _edges(layer)
    acc = _acc_bound(index, layer, destination, config)
    node = np.where(width > 0, layer.c_source * layer.scale, 0.0)
    column = layer.weight_scale / layer.xw_scale
    if following is None:
        width_next, step = np.zeros_like(width), None
    else:
        width_next = following.magnitude_width
        step = np.where(width_next > 0, following.scale, np.inf)
    return IntegerLayer(
        codes=codes,
        width=width,
        signed=layer.signed,
        weights=layer.weight_codes.astype(np.int64),
        combine=combine_factors(node, column, psum, index),
        aggregate=aggregate_factors(
            layer.c_destination, layer.xw_scale, layer.bias, step, acc, index
        ),
        source=source,
        destination=destination,
        width_next=width_next,
        signed_next=following is not None and following.signed,
        last=following is None,
    )
