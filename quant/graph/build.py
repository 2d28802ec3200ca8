"""Makes the BitGraph of a graph convolutional network from plain arrays.

A layer is, in this order: features quantized
per graph node, times weights quantized per column, times c of the source, quantized to 4 bits per
column, summed over the edges, times c of the target, plus bias, and ReLU unless it is the last.
`c = degree ** -0.5`; the degree counts edges that end in a node, duplicates as often as they stand,
and the self loop if the model has one. A node of degree 0 has c = 0.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from .model import BitGraph, Node, Tensor
from .parts import Attribute
from .quantizer import dimensions

__all__ = ["LayerParameters", "gcn_graph", "normalization"]

CODE_WIDTH = 4
"""Bits of weights and of the operand of aggregation, sign included: codes -7 to 7."""


Features = np.ndarray | sparse.csr_array | sparse.csr_matrix
"""A dense or a sparse matrix."""


@dataclass(frozen=True, eq=False)
class LayerParameters:
    """What one layer has learned. N graph nodes, K input and C output features.

    Parameters
    ----------
    scale : ndarray [N] or (), float
        Step of each graph node's input features.
    magnitude_width : ndarray [N] or (), int
        Bits of each graph node's feature codes without sign: 0 to 8, or 0 to 7 if signed.
    signed : bool
        Whether the feature codes have a sign bit on top.
    weight_codes : ndarray [K, C], int8
        -7 to 7.
    weight_scale, xw_scale : ndarray [C], float
        Step of the weights, and of the 4-bit operand of aggregation, per column.
    bias : ndarray [C], float
        Added after aggregation.
    """

    scale: np.ndarray
    magnitude_width: np.ndarray
    signed: bool
    weight_codes: np.ndarray
    weight_scale: np.ndarray
    xw_scale: np.ndarray
    bias: np.ndarray


def normalization(edge_index: np.ndarray, nodes: int, self_loops: bool) -> np.ndarray:
    """Compute `c = degree ** -0.5` of each graph node, 0 where the degree is 0.

    Parameters
    ----------
    edge_index : ndarray [2, E], int
    nodes : int
    self_loops : bool
        Whether each graph node has an edge to itself on top.

    Returns
    -------
    ndarray [nodes], float64

    >>> normalization(np.array([[0, 1, 1], [2, 2, 2]]), 3, self_loops=True)
    array([1. , 1. , 0.5])
    """
    degree = np.bincount(edge_index[1], minlength=nodes)[:nodes] + int(self_loops)
    return np.where(degree > 0, 1.0 / np.sqrt(np.maximum(degree, 1)), 0.0)


class _Builder:
    """Collects nodes and tensors; all real tensors have one dtype."""

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype
        self.nodes: list[Node] = []
        self.tensors: list[Tensor] = []

    def real(self, name: str, values: np.ndarray) -> str:
        """Add a constant of real numbers."""
        return self.constant(name, np.asarray(values).astype(self.dtype))

    def constant(self, name: str, values: np.ndarray) -> str:
        """Add a constant as it is."""
        self.tensors.append(Tensor.constant(name, values))
        return name

    def node(
        self,
        op: str,
        output: str,
        shape: tuple[int, ...],
        inputs: Sequence[str],
        **attributes: Attribute,
    ) -> str:
        """Add a node that makes the tensor `output`, and return that name."""
        self.nodes.append(Node(op, f"{output}/{op}", tuple(inputs), (output,), attributes))
        self.tensors.append(Tensor(output, shape, self.dtype))
        return output

    def quant(
        self,
        x: str,
        output: str,
        shape: tuple[int, ...],
        scale: np.ndarray,
        width: np.ndarray,
        signed: bool,
    ) -> str:
        """Add a `Quant` node without zero point that rounds half away from zero."""
        parts = (
            self.real(f"{output}.scale", scale),
            self.real(f"{output}.zero_point", np.zeros(())),
            self.real(f"{output}.width", width),
        )
        return self.node(
            "Quant",
            output,
            shape,
            (x, *parts),
            signed=int(signed),
            narrow=int(signed),
            rounding_mode="HALF_UP",
        )


def gcn_graph(
    name: str,
    features: Features | None,
    edge_index: np.ndarray,
    layers: Sequence[LayerParameters],
    *,
    self_loops: bool = True,
    nodes: int | None = None,
    constants: Mapping[str, np.ndarray] | None = None,
    metadata: Mapping[str, str] | None = None,
    dtype: str = "float32",
) -> BitGraph:
    """Make the BitGraph of a GCN.

    Parameters
    ----------
    name : str
    features : array [N, K], sparse or dense, or None
        None makes them an input of the graph.
    edge_index : ndarray [2, E], int
        Row 0 the source, row 1 the target of each edge.
    layers : sequence of LayerParameters
    self_loops : bool
        Whether each graph node has an edge to itself, on top of those in `edge_index`.
    nodes : int or None
        N, needed where `features` is None.
    constants : mapping of str to ndarray, optional
        What else travels inside: "labels", "train_idx", "val_idx", "test_idx".
    metadata : mapping of str to str, optional
    dtype : {"float32", "float64"}
        Of the real numbers. QONNX's executor wants float32.

    Returns
    -------
    BitGraph
        With the output "logits" [N, classes].

    Raises
    ------
    ValueError
        If shapes do not agree or a value is out of range.
    """
    if features is None and nodes is None:
        raise ValueError("nodes must be given where features are an input of the graph")
    if not layers:
        raise ValueError("layers must have at least one layer, not 0")
    matrix = features if isinstance(features, np.ndarray | None) else sparse.csr_array(features)
    rows = nodes or 0 if matrix is None else dimensions(matrix)[0]
    builder = _Builder(dtype)
    x = _add_features(builder, matrix, rows, layers[0].weight_codes.shape[0])
    inputs = () if features is not None else (x,)
    builder.constant("edge_index", np.asarray(edge_index, np.int64))
    in_range = edge_index[:, ((edge_index >= 0) & (edge_index < rows)).all(axis=0)]
    c = builder.real("c", normalization(in_range, rows, self_loops)[:, None])
    for index, layer in enumerate(layers):
        x = _add_layer(builder, layer, f"layer{index}", x, c, rows, self_loops)
        if index < len(layers) - 1:
            columns = layer.weight_codes.shape[1]
            if not layers[index + 1].signed:
                x = builder.node("Relu", f"layer{index}/relu", (rows, columns), (x,))
    for key, values in (constants or {}).items():
        builder.constant(key, np.asarray(values))
    return BitGraph(
        name, tuple(builder.nodes), tuple(builder.tensors), inputs, (x,), dict(metadata or {})
    )


def _add_features(
    builder: _Builder,
    features: np.ndarray | sparse.csr_array | None,
    rows: int,
    columns: int,
) -> str:
    """Add the features as an input, a dense constant, or stored rows."""
    if features is None:
        builder.tensors.append(Tensor("features", (rows, columns), builder.dtype))
        return "features"
    if isinstance(features, np.ndarray):
        return builder.real("features", features)
    rows_stored = features.copy()
    columns = dimensions(features)[1]
    rows_stored.sum_duplicates()
    rows_stored.eliminate_zeros()
    narrow = "uint16" if columns <= 1 << 16 else "int32"
    parts = [
        builder.constant("features.indptr", rows_stored.indptr.astype("int32")),
        builder.constant("features.indices", rows_stored.indices.astype(narrow)),
    ]
    if (rows_stored.data != 1).any():
        parts.append(builder.real("features.values", rows_stored.data))
    return builder.node("CsrToDense", "features", (rows, columns), parts, columns=columns)


def _column(values: np.ndarray) -> np.ndarray:
    """Shape [N] as [N, 1]; a scalar stays one."""
    values = np.asarray(values)
    return values[:, None] if values.ndim else values


def _add_layer(
    builder: _Builder,
    layer: LayerParameters,
    prefix: str,
    x: str,
    c: str,
    rows: int,
    self_loops: bool,
) -> str:
    """Add the nodes of one layer up to its bias."""
    codes = np.asarray(layer.weight_codes)
    _check_codes(codes, prefix)
    reduction, columns = codes.shape
    wide = (rows, columns)
    width = _column(np.asarray(layer.magnitude_width) + int(layer.signed))
    shape = (rows, reduction)
    x = builder.quant(x, f"{prefix}/x", shape, _column(layer.scale), width, layer.signed)
    scale = np.asarray(layer.weight_scale).astype(builder.dtype)[None, :]
    weight = builder.real(f"{prefix}/weight", codes * scale)
    four = np.array(CODE_WIDTH)
    weight = builder.quant(weight, f"{prefix}/w", codes.shape, scale, four, True)
    x = builder.node("MatMul", f"{prefix}/xw", wide, (x, weight))
    x = builder.node("Mul", f"{prefix}/xw_c", wide, (x, c))
    x = builder.quant(x, f"{prefix}/q", wide, np.asarray(layer.xw_scale)[None, :], four, True)
    x = builder.node(
        "Aggregate",
        f"{prefix}/acc",
        wide,
        (x, "edge_index"),
        reduce="sum",
        self_loops=int(self_loops),
    )
    x = builder.node("Mul", f"{prefix}/acc_c", wide, (x, c))
    bias = builder.real(f"{prefix}/bias", np.asarray(layer.bias)[None, :])
    return builder.node("Add", f"{prefix}/z", wide, (x, bias))


def _check_codes(codes: np.ndarray, prefix: str) -> None:
    """Refuse weight codes that do not fit their width."""
    limit = (1 << (CODE_WIDTH - 1)) - 1
    bad = np.argwhere(np.abs(codes.astype(np.int64)) > limit)
    if len(bad):
        k, j = bad[0].tolist()
        raise ValueError(
            f"{prefix}: weight code [{k}, {j}] must be -{limit} to {limit}, not {codes[k, j]}"
        )
