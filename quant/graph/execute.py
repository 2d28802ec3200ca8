"""Executes a BitGraph on real numbers (float64): a float model of the same order."""

from collections.abc import Callable, Mapping
from typing import Any, Literal, overload

import numpy as np
from scipy import sparse

from .model import BitGraph, Node
from .patterns import csr_of
from .quantizer import dequantize, dimensions, quantize

__all__ = ["execute"]

Value = np.ndarray | sparse.csr_array


@overload
def execute(
    graph: BitGraph,
    inputs: Mapping[str, np.ndarray] | None = None,
    *,
    every: Literal[False] = False,
) -> dict[str, np.ndarray]: ...
@overload
def execute(
    graph: BitGraph, inputs: Mapping[str, np.ndarray] | None = None, *, every: Literal[True]
) -> dict[str, Any]: ...
def execute(
    graph: BitGraph, inputs: Mapping[str, np.ndarray] | None = None, *, every: bool = False
) -> dict[str, Any]:
    """Compute the outputs of a BitGraph.

    Parameters
    ----------
    graph : BitGraph
    inputs : mapping of str to ndarray, optional
        The graph's inputs.
    every : bool
        Return every tensor by name, constants too, not the outputs only.

    Returns
    -------
    dict of str to ndarray or csr_array
        float64 where the tensor is real. Stored features stay sparse until a MatMul.

    Raises
    ------
    ValueError
        If an input is missing, unknown or of another shape.
    """
    given = dict(inputs or {})
    _check_inputs(graph, given)
    values: dict[str, Value] = {}
    for tensor in graph.tensors:
        data = given.get(tensor.name) if tensor.data is None else tensor.data
        if data is not None:
            values[tensor.name] = data.astype(np.float64) if data.dtype.kind == "f" else data
    for node in graph.nodes:
        operands = [values[name] for name in node.inputs]
        values[node.outputs[0]] = EXECUTE[node.op](graph, node, operands)
    return values if every else {name: values[name] for name in graph.outputs}


def _check_inputs(graph: BitGraph, given: Mapping[str, np.ndarray]) -> None:
    """Refuse inputs that do not fit the graph."""
    if set(given) != set(graph.inputs):
        raise ValueError(f"inputs must be {sorted(graph.inputs)}, not {sorted(given)}")
    for name, data in given.items():
        if data.shape != graph.tensor(name).shape:
            raise ValueError(
                f"input {name} must have shape {graph.tensor(name).shape}, not {data.shape}"
            )


def _quant(graph: BitGraph, node: Node, operands: list[Value]) -> Value:
    quantizer = graph.quantizer(node.outputs[0])
    assert quantizer is not None
    return dequantize(quantize(operands[0], quantizer), quantizer)


def _aggregate(_graph: BitGraph, node: Node, operands: list[Value]) -> Value:
    rows, edges = operands
    nodes = dimensions(rows)[0]
    ones = np.ones(dimensions(edges)[1])
    adjacency = sparse.csr_array((ones, (edges[1], edges[0])), shape=(nodes, nodes))
    total = adjacency @ rows
    return total + rows if node.attributes["self_loops"] else total


def _relu(_graph: BitGraph, _node: Node, operands: list[Value]) -> Value:
    x = operands[0]
    if isinstance(x, sparse.csr_array):
        return sparse.csr_array((np.maximum(x.data, 0), x.indices, x.indptr), shape=x.shape)
    return np.maximum(x, 0)


EXECUTE: dict[str, Callable[[BitGraph, Node, list[Value]], Value]] = {
    "Quant": _quant,
    "MatMul": lambda _graph, _node, operands: operands[0] @ operands[1],
    "Mul": lambda _graph, _node, operands: operands[0] * operands[1],
    "Add": lambda _graph, _node, operands: operands[0] + operands[1],
    "Relu": _relu,
    "CsrToDense": lambda graph, node, _operands: csr_of(graph, node),
    "Aggregate": _aggregate,
}
