"""A BitGraph that is not valid cannot be made; each message says what is wrong and where."""

import dataclasses
import re

import numpy as np
import pytest

from quant.graph.model import BitGraph, Node, Tensor
from quant.graph.synthetic import random_gcn

GRAPH = random_gcn()


def with_data(name: str, data: np.ndarray) -> BitGraph:
    """Return the graph with other values in one constant."""
    tensors = (Tensor.constant(name, data) if t.name == name else t for t in GRAPH.tensors)
    return dataclasses.replace(GRAPH, tensors=tuple(tensors))


def with_node(node_name: str, **changes) -> BitGraph:
    """Return the graph with other fields in one node."""
    nodes = (dataclasses.replace(n, **changes) if n.name == node_name else n for n in GRAPH.nodes)
    return dataclasses.replace(GRAPH, nodes=tuple(nodes))


def edges(position: int, source: int, target: int) -> BitGraph:
    """Return the graph with one edge changed."""
    index = GRAPH.tensor("edge_index").values().copy()
    index[:, position] = source, target
    return with_data("edge_index", index)


def element(name: str, place: tuple[int, ...], value: float) -> BitGraph:
    """Return the graph with one element of one constant changed."""
    data = GRAPH.tensor(name).values().copy()
    data[place] = value
    return with_data(name, data)


def quant_attributes(**changes) -> dict:
    """Return the attributes of a Quant node with changes."""
    return {"signed": 1, "narrow": 1, "rounding_mode": "HALF_UP"} | changes


