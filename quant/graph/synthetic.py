"""Small seeded BitGraphs for tests: plausible scales, and the corner cases on request."""

from collections.abc import Mapping, Sequence

import numpy as np
from scipy import sparse

from .build import CODE_WIDTH, LayerParameters, gcn_graph, normalization
from .model import BitGraph
from .quantizer import MAX_WIDTH, Quantizer, dequantize, dimensions, quantize

__all__ = ["CORNERS", "random_gcn", "untrained_gcn"]

CORNERS = ("hub", "duplicates", "self_edges", "isolated", "widths")
"""Corner cases: graph node 0 joined to all others both ways; the first edges three times; self
edges in the list; the last two graph nodes without edges; width 0 at graph node 0 and the largest
width at the last one, in each layer."""


def random_gcn(
    nodes: int = 24,
    features: int = 20,
    hidden: int = 8,
    classes: int = 4,
    edges: int = 60,
    seed: int = 0,
    *,
    widths: Sequence[int] = (1, 2, 3, 4),
    input_width: int | None = 1,
    signed: bool = False,
    self_loops: bool = True,
    density: float = 0.25,
    corners: Sequence[str] = (),
) -> BitGraph:
    """Make a two-layer GCN on a random directed graph.

    Scales follow the values, so that codes spread over their range and a few saturate.

    Parameters
    ----------
    nodes, features, hidden, classes, edges : int
        Sizes; `edges` counts different edges without self edges, before the corner cases.
    seed : int
        Same arguments, same BitGraph.
    widths : sequence of int
        Magnitude widths from which each graph node's is drawn.
    input_width : int or None
        Magnitude width of the first layer's features, which are codes of scale 1 then (1: zeros and
        ones). None draws it per graph node from `widths`, and the features are real numbers.
    signed : bool
        Whether codes have a sign: of the second layer (no ReLU before it), and of real features.
    self_loops : bool
    density : float
        Share of features that are not zero.
    corners : sequence of str
        Out of `CORNERS`.

    Returns
    -------
    BitGraph
        With "labels", "train_idx", "val_idx" and "test_idx" inside.
    """
    unknown = sorted(set(corners) - set(CORNERS))
    if unknown:
        raise ValueError(f"corners must be out of {', '.join(CORNERS)}, not {unknown[0]}")
    rng = np.random.default_rng(seed)
    edge_index = _edges(rng, nodes, edges, corners)
    x = _features(rng, (nodes, features), density, input_width, signed)
    layers = _layers(
        rng, x, edge_index, (hidden, classes), widths, input_width, signed, self_loops, corners
    )
    return gcn_graph(
        f"random-{seed}",
        x,
        edge_index,
        layers,
        self_loops=self_loops,
        constants=_labels(rng, nodes, classes),
        metadata={"data": "random", "tier": "built-in"},
    )


def untrained_gcn(
    name: str,
    features: sparse.csr_array,
    edge_index: np.ndarray,
    classes: int,
    *,
    hidden: int = 16,
    seed: int = 0,
    widths: Sequence[int] = (1, 2, 3, 4),
    constants: Mapping[str, np.ndarray] | None = None,
    metadata: Mapping[str, str] | None = None,
) -> BitGraph:
    """Make a two-layer GCN with random weights and widths on a given graph of 0/1 features.

    What an engine does with it takes the time of a trained network without the training.

    Parameters
    ----------
    name : str
    features : csr_array [nodes, reduction]
        Zeros and ones.
    edge_index : ndarray [2, edges], int
    classes, hidden, seed : int
    widths : sequence of int
        Magnitude widths from which each graph node's is drawn in the second layer.
    constants, metadata : mapping, optional
        What else travels inside.
    """
    rng = np.random.default_rng(seed)
    x = sparse.csr_array(features, dtype=np.float64)
    layers = _layers(rng, x, edge_index, (hidden, classes), widths, 1, False, True, ())
    return gcn_graph(name, x, edge_index, layers, constants=constants, metadata=metadata)


def _layers(
    rng: np.random.Generator,
    x: sparse.csr_array,
    edge_index: np.ndarray,
    columns: tuple[int, int],
    widths: Sequence[int],
    input_width: int | None,
    signed: bool,
    self_loops: bool,
    corners: Sequence[str],
) -> tuple[LayerParameters, LayerParameters]:
    """Draw the parameters of two layers."""
    nodes, _ = dimensions(x)
    hops = _hops(edge_index, nodes, self_loops)
    coded = input_width is not None
    choices = widths if input_width is None else (input_width,)
    width = _widths(rng, nodes, choices, signed and not coded, corners)
    first, z = _layer(rng, x, width, signed and not coded, coded, hops, columns[0])
    z = sparse.csr_array(z if signed else np.maximum(z, 0))
    width = _widths(rng, nodes, widths, signed, corners)
    second, _ = _layer(rng, z, width, signed, False, hops, columns[1])
    return first, second


