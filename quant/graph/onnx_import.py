"""Reads the ONNX file of a BitGraph, and refuses any other file with what is wrong and where."""

from pathlib import Path

import onnx
from google.protobuf.message import DecodeError
from onnx import AttributeProto, TensorProto, helper, numpy_helper

from .model import BitGraph, Node, Tensor
from .onnx_export import FORMAT, PREFIX
from .operators import OPERATORS
from .parts import Attribute

__all__ = ["from_model", "load"]

PRODUCER = b"\x12\x09bitwright"
"""How the second field of our files reads."""


def load(path: Path) -> BitGraph:
    """Read a BitGraph: `load(path)` equals the graph that was saved there.

    Raises
    ------
    ValueError
        If the file is truncated, damaged, not ONNX, no BitGraph, or not a valid one.
    """
    content = path.read_bytes()
    if not content:
        raise ValueError(f"{path} is empty")
    model = onnx.ModelProto()
    try:
        model.ParseFromString(content)
    except DecodeError:
        ours = PRODUCER in content[:16]
        fault = "truncated or damaged" if ours else "not an ONNX file"
        raise ValueError(f"{path} is {fault}") from None
    try:
        return from_model(model)
    except ValueError as error:
        # A damaged name may hold anything, line ends too; a message is one line.
        line = "".join(c if c.isprintable() else "?" for c in str(error))
        raise ValueError(f"{path}: {line}") from None


def from_model(model: onnx.ModelProto) -> BitGraph:
    """Return the BitGraph of an ONNX model.

    The hash in the metadata must be that of the content: a bit that flipped in a scale or a weight
    leaves a valid graph behind, only another one.

    Raises
    ------
    ValueError
        If the model is no BitGraph, or not a valid one.
    """
    _check_text(model)
    metadata = {entry.key: entry.value for entry in model.metadata_props}
    _check_format(model, metadata)
    proto = model.graph
    if proto.sparse_initializer or model.functions or model.training_info:
        raise ValueError("sparse initializers, functions and training info must not be used")
    graph = BitGraph(
        proto.name,
        tuple(_node(node) for node in proto.node),
        tuple(_tensors(proto)),
        tuple(value.name for value in proto.input),
        tuple(value.name for value in proto.output),
        {key: value for key, value in metadata.items() if not key.startswith(PREFIX)},
    )
    expected = metadata.get(f"{PREFIX}hash", "nothing")
    if expected != graph.hash:
        raise ValueError(
            f"content must have the hash that metadata {PREFIX}hash says ({expected:.16}), "
            f"not {graph.hash:.16}"
        )
    return graph


def _check_text(model: onnx.ModelProto) -> None:
    """Refuse names that are not UTF-8; protobuf hands them over as bytes."""
    graph = model.graph
    texts = [graph.name, model.producer_name]
    texts += [text for entry in model.metadata_props for text in (entry.key, entry.value)]
    for node in graph.node:
        texts += [node.op_type, node.name, node.domain, *node.input, *node.output]
        texts += [attribute.name for attribute in node.attribute]
    for values in (graph.initializer, graph.input, graph.value_info, graph.output):
        texts += [value.name for value in values]
    bad = [text for text in texts if not isinstance(text, str)]
    if bad:
        raise ValueError(f"text must be UTF-8, not {bad[0]!r:.40}")


def _check_format(model: onnx.ModelProto, metadata: dict[str, str]) -> None:
    """Refuse foreign models and other versions."""
    version = metadata.get(f"{PREFIX}format")
    if version is None and model.producer_name == "bitwright":
        raise ValueError(f"metadata {PREFIX}format is missing: the file is truncated or damaged")
    if version is None:
        foreign = [node for node in model.graph.node if node.op_type not in OPERATORS]
        example = f" ({_title(foreign[0])} is no operator of it)" if foreign else ""
        raise ValueError(f"not a BitGraph: metadata {PREFIX}format is missing{example}")
    if version != FORMAT:
        raise ValueError(f"metadata {PREFIX}format must be {FORMAT}, not {version}")


def _title(node: onnx.NodeProto) -> str:
    """Name a node as messages do."""
    return f"{node.op_type} node {node.name or '(without a name)'}"


def _node(proto: onnx.NodeProto) -> Node:
    """Return a node of a supported operator."""
    operator = OPERATORS.get(proto.op_type)
    if operator is None:
        raise ValueError(
            f"{_title(proto)}: operator must be one of {', '.join(OPERATORS)}, not {proto.op_type}"
        )
    domain = "" if proto.domain == "ai.onnx" else proto.domain
    if domain != operator.domain:
        raise ValueError(
            f"{_title(proto)}: domain must be '{operator.domain}', not '{proto.domain}'"
        )
    attributes = {attribute.name: _attribute(proto, attribute) for attribute in proto.attribute}
    return Node(proto.op_type, proto.name, tuple(proto.input), tuple(proto.output), attributes)


def _attribute(node: onnx.NodeProto, attribute: AttributeProto) -> Attribute:
    """Return the value of an attribute."""
    if attribute.type == AttributeProto.INT:
        return attribute.i
    if attribute.type == AttributeProto.STRING:
        return attribute.s.decode(errors="replace")
    raise ValueError(f"{_title(node)}: {attribute.name} must be an integer or a string")


def _tensors(proto: onnx.GraphProto) -> list[Tensor]:
    """Return all tensors: constants, and what is declared of inputs and results."""
    tensors = [_constant(initializer) for initializer in proto.initializer]
    return tensors + [
        _declared(value)
        for values in (proto.input, proto.value_info, proto.output)
        for value in values
    ]


def _constant(initializer: TensorProto) -> Tensor:
    """Return a constant with its values."""
    name = initializer.name
    if initializer.data_location == TensorProto.EXTERNAL:
        raise ValueError(f"tensor {name}: data must lie inside the file, not in another one")
    try:
        data = numpy_helper.to_array(initializer)
    except (ValueError, TypeError, KeyError):
        shape = list(initializer.dims)
        raise ValueError(f"tensor {name}: data must fill shape {shape} and does not") from None
    return Tensor.constant(name, data)


def _declared(value: onnx.ValueInfoProto) -> Tensor:
    """Return a tensor without values."""
    kind = value.type.tensor_type
    try:
        dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type).name
    except KeyError:
        raise ValueError(f"tensor {value.name} must have an element type") from None
    for axis, dim in enumerate(kind.shape.dim):
        if not dim.HasField("dim_value"):
            raise ValueError(f"tensor {value.name}: dimension {axis} must be a number")
    return Tensor(value.name, tuple(dim.dim_value for dim in kind.shape.dim), dtype)