AGGREGATE = "Aggregate node layer0/acc/Aggregate"
REFUSED = {
    "edge_too_large": (
        lambda: edges(17, 3, 24),
        f"{AGGREGATE}: edge 17 of edge_index is 3 -> 24: graph nodes must be 0 to 23",
    ),
    "edge_negative": (
        lambda: edges(0, -1, 2),
        f"{AGGREGATE}: edge 0 of edge_index is -1 -> 2: graph nodes must be 0 to 23",
    ),
    "edge_shape": (
        lambda: with_data("edge_index", np.zeros((3, 4), np.int64)),
        f"{AGGREGATE}: edge_index must be integers [2, edges], not int64 (3, 4)",
    ),
    "width_too_large": (
        lambda: element("layer0/x.width", (5, 0), 9),
        "Quant node layer0/x/Quant: width[5, 0] must be an integer from 0 to 8 (unsigned), not 9.0",
    ),
    "width_negative": (
        lambda: element("layer1/q.width", (), -1),
        "Quant node layer1/q/Quant: width must be an integer from 1 to 8 (signed), not -1.0",
    ),
    "scale_zero": (
        lambda: element("layer1/x.scale", (3, 0), 0),
        "Quant node layer1/x/Quant: scale[3, 0] must be finite and positive, not 0.0",
    ),
    "scale_not_finite": (
        lambda: element("layer1/x.scale", (3, 0), np.inf),
        "tensor layer1/x.scale: value at (3, 0) must be finite, not inf",
    ),
    "scale_shape": (
        lambda: with_data("layer0/x.scale", np.ones((23, 1), np.float32)),
        (
            "Quant node layer0/x/Quant: scale layer0/x.scale (23, 1) must broadcast to "
            "features (24, 20)"
        ),
    ),
    "matmul_shape": (
        lambda: with_data("layer1/weight", np.zeros((9, 4), np.float32)),
        "Quant node layer1/w/Quant: output layer1/w must have shape (9, 4), not (8, 4)",
    ),
    "add_shape": (
        lambda: with_data("layer0/bias", np.zeros((1, 9), np.float32)),
        "Add node layer0/z/Add: layer0/acc_c (24, 8) and layer0/bias (1, 9) must broadcast",
    ),
    "dtype": (
        lambda: with_data("layer0/bias", np.zeros((1, 8))),
        "Add node layer0/z/Add: layer0/bias must be float32 like the output, not float64",
    ),
    "feature_index": (
        lambda: element("features.indices", (0,), 20),
        (
            "CsrToDense node features/CsrToDense: index 20 in row 0 of features.indices must be "
            "0 to 19"
        ),
    ),
    "feature_twice": (
        lambda: element(
            "features.indices", (1,), int(GRAPH.tensor("features.indices").values()[0])
        ),
        "CsrToDense node features/CsrToDense: indices in row 0 of features.indices must ascend",
    ),
    "feature_count": (
        lambda: with_data("features.indices", np.zeros(3, np.uint16)),
        (
            "CsrToDense node features/CsrToDense: features.indices must have 110 elements, "
            "as features.indptr says, not shape (3,)"
        ),
    ),
    "feature_rows": (
        lambda: element("features.indptr", (2,), 0),
        (
            "CsrToDense node features/CsrToDense: features.indptr must ascend from 0 and name "
            "at least one row"
        ),
    ),
    "no_nodes": (
        lambda: BitGraph("empty", (), (), (), ()),
        "graph must have at least one node",
    ),
    "no_outputs": (
        lambda: dataclasses.replace(GRAPH, outputs=()),
        "graph must have at least one output",
    ),
    "missing_tensor": (
        lambda: dataclasses.replace(
            GRAPH, tensors=tuple(t for t in GRAPH.tensors if t.name != "layer1/bias")
        ),
        "Add node layer1/z/Add: tensor layer1/bias is missing",
    ),
    "missing_result": (
        lambda: dataclasses.replace(
            GRAPH, tensors=tuple(t for t in GRAPH.tensors if t.name != "layer1/acc")
        ),
        "Aggregate node layer1/acc/Aggregate: tensor layer1/acc is missing",
    ),
    "missing_input": (
        lambda: dataclasses.replace(GRAPH, inputs=("x",)),
        "graph: input x is missing",
    ),
    "missing_output": (
        lambda: dataclasses.replace(GRAPH, outputs=("y",)),
        "graph: output y must be made by a node",
    ),
    "stray_tensor": (
        lambda: dataclasses.replace(GRAPH, tensors=(*GRAPH.tensors, Tensor("y", (1,), "int8"))),
        "tensor y must be a constant, an input or made by a node",
    ),
    "unsorted": (
        lambda: dataclasses.replace(GRAPH, nodes=(GRAPH.nodes[1], GRAPH.nodes[0])),
        (
            "Quant node layer0/x/Quant: input features is made by CsrToDense node "
            "features/CsrToDense, which must stand before it (nodes are sorted, without cycles)"
        ),
    ),
    "cycle": (
        lambda: with_node("layer0/relu/Relu", inputs=("layer0/relu",)),
        (
            "Relu node layer0/relu/Relu: input layer0/relu is made by Relu node layer0/relu/Relu, "
            "which must stand before it (nodes are sorted, without cycles)"
        ),
    ),
    "node_twice": (
        lambda: dataclasses.replace(GRAPH, nodes=(*GRAPH.nodes, GRAPH.nodes[3])),
        f"node name {GRAPH.nodes[3].name} must stand once",
    ),
    "tensor_twice": (
        lambda: dataclasses.replace(GRAPH, tensors=(*GRAPH.tensors, GRAPH.tensors[4])),
        f"tensor name {GRAPH.tensors[4].name} must stand once",
    ),
    "made_twice": (
        lambda: with_node("layer0/z/Add", outputs=("layer0/acc_c",)),
        "Add node layer0/z/Add: tensor layer0/acc_c is already made by Mul node layer0/acc_c/Mul",
    ),
    "constant_made": (
        lambda: with_node("layer0/z/Add", outputs=("c",)),
        "Add node layer0/z/Add: tensor c is already a constant",
    ),
    "unknown_operator": (
        lambda: with_node("layer0/relu/Relu", op="Gelu"),
        (
            "Gelu node layer0/relu/Relu: operator must be one of Quant, MatMul, Mul, Add, Relu, "
            "CsrToDense, Aggregate, not Gelu"
        ),
    ),
    "input_count": (
        lambda: with_node("layer0/relu/Relu", inputs=("layer0/z", "c")),
        "Relu node layer0/relu/Relu must have 1 inputs and 1 output, not 2 and 1",
    ),
    "attribute_missing": (
        lambda: with_node("layer0/acc/Aggregate", attributes={"reduce": "sum"}),
        f"{AGGREGATE} must have the attributes ['reduce', 'self_loops'], not ['reduce']",
    ),
    "attribute_value": (
        lambda: with_node("layer0/acc/Aggregate", attributes={"reduce": "max", "self_loops": 1}),
        f"{AGGREGATE}: reduce must be one of sum, not max",
    ),
    "rounding_mode": (
        lambda: with_node("layer0/q/Quant", attributes=quant_attributes(rounding_mode="AWAY")),
        (
            "Quant node layer0/q/Quant: rounding_mode must be one of ROUND, HALF_EVEN, CEIL, "
            "FLOOR, UP, DOWN, HALF_UP, HALF_DOWN, not AWAY"
        ),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    """The whole message names the node, the place and the value."""
    make, message = REFUSED[case]
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        make()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (("", (1,), "int8"), r"^a tensor must have a name, not ''$"),
        (("t", (-1,), "int8"), r"^tensor t: shape must not be negative, not \(-1,\)$"),
        (("t", (1,), "float16"), r"^tensor t: dtype must be one of float32, .*bool, not float16$"),
        (
            ("t", (2,), "int8", np.zeros(2, np.int16)),
            r"^tensor t: data must be int8 \(2,\), not int16 \(2,\)$",
        ),
    ],
)
def test_tensor_refused(fields, message):
    """A tensor checks its own fields."""
    with pytest.raises(ValueError, match=message):
        Tensor(*fields)


