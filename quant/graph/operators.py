"""The operators that a BitGraph may hold: one table for validation, export and import.

`Quant`
    Inputs x, scale, zero point, width: QONNX's fake quantization (`quant.graph.quantizer`).
`MatMul`, `Mul`, `Add`, `Relu`
    As in ONNX, on matrices.
`CsrToDense`
    Inputs indptr, indices and, unless all values are 1, values: the matrix that they store, with
    attribute `columns`. Indices ascend in each row.
`Aggregate`
    Inputs rows [N, C] and edge_index [2, E] (row 0 the source, row 1 the target): for each graph
    node the sum of the rows of its sources; an edge counts as often as it stands. With
    `self_loops` = 1 each graph node has one edge to itself on top of those listed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .parts import Attribute, Node, Tensor
from .quantizer import Quantizer, Rounding

__all__ = ["BITWRIGHT", "OPERATORS", "QONNX", "Operator", "quantizer_of"]

QONNX = "qonnx.custom_op.general"
BITWRIGHT = "bitwright"

Inputs = Sequence[Tensor]


@dataclass(frozen=True)
class Operator:
    """What is known about one operator.

    Parameters
    ----------
    domain : str
        Domain of the operator in the ONNX file.
    inputs : (int, int)
        Least and greatest number of inputs.
    constants : tuple of int
        Inputs that must be constants.
    attributes : dict
        Name of each attribute, all of which must be there, and the values that it may have;
        no choice at all means any count.
    shape : callable
        Result shape from a node and its inputs; raises ValueError where they do not agree.
    """

    domain: str
    inputs: tuple[int, int]
    constants: tuple[int, ...]
    attributes: dict[str, tuple[Attribute, ...]]
    shape: Callable[[Node, Inputs], tuple[int, ...]]


def quantizer_of(node: Node, inputs: Inputs) -> Quantizer:
    """Return the quantizer of a `Quant` node from its input tensors."""
    scale, zero_point, width = (tensor.values() for tensor in inputs[1:])
    return Quantizer(
        scale,
        width,
        zero_point,
        bool(node.attributes["signed"]),
        bool(node.attributes["narrow"]),
        Rounding(str(node.attributes["rounding_mode"])),
    )


def _quant_shape(node: Node, inputs: Inputs) -> tuple[int, ...]:
    """Shape of x, to which the parameters must broadcast; their values are checked too."""
    x = inputs[0]
    for tensor, part in zip(inputs[1:], ("scale", "zero point", "width"), strict=True):
        if _broadcast(x.shape, tensor.shape) != x.shape:
            raise ValueError(
                f"{part} {tensor.name} {tensor.shape} must broadcast to {x.name} {x.shape}"
            )
    quantizer_of(node, inputs)
    return x.shape


def _broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the common shape of two arrays, or None."""
    try:
        return np.broadcast_shapes(a, b)
    except ValueError:
        return None


def _elementwise_shape(_node: Node, inputs: Inputs) -> tuple[int, ...]:
    """Broadcast shape of two inputs."""
    a, b = inputs
    shape = _broadcast(a.shape, b.shape)
    if shape is None:
        raise ValueError(f"{a.name} {a.shape} and {b.name} {b.shape} must broadcast")
    return shape


def _same_shape(_node: Node, inputs: Inputs) -> tuple[int, ...]:
    """Shape of the first input."""
    return inputs[0].shape


def _matmul_shape(_node: Node, inputs: Inputs) -> tuple[int, ...]:
    """Shape of the product of two matrices."""
    a, b = inputs
    if len(a.shape) != 2 or len(b.shape) != 2 or a.shape[1] != b.shape[0]:
        raise ValueError(
            f"{a.name} {a.shape} and {b.name} {b.shape} must be matrices with one inner dimension"
        )
    return a.shape[0], b.shape[1]


def _aggregate_shape(_node: Node, inputs: Inputs) -> tuple[int, ...]:
    """Shape of the rows; every edge must join two of them."""
    rows, edge_index = inputs
    edges = edge_index.values()
    if len(rows.shape) != 2 or not rows.shape[0]:
        raise ValueError(f"{rows.name} must have at least one graph node, not shape {rows.shape}")
    if edges.ndim != 2 or edges.shape[0] != 2 or edges.dtype.kind not in "iu":
        raise ValueError(
            f"{edge_index.name} must be integers [2, edges], not {edge_index.dtype} {edges.shape}"
        )
    nodes = rows.shape[0]
    bad = np.flatnonzero(((edges < 0) | (edges >= nodes)).any(axis=0))
    if len(bad):
        source, target = edges[:, bad[0]].tolist()
        raise ValueError(
            f"edge {bad[0]} of {edge_index.name} is {source} -> {target}: "
            f"graph nodes must be 0 to {nodes - 1}"
        )
    return rows.shape


def _csr_shape(node: Node, inputs: Inputs) -> tuple[int, ...]:
    """Shape of the stored matrix, after a check of its indices."""
    indptr, indices = (tensor.values().astype(np.int64) for tensor in inputs[:2])
    columns = int(node.attributes["columns"])
    if indptr.ndim != 1 or len(indptr) < 2 or indptr[0] != 0 or (np.diff(indptr) < 0).any():
        raise ValueError(f"{inputs[0].name} must ascend from 0 and name at least one row")
    for tensor in inputs[1:]:
        if tensor.shape != (indptr[-1],):
            raise ValueError(
                f"{tensor.name} must have {indptr[-1]} elements, as {inputs[0].name} says, "
                f"not shape {tensor.shape}"
            )
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    outside = (indices < 0) | (indices >= columns)
    if outside.any():
        at = int(np.argmax(outside))
        raise ValueError(
            f"index {indices[at]} in row {rows[at]} of {inputs[1].name} must be 0 to {columns - 1}"
        )
    falling = (np.diff(rows) == 0) & (np.diff(indices) <= 0)
    if falling.any():
        row = rows[int(np.argmax(falling))]
        raise ValueError(f"indices in row {row} of {inputs[1].name} must ascend")
    return len(indptr) - 1, columns


FLAG: tuple[Attribute, ...] = (0, 1)

OPERATORS = {
    "Quant": Operator(
        QONNX,
        (4, 4),
        (1, 2, 3),
        {"signed": FLAG, "narrow": FLAG, "rounding_mode": tuple(mode.value for mode in Rounding)},
        _quant_shape,
    ),
    "MatMul": Operator("", (2, 2), (), {}, _matmul_shape),
    "Mul": Operator("", (2, 2), (), {}, _elementwise_shape),
    "Add": Operator("", (2, 2), (), {}, _elementwise_shape),
    "Relu": Operator("", (1, 1), (), {}, _same_shape),
    "CsrToDense": Operator(BITWRIGHT, (2, 3), (0, 1, 2), {"columns": ()}, _csr_shape),
    "Aggregate": Operator(
        BITWRIGHT, (2, 2), (1,), {"reduce": ("sum",), "self_loops": FLAG}, _aggregate_shape
    ),
}
"""All operators by name."""
