"""What makes a BitGraph valid; a broken rule raises one line that says what and where."""

from collections.abc import Mapping, Sequence

from .operators import OPERATORS, Operator
from .parts import Node, Tensor

__all__ = ["validate"]


def validate(
    nodes: Sequence[Node],
    tensors: Mapping[str, Tensor],
    inputs: Sequence[str],
    outputs: Sequence[str],
) -> None:
    """Check names, order, operators and shapes.

    Raises
    ------
    ValueError
        If a rule is broken.
    """
    if not nodes:
        raise ValueError("graph must have at least one node")
    if not outputs:
        raise ValueError("graph must have at least one output")
    _check_names(nodes, inputs, outputs)
    makers = _makers(nodes, tensors, inputs)
    known = {name for name, tensor in tensors.items() if tensor.data is not None} | set(inputs)
    for node in nodes:
        for name in node.inputs:
            _check_input(node, name, known, makers)
        _check_node(node, tensors)
        known.update(node.outputs)
    for name in inputs:
        if name not in tensors:
            raise ValueError(f"graph: input {name} is missing")
    for name in outputs:
        if name not in makers:
            raise ValueError(f"graph: output {name} must be made by a node")
    for name in tensors:
        if name not in known:
            raise ValueError(f"tensor {name} must be a constant, an input or made by a node")


def _check_names(nodes: Sequence[Node], inputs: Sequence[str], outputs: Sequence[str]) -> None:
    """Refuse names that stand twice."""
    for kind, names in (
        ("node", [node.name for node in nodes]),
        ("input", inputs),
        ("output", outputs),
    ):
        seen = set()
        for name in names:
            if name in seen:
                raise ValueError(f"{kind} name {name} must stand once")
            seen.add(name)


def _makers(
    nodes: Sequence[Node], tensors: Mapping[str, Tensor], inputs: Sequence[str]
) -> dict[str, Node]:
    """Return the node that makes each tensor; a tensor has one source only."""
    makers = {}
    for node in nodes:
        for name in node.outputs:
            if name in makers:
                raise ValueError(f"{node}: tensor {name} is already made by {makers[name]}")
            if name in inputs:
                raise ValueError(f"{node}: tensor {name} is already an input of the graph")
            if name in tensors and tensors[name].data is not None:
                raise ValueError(f"{node}: tensor {name} is already a constant")
            makers[name] = node
    for name in inputs:
        if name in tensors and tensors[name].data is not None:
            raise ValueError(f"graph: input {name} must not be a constant")
    return makers


def _check_input(node: Node, name: str, known: set[str], makers: Mapping[str, Node]) -> None:
    """Refuse an input that no one has made before `node`."""
    if name in known:
        return
    if name in makers:
        raise ValueError(
            f"{node}: input {name} is made by {makers[name]}, which must stand before it "
            "(nodes are sorted, without cycles)"
        )
    raise ValueError(f"{node}: tensor {name} is missing")


def _check_node(node: Node, tensors: Mapping[str, Tensor]) -> None:
    """Check one node against its operator."""
    operator = OPERATORS.get(node.op)
    if operator is None:
        raise ValueError(f"{node}: operator must be one of {', '.join(OPERATORS)}, not {node.op}")
    least, greatest = operator.inputs
    if not least <= len(node.inputs) <= greatest or len(node.outputs) != 1:
        count = str(least) if least == greatest else f"{least} to {greatest}"
        raise ValueError(
            f"{node} must have {count} inputs and 1 output, "
            f"not {len(node.inputs)} and {len(node.outputs)}"
        )
    _check_attributes(node, operator)
    _check_tensors(node, operator, tensors)


def _check_attributes(node: Node, operator: Operator) -> None:
    """Refuse attributes that are missing, unknown or out of range."""
    if set(node.attributes) != set(operator.attributes):
        raise ValueError(
            f"{node} must have the attributes {sorted(operator.attributes)}, "
            f"not {sorted(node.attributes)}"
        )
    for name, allowed in operator.attributes.items():
        value = node.attributes[name]
        if not allowed:
            good, rule = isinstance(value, int) and value >= 0, "an integer, 0 or more"
        else:
            good, rule = value in allowed, f"one of {', '.join(map(str, allowed))}"
        if not good:
            raise ValueError(f"{node}: {name} must be {rule}, not {value}")


def _check_tensors(node: Node, operator: Operator, tensors: Mapping[str, Tensor]) -> None:
    """Check constants, dtypes and shapes of a node."""
    inputs = [tensors[name] for name in node.inputs]
    for position in operator.constants:
        if position < len(inputs) and inputs[position].data is None:
            raise ValueError(f"{node}: input {inputs[position].name} must be a constant")
    name = node.outputs[0]
    if name not in tensors:
        raise ValueError(f"{node}: tensor {name} is missing")
    try:
        shape = operator.shape(node, inputs)
    except ValueError as error:
        raise ValueError(f"{node}: {error}") from None
    if tensors[name].shape != shape:
        raise ValueError(
            f"{node}: output {name} must have shape {shape}, not {tensors[name].shape}"
        )
    _check_dtypes(node, inputs, tensors[name])


def _check_dtypes(node: Node, inputs: Sequence[Tensor], output: Tensor) -> None:
    """All real operands of a node must have the dtype of its result, as ONNX wants it."""
    operands = inputs[:1] if node.op == "Aggregate" else inputs
    operands = inputs[2:] if node.op == "CsrToDense" else operands
    if output.dtype not in ("float32", "float64"):
        raise ValueError(f"{node}: output {output.name} must be a float, not {output.dtype}")
    for tensor in operands:
        if tensor.dtype != output.dtype:
            raise ValueError(
                f"{node}: {tensor.name} must be {output.dtype} like the output, not {tensor.dtype}"
            )
