"""Reads the layers of a graph convolutional network out of a BitGraph.

The operators must stand in the order of `quant.graph.build`; anything else is refused with the name
of the node and what was expected there.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from .build import CODE_WIDTH
from .model import BitGraph, Node
from .quantizer import Quantizer, Rounding, at_stored_values, quantize

__all__ = ["GcnLayer", "features", "layers"]

LAYER = ("Quant", "MatMul", "Mul", "Quant", "Aggregate", "Mul", "Add")


@dataclass(frozen=True, eq=False)
class GcnLayer:
    """One layer: N graph nodes, K input and C output features. All real numbers are float64.

    Parameters
    ----------
    name : str
        Name of the tensor of its input codes' values.
    quantizer : Quantizer
        Of the input features, its parameters as they stand in the graph.
    scale : ndarray [N]
        Step of each graph node's input features.
    magnitude_width : ndarray [N], int64
        Bits of each graph node's feature codes, without sign.
    signed : bool
        Whether feature codes have a sign.
    weight_codes : ndarray [K, C], int8
    weight_scale : ndarray [C]
    c_source : ndarray [N]
        Factor of each row before it is quantized to 4 bits.
    xw_scale : ndarray [C]
        Step of the 4-bit operand of aggregation.
    edge_index : ndarray [2, E], int64
        Sources and targets, in the order of the graph.
    self_loops : bool
        Whether each graph node has an edge to itself on top of `edge_index`.
    c_destination : ndarray [N]
        Factor of each row after aggregation.
    bias : ndarray [C]
    relu : bool
        Whether a ReLU follows.
    next_quantizer : Quantizer or None
        Of the next layer's features; None in the last layer, whose result is the logits.
    outputs : dict of str to str
        Tensor of each stage: "x", "xw", "q", "acc", "z"; for the values of `execute`.
    """

    name: str
    quantizer: Quantizer
    scale: np.ndarray
    magnitude_width: np.ndarray
    signed: bool
    weight_codes: np.ndarray
    weight_scale: np.ndarray
    c_source: np.ndarray
    xw_scale: np.ndarray
    edge_index: np.ndarray
    self_loops: bool
    c_destination: np.ndarray
    bias: np.ndarray
    relu: bool
    next_quantizer: Quantizer | None
    outputs: dict[str, str]


def layers(graph: BitGraph) -> tuple[GcnLayer, ...]:
    """Return the layers of a GCN, first layer first.

    Raises
    ------
    ValueError
        If the graph is not a chain of GCN layers, or a weight or a feature does not fit its width.
    """
    chain = _chain(graph)
    groups = _groups(graph, chain)
    quantizers = [_feature_quantizer(graph, group[0]) for group in groups]
    result = []
    for index, group in enumerate(groups):
        following = quantizers[index + 1] if index + 1 < len(groups) else None
        result.append(_layer(graph, group, quantizers[index], following))
    _check_first_codes(graph, result[0])
    return tuple(result)


def features(graph: BitGraph) -> sparse.csr_array:
    """Return the features that travel inside the graph, float64.

    Raises
    ------
    ValueError
        If they are an input of the graph.
    """
    first = _chain(graph)[0]
    if first.op == "CsrToDense":
        return csr_of(graph, first)
    source = graph.constant(first.inputs[0])
    if source is None:
        raise ValueError(f"features {first.inputs[0]} must lie inside the graph, not be an input")
    return sparse.csr_array(source.astype(np.float64))


def csr_of(graph: BitGraph, node: Node) -> sparse.csr_array:
    """Return the matrix of a `CsrToDense` node, float64."""
    indptr, indices = (graph.tensor(name).values().astype(np.int64) for name in node.inputs[:2])
    if len(node.inputs) > 2:
        values = graph.tensor(node.inputs[2]).values().astype(np.float64)
    else:
        values = np.ones(len(indices))
    return sparse.csr_array((values, indices, indptr), shape=graph.tensor(node.outputs[0]).shape)


def _data_input(graph: BitGraph, node: Node) -> str:
    """Return the input that the chain runs through: for Mul and Add the one that is computed."""
    if node.op not in ("Mul", "Add"):
        return node.inputs[0]
    computed = [name for name in node.inputs if graph.constant(name) is None]
    if len(computed) != 1:
        raise ValueError(f"{node}: one input must be a constant and the other one computed")
    return computed[0]


def _chain(graph: BitGraph) -> list[Node]:
    """Return the nodes from the features to the output."""
    if len(graph.outputs) != 1:
        raise ValueError(f"graph {graph.name} must have 1 output, not {len(graph.outputs)}")
    chain = []
    node = graph.maker(graph.outputs[0])
    while node is not None:
        chain.append(node)
        node = None if node.op == "CsrToDense" else graph.maker(_data_input(graph, node))
    chain.reverse()
    used = {node.name for node in chain}
    used |= {
        maker.name
        for node in chain
        if node.op == "MatMul" and (maker := graph.maker(node.inputs[1])) is not None
    }
    for node in graph.nodes:
        if node.name not in used:
            raise ValueError(f"{node} must be part of the chain of layers that ends in the output")
    return chain


def _groups(graph: BitGraph, chain: list[Node]) -> list[list[Node]]:
    """Cut the chain into layers; a layer's ReLU is its eighth node."""
    todo = chain[1:] if chain[0].op == "CsrToDense" else list(chain)
    groups = []
    while todo or not groups:
        group = todo[: len(LAYER)]
        for position, op in enumerate(LAYER):
            if position >= len(group):
                raise ValueError(
                    f"graph {graph.name} must go on with {op} after {chain[-1]}, not end there"
                )
            if group[position].op != op:
                raise ValueError(f"{group[position]} must be {op}: {position + 1} of a GCN layer")
        todo = todo[len(LAYER) :]
        if todo and todo[0].op == "Relu":
            group.append(todo.pop(0))
            if not todo:
                raise ValueError(f"{group[-1]} must not stand after the last layer")
        groups.append(group)
    return groups