def test_operands_of_the_graph_must_be_constants():
    """A width that is computed or given from outside is refused: it decides what is built."""
    tensors = tuple(
        Tensor(t.name, t.shape, t.dtype) if t.name == "layer0/x.width" else t for t in GRAPH.tensors
    )
    message = r"^Quant node layer0/x/Quant: input layer0/x.width must be a constant$"
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(GRAPH, tensors=tensors, inputs=("layer0/x.width",))


def test_every_difference_makes_another_graph():
    """Equality and hash look at values, dtypes, attributes, order and metadata."""
    labels = GRAPH.tensor("labels").values()
    others = [
        element("layer0/weight", (0, 0), GRAPH.tensor("layer0/weight").values()[0, 0] + 1),
        with_data("labels", labels.astype(np.int32)),
        with_node("layer0/acc/Aggregate", attributes={"reduce": "sum", "self_loops": 0}),
        with_node("layer0/relu/Relu", name="other"),
        with_data("edge_index", GRAPH.tensor("edge_index").values()[:, ::-1]),
        dataclasses.replace(GRAPH, metadata={"tier": "folder"}),
        dataclasses.replace(GRAPH, name="other"),
        element("layer0/bias", (0, 0), 0.0),
    ]
    others.append(element("layer0/bias", (0, 0), -0.0))
    assert all(other != GRAPH for other in others)
    assert len({GRAPH.hash, *(other.hash for other in others)}) == len(others) + 1
    assert random_gcn() == GRAPH
    assert random_gcn().hash == GRAPH.hash


def test_order_of_given_tensors_and_metadata_does_not_matter():
    """Tensors and metadata are put into one order; constants keep theirs among themselves."""
    made = tuple(t for t in GRAPH.tensors if t.data is None)
    constants = tuple(t for t in GRAPH.tensors if t.data is not None)
    metadata = dict(list(GRAPH.metadata.items())[::-1])
    other = dataclasses.replace(GRAPH, tensors=made[::-1] + constants, metadata=metadata)
    assert other == GRAPH
    assert other.hash == GRAPH.hash


def test_nothing_can_be_changed_afterwards():
    """Constants are read-only copies."""
    labels = np.zeros(3, np.int64)
    tensor = Tensor.constant("labels", labels)
    labels[0] = 1
    assert tensor.values()[0] == 0
    with pytest.raises(ValueError, match="read-only"):
        tensor.values()[0] = 1


def test_lookups():
    """Tensors, makers, users and quantizers are found by name."""
    assert GRAPH.maker("layer0/x") is GRAPH.nodes[1]
    assert GRAPH.maker("c") is None
    assert [node.op for node in GRAPH.users("c")] == ["Mul"] * 4
    assert GRAPH.constant("no such tensor") is None
    assert GRAPH.quantizer("layer0/z") is None
    quantizer = GRAPH.quantizer("layer1/x")
    assert quantizer is not None
    assert quantizer.width.shape == (24, 1)
    with pytest.raises(KeyError):
        GRAPH.tensor("no such tensor")
    with pytest.raises(ValueError, match=r"^tensor layer0/z must be a constant, not a computed"):
        GRAPH.tensor("layer0/z").values()


def test_node_prints_as_in_messages():
    """The name of a node says its operator too."""
    assert str(Node("Add", "sum", (), ())) == "Add node sum"
