"""Writes a BitGraph as an ONNX file that Netron shows and `onnx.checker` accepts.

Constants are initializers, results have a value info, `Quant` nodes lie in QONNX's domain and our
own operators in the domain `bitwright`. Same BitGraph, same bytes. The metadata of the file are
those of the graph, then `bitwright.hash` (the hash of the BitGraph) and `bitwright.format`, the
last thing in the file, so that one that was cut short anywhere lacks it.
"""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from .model import BitGraph, Node, Tensor
from .operators import BITWRIGHT, OPERATORS, QONNX

__all__ = ["FORMAT", "PREFIX", "save", "to_model"]

FORMAT = "1"
"""Version of the layout of our files."""

PREFIX = "bitwright."
"""Begins the names of metadata that are not the graph's own."""

IR_VERSION = 10
OPSET = 18

VARINT_ELEMENTS = 1 << 22
"""Largest integer tensor that is written as varints, which take two bytes for most indices."""


def save(graph: BitGraph, path: Path) -> None:
    """Write a BitGraph to `path`.

    Raises
    ------
    ValueError
        If a metadata key begins with `bitwright.`.
    """
    path.write_bytes(to_model(graph).SerializeToString(deterministic=True))


def to_model(graph: BitGraph) -> onnx.ModelProto:
    """Return the ONNX model of a BitGraph, checked by `onnx.checker`."""
    for key in graph.metadata:
        if key.startswith(PREFIX):
            raise ValueError(f"metadata key {key} must not begin with {PREFIX}")
    results = [name for node in graph.nodes for name in node.outputs]
    proto = helper.make_graph(
        [_node(node) for node in graph.nodes],
        graph.name,
        [_value_info(graph.tensor(name)) for name in graph.inputs],
        [_value_info(graph.tensor(name)) for name in graph.outputs],
        initializer=[_initializer(tensor) for tensor in graph.tensors if tensor.data is not None],
        value_info=[
            _value_info(graph.tensor(name)) for name in results if name not in graph.outputs
        ],
    )
    opsets = [helper.make_opsetid("", OPSET)]
    opsets += [helper.make_opsetid(domain, 1) for domain in (QONNX, BITWRIGHT)]
    model = helper.make_model(
        proto, producer_name="bitwright", ir_version=IR_VERSION, opset_imports=opsets
    )
    own = {f"{PREFIX}hash": graph.hash, f"{PREFIX}format": FORMAT}
    for key, value in (*graph.metadata.items(), *own.items()):
        model.metadata_props.add(key=key, value=value)
    onnx.checker.check_model(model, full_check=True)
    return model


def _node(node: Node) -> onnx.NodeProto:
    """Return a node with its attributes by name."""
    proto = helper.make_node(
        node.op, node.inputs, node.outputs, name=node.name, domain=OPERATORS[node.op].domain
    )
    for name, value in sorted(node.attributes.items()):
        proto.attribute.append(helper.make_attribute(name, value))
    return proto


def _value_info(tensor: Tensor) -> onnx.ValueInfoProto:
    """Return dtype and shape of a tensor."""
    element = helper.np_dtype_to_tensor_dtype(np.dtype(tensor.dtype))
    return helper.make_tensor_value_info(tensor.name, element, tensor.shape)


def _initializer(tensor: Tensor) -> TensorProto:
    """Return a constant; indices, which are small numbers in wide words, as varints."""
    data = tensor.values()
    if tensor.dtype not in ("int32", "int64") or not 0 < data.size <= VARINT_ELEMENTS:
        return numpy_helper.from_array(data, tensor.name)
    element = helper.np_dtype_to_tensor_dtype(data.dtype)
    return helper.make_tensor(tensor.name, element, tensor.shape, data.ravel().tolist())