def _edges(rng: np.random.Generator, nodes: int, edges: int, corners: Sequence[str]) -> np.ndarray:
    """Draw different edges without self edges, then add the corner cases; any order."""
    pairs = nodes * (nodes - 1)
    chosen = rng.choice(pairs, min(edges, pairs), replace=False) if pairs else np.arange(0)
    source, target = chosen // max(nodes - 1, 1), chosen % max(nodes - 1, 1)
    target = target + (target >= source)
    parts = [np.stack([source, target])]
    if "duplicates" in corners:
        parts += [parts[0][:, :5]] * 2
    if "hub" in corners:
        others = np.arange(1, nodes)
        parts += [np.stack([others, 0 * others]), np.stack([0 * others, others])]
    if "self_edges" in corners:
        looped = np.array([1, 2, 2]) % nodes
        parts.append(np.stack([looped, looped]))
    edge_index = np.concatenate(parts, axis=1).astype(np.int64)
    if "isolated" in corners:
        edge_index = edge_index[:, (edge_index < nodes - 2).all(axis=0)]
    return edge_index[:, rng.permutation(edge_index.shape[1])]


def _hops(edge_index: np.ndarray, nodes: int, self_loops: bool) -> sparse.csr_array:
    """Return the normalized adjacency, targets by sources; duplicates add up."""
    ones = np.ones(edge_index.shape[1])
    adjacency = sparse.csr_array((ones, (edge_index[1], edge_index[0])), shape=(nodes, nodes))
    if self_loops:
        adjacency = adjacency + sparse.eye_array(nodes)
    c = sparse.diags_array(normalization(edge_index, nodes, self_loops))
    return sparse.csr_array(c @ adjacency @ c)


def _features(
    rng: np.random.Generator,
    shape: tuple[int, int],
    density: float,
    input_width: int | None,
    signed: bool,
) -> sparse.csr_array:
    """Draw codes 1 to 2^B - 1, or real numbers, at random places."""
    if input_width is not None:
        values = rng.integers(1, max(2, 1 << input_width), shape).astype(np.float64)
    else:
        values = rng.exponential(1.0, shape) + 0.05
        values *= rng.choice((-1, 1), shape) if signed else 1
    return sparse.csr_array(np.where(rng.random(shape) < density, values, 0))


def _widths(
    rng: np.random.Generator,
    nodes: int,
    choices: Sequence[int],
    signed: bool,
    corners: Sequence[str],
) -> np.ndarray:
    """Draw a magnitude width for each graph node."""
    width = rng.choice(np.array(choices), nodes)
    if "widths" in corners:
        width[-1] = MAX_WIDTH - int(signed)
        width[0] = 0
    return width


def _layer(
    rng: np.random.Generator,
    x: sparse.csr_array,
    width: np.ndarray,
    signed: bool,
    coded: bool,
    hops: sparse.csr_array,
    columns: int,
) -> tuple[LayerParameters, np.ndarray]:
    """Draw weights, set every scale by the values that reach it; return the result too."""
    nodes, reduction = dimensions(x)
    peak = abs(x).max(axis=1).toarray().ravel()
    peak = np.where(peak > 0, peak, 1.0) * rng.uniform(0.6, 1.1, nodes)
    scale = np.ones(nodes) if coded else peak / np.maximum((1 << width) - 1, 1)
    codes = rng.integers(-7, 8, (reduction, columns)).astype(np.int8)
    weight_scale = rng.uniform(0.02, 0.06, columns)
    quantizer = Quantizer(
        scale[:, None], (width + int(signed))[:, None], np.array(0), signed, signed
    )
    rows = dequantize(quantize(x, quantizer), quantizer) @ (codes * weight_scale)
    peak = np.abs(rows).max(axis=0)
    limit = (1 << (CODE_WIDTH - 1)) - 1
    xw_scale = np.where(peak > 0, peak, 1.0) * 0.4 / limit
    z = hops @ rows
    bias = rng.normal(0, 0.3, columns) * (z.std() + 0.01)
    layer = LayerParameters(scale, width, signed, codes, weight_scale, xw_scale, bias)
    return layer, z + bias


def _labels(rng: np.random.Generator, nodes: int, classes: int) -> dict[str, np.ndarray]:
    """Draw labels, and cut the graph nodes into three splits."""
    order = rng.permutation(nodes)
    third = -(-nodes // 3)
    return {
        "labels": rng.integers(0, classes, nodes),
        "train_idx": np.sort(order[:third]),
        "val_idx": np.sort(order[third : 2 * third]),
        "test_idx": np.sort(order[2 * third :]),
    }
