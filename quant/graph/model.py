"""The BitGraph: a quantized network with the bit width of every value, and the graph it runs on.

It holds `Quant` nodes (QONNX's fake quantization) between real operators; each `Quant` gives its
tensor scale, zero point, signedness and bit width, one for the tensor, one per channel or one per
graph node. Edges, features, labels and splits travel inside as constants. A BitGraph is immutable
and always valid: the constructor checks it. On disk it is ONNX (`quant.graph.onnx_export`).
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from .operators import quantizer_of
from .parts import Node, Tensor
from .quantizer import Quantizer
from .validation import validate

__all__ = ["BitGraph", "Node", "Tensor"]


@dataclass(frozen=True)
class BitGraph:
    """A bitwidth-annotated network.

    Parameters
    ----------
    name : str
    nodes : tuple of Node
        Sorted: a node stands after those whose results it takes.
    tensors : tuple of Tensor
        Every tensor once. They are put into one order: inputs, constants as given, results in the
        order of the nodes.
    inputs, outputs : tuple of str
        Names of tensors that are given from outside, and of the results.
    metadata : mapping of str to str
        Anything a person wants to know, for instance the data set and its tier.

    Raises
    ------
    ValueError
        If the graph is not valid; the message says what is wrong and where.
    """

    name: str
    nodes: tuple[Node, ...]
    tensors: tuple[Tensor, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    metadata: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the graph and put tensors and metadata into their order."""
        by_name: dict[str, Tensor] = {}
        for tensor in self.tensors:
            if tensor.name in by_name:
                raise ValueError(f"tensor name {tensor.name} must stand once")
            by_name[tensor.name] = tensor
        validate(self.nodes, by_name, self.inputs, self.outputs)
        constants = [t.name for t in self.tensors if t.data is not None]
        made = [name for node in self.nodes for name in node.outputs]
        order = (*self.inputs, *constants, *made)
        object.__setattr__(self, "tensors", tuple(by_name[name] for name in order))
        object.__setattr__(self, "metadata", dict(sorted(self.metadata.items())))

    @cached_property
    def _by_name(self) -> dict[str, Tensor]:
        return {tensor.name: tensor for tensor in self.tensors}

    @cached_property
    def _makers(self) -> dict[str, Node]:
        return {name: node for node in self.nodes for name in node.outputs}

    def tensor(self, name: str) -> Tensor:
        """Return a tensor by name.

        Raises
        ------
        KeyError
            If there is none.
        """
        return self._by_name[name]

    def constant(self, name: str) -> np.ndarray | None:
        """Return the values of a constant such as "labels", or None if there is none."""
        tensor = self._by_name.get(name)
        return None if tensor is None else tensor.data

    def maker(self, name: str) -> Node | None:
        """Return the node that makes a tensor; None for an input or a constant."""
        return self._makers.get(name)

    def users(self, name: str) -> tuple[Node, ...]:
        """Return the nodes that take a tensor, in order."""
        return tuple(node for node in self.nodes if name in node.inputs)

    def quantizer(self, name: str) -> Quantizer | None:
        """Return the quantizer of a tensor; None if no `Quant` node makes it."""
        node = self.maker(name)
        if node is None or node.op != "Quant":
            return None
        return quantizer_of(node, [self.tensor(n) for n in node.inputs])

    @cached_property
    def hash(self) -> str:
        """SHA-256 over the whole content, independent of the file format."""
        digest = hashlib.sha256()
        header = {
            "name": self.name,
            "nodes": [
                [n.op, n.name, n.inputs, n.outputs, sorted(n.attributes.items())]
                for n in self.nodes
            ],
            "tensors": [[t.name, t.shape, t.dtype, t.data is not None] for t in self.tensors],
            "inputs": self.inputs,
            "outputs": self.outputs,
            "metadata": list(self.metadata.items()),
        }
        digest.update(json.dumps(header).encode())
        for tensor in self.tensors:
            if tensor.data is not None:
                digest.update(tensor.data.tobytes())
        return digest.hexdigest()