def _feature_quantizer(graph: BitGraph, node: Node) -> Quantizer:
    """Return the quantizer of features: per graph node or per tensor."""
    quantizer = _plain_quantizer(graph, node)
    rows = graph.tensor(node.outputs[0]).shape[0]
    for part, values in (("scale", quantizer.scale), ("width", quantizer.width)):
        if values.size != 1 and values.shape != (rows, 1):
            raise ValueError(
                f"{node}: {part} must be one number or [{rows}, 1], not {list(values.shape)}"
            )
    return quantizer


def _plain_quantizer(graph: BitGraph, node: Node) -> Quantizer:
    """Return a quantizer without zero point, rounding half away, narrow if it is signed."""
    quantizer = graph.quantizer(node.outputs[0])
    assert quantizer is not None
    if quantizer.zero_point.any():
        raise ValueError(f"{node}: zero_point must be 0")
    if quantizer.rounding != Rounding.HALF_UP:
        raise ValueError(f"{node}: rounding_mode must be HALF_UP, not {quantizer.rounding.value}")
    if quantizer.narrow != quantizer.signed:
        expected = "narrow" if quantizer.signed else "not narrow"
        kind = "signed" if quantizer.signed else "unsigned"
        raise ValueError(f"{node} must be {expected}, since it is {kind}")
    return quantizer


def _column_quantizer(graph: BitGraph, node: Node) -> np.ndarray:
    """Return the scale [C] of a 4-bit quantizer per column."""
    quantizer = _plain_quantizer(graph, node)
    if not quantizer.signed or quantizer.width.size != 1 or quantizer.width.item() != CODE_WIDTH:
        raise ValueError(f"{node} must be signed and of width {CODE_WIDTH}")
    columns = graph.tensor(node.outputs[0]).shape[1]
    if quantizer.scale.size != 1 and quantizer.scale.shape != (1, columns):
        raise ValueError(
            f"{node}: scale must be one number or [1, {columns}], not {list(quantizer.scale.shape)}"
        )
    return np.broadcast_to(quantizer.scale, (1, columns))[0].copy()


