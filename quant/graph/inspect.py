"""Says what a BitGraph holds: operators, shapes, bit widths, memory and average bits."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass

import numpy as np

from .model import BitGraph, Node

__all__ = ["QuantizedTensor", "Summary", "inspect"]


@dataclass(frozen=True)
class QuantizedTensor:
    """The codes that one `Quant` node makes.

    Parameters
    ----------
    name : str
    role : str
        "feature" and "weight" (first and second operand of a MatMul), "aggregate" (summed over
        edges) or "other".
    shape : tuple of int
    signed : bool
    widths : dict of int to int
        Histogram of the widths, sign included: one entry per tensor, channel or graph node.
    scales : int
        Numbers that its scale takes.
    code_bits : int
        Bits of all codes, zeros included.
    average_bits : float
        Mean over the codes of the bits without sign.
    """

    name: str
    role: str
    shape: tuple[int, ...]
    signed: bool
    widths: dict[int, int]
    scales: int
    code_bits: int
    average_bits: float


@dataclass(frozen=True)
class Summary:
    """What `bitwright inspect` prints.

    Parameters
    ----------
    name, hash : str
    metadata : dict of str to str
    operators : dict of str to int
        How often each operator stands in the graph.
    inputs, outputs, constants : dict of str to tuple of int
        Shapes by name.
    graph_nodes, edges : int or None
        Of the data graph; None if nothing aggregates. Self loops that the model adds are not edges.
    quantized : tuple of QuantizedTensor
    code_bits : dict of str to int
        Memory of the codes by role.
    average_bits : float or None
        Bits of feature codes without sign: mean over graph nodes, then over the layers.
    weighted_average_bits : float or None
        The same mean over all feature codes: each layer counts by its number of features.
    """

    name: str
    hash: str
    metadata: dict[str, str]
    operators: dict[str, int]
    inputs: dict[str, tuple[int, ...]]
    outputs: dict[str, tuple[int, ...]]
    constants: dict[str, tuple[int, ...]]
    graph_nodes: int | None
    edges: int | None
    quantized: tuple[QuantizedTensor, ...]
    code_bits: dict[str, int]
    average_bits: float | None
    weighted_average_bits: float | None

    def as_dict(self) -> dict[str, object]:
        """Return the summary as JSON can hold it."""
        return asdict(self)


def inspect(graph: BitGraph) -> Summary:
    """Summarize a BitGraph."""
    quantized = tuple(_quantized(graph, node) for node in graph.nodes if node.op == "Quant")
    features = [tensor for tensor in quantized if tensor.role == "feature"]
    averages = np.array([tensor.average_bits for tensor in features])
    sizes = np.array([np.prod(tensor.shape) for tensor in features])
    code_bits: Counter[str] = Counter()
    for tensor in quantized:
        code_bits[tensor.role] += tensor.code_bits
    aggregate = next((node for node in graph.nodes if node.op == "Aggregate"), None)
    return Summary(
        name=graph.name,
        hash=graph.hash,
        metadata=dict(graph.metadata),
        operators=dict(Counter(node.op for node in graph.nodes)),
        inputs=_shapes(graph, graph.inputs),
        outputs=_shapes(graph, graph.outputs),
        constants=_shapes(graph, (t.name for t in graph.tensors if t.data is not None)),
        graph_nodes=graph.tensor(aggregate.inputs[0]).shape[0] if aggregate else None,
        edges=graph.tensor(aggregate.inputs[1]).shape[1] if aggregate else None,
        quantized=quantized,
        code_bits=dict(code_bits),
        average_bits=float(averages.mean()) if features else None,
        weighted_average_bits=float(np.average(averages, weights=sizes)) if features else None,
    )


def _shapes(graph: BitGraph, names: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Return the shapes of tensors by name."""
    return {name: graph.tensor(name).shape for name in names}


def _quantized(graph: BitGraph, node: Node) -> QuantizedTensor:
    """Describe the result of a `Quant` node."""
    name = node.outputs[0]
    quantizer = graph.quantizer(name)
    assert quantizer is not None
    shape = graph.tensor(name).shape
    return QuantizedTensor(
        name=name,
        role=_role(graph, name),
        shape=shape,
        signed=quantizer.signed,
        widths=dict(sorted(Counter(quantizer.width.ravel().tolist()).items())),
        scales=quantizer.scale.size,
        code_bits=int(np.broadcast_to(quantizer.width, shape).sum()),
        average_bits=float(np.broadcast_to(quantizer.magnitude_width(), shape).mean()),
    )


def _role(graph: BitGraph, name: str) -> str:
    """Say what the first node that takes a tensor does with it."""
    for node in graph.users(name)[:1]:
        if node.op == "MatMul":
            return "feature" if node.inputs[0] == name else "weight"
        if node.op == "Aggregate":
            return "aggregate"
    return "other"