def _weights(graph: BitGraph, matmul: Node) -> tuple[np.ndarray, np.ndarray]:
    """Return codes and scale of the weights of a MatMul."""
    node = graph.maker(matmul.inputs[1])
    if node is None or node.op != "Quant":
        raise ValueError(f"{matmul}: weights {matmul.inputs[1]} must come from a Quant node")
    scale = _column_quantizer(graph, node)
    values = graph.tensor(node.inputs[0]).data
    if values is None:
        raise ValueError(f"{node}: weights {node.inputs[0]} must be a constant")
    limit = (1 << (CODE_WIDTH - 1)) - 1
    bad = np.argwhere(np.abs(values / scale) >= limit + 0.5)
    if len(bad):
        k, j = bad[0].tolist()
        raise ValueError(
            f"{node}: weight [{k}, {j}] of {node.inputs[0]} must have a code from -{limit} to "
            f"{limit}, not {values[k, j] / scale[j]:.1f}"
        )
    quantizer = graph.quantizer(node.outputs[0])
    assert quantizer is not None
    return quantize(values, quantizer).astype(np.int8), scale


def _factor(graph: BitGraph, node: Node, data: str, axis: int) -> np.ndarray:
    """Return the constant of a Mul (axis 0: per graph node) or an Add (axis 1: per column)."""
    name = next(name for name in node.inputs if name != data)
    values = graph.tensor(name).values().astype(np.float64)
    shape = graph.tensor(node.outputs[0]).shape
    expected = (shape[0], 1) if axis == 0 else (1, shape[1])
    if values.size != 1 and values.shape != expected:
        raise ValueError(f"{node}: {name} must be {list(expected)}, not {list(values.shape)}")
    return np.broadcast_to(values, expected).ravel().copy()


def _layer(
    graph: BitGraph, group: list[Node], quantizer: Quantizer, following: Quantizer | None
) -> GcnLayer:
    """Read one layer."""
    x, matmul, mul, q, aggregate, mul_after, add = group[: len(LAYER)]
    relu = len(group) > len(LAYER)
    if relu and following is not None and following.signed:
        raise ValueError(f"{group[-1]} must be followed by an unsigned Quant, not a signed one")
    codes, weight_scale = _weights(graph, matmul)
    rows = graph.tensor(x.outputs[0]).shape[0]
    stages = {"x": x, "xw": matmul, "q": q, "acc": aggregate, "z": add}
    return GcnLayer(
        name=x.outputs[0],
        quantizer=quantizer,
        scale=np.broadcast_to(quantizer.scale, (rows, 1)).ravel().copy(),
        magnitude_width=np.broadcast_to(quantizer.magnitude_width(), (rows, 1)).ravel().copy(),
        signed=quantizer.signed,
        weight_codes=codes,
        weight_scale=weight_scale,
        c_source=_factor(graph, mul, matmul.outputs[0], 0),
        xw_scale=_column_quantizer(graph, q),
        edge_index=graph.tensor(aggregate.inputs[1]).values().astype(np.int64),
        self_loops=bool(aggregate.attributes["self_loops"]),
        c_destination=_factor(graph, mul_after, aggregate.outputs[0], 0),
        bias=_factor(graph, add, mul_after.outputs[0], 1),
        relu=relu,
        next_quantizer=following,
        outputs={stage: node.outputs[0] for stage, node in stages.items()},
    )


def _check_first_codes(graph: BitGraph, layer: GcnLayer) -> None:
    """Refuse inner features that are codes already and do not fit their width.

    A scale of 1 says that a graph node's features are codes; clipping them would lose data in
    silence. A width of 0 drops a graph node's features on purpose. A feature below 0 has no
    unsigned code at any scale.
    """
    source = _chain(graph)[0]
    if source.op != "CsrToDense" and graph.constant(source.inputs[0]) is None:
        return
    x = features(graph)
    low, high = (at_stored_values(limit, x) for limit in layer.quantizer.range())
    scale = at_stored_values(layer.quantizer.scale, x)
    bad = (high > 0) & (scale == 1) & ((x.data < low) | (x.data > high))
    bad |= (x.data < 0) & (not layer.signed)
    if bad.any():
        at = int(np.argmax(bad))
        row = int(np.searchsorted(x.indptr, at, side="right")) - 1
        raise ValueError(
            f"feature {x.indices[at]} of graph node {row} must be a code from {low[at]} to "
            f"{high[at]} (scale {scale[at]:g}), not {x.data[at]:g}"
        )
