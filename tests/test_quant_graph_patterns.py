"""Arrays become a BitGraph and are read out of it again; other graphs are refused by node."""

import dataclasses
import re

import numpy as np
import pytest
from scipy import sparse

from quant.graph.build import LayerParameters, gcn_graph, normalization
from quant.graph.execute import execute
from quant.graph.model import BitGraph, Node, Tensor
from quant.graph.patterns import features, layers
from quant.graph.synthetic import CORNERS, random_gcn

EDGES = np.array([[0, 1, 2, 2, 3], [1, 0, 1, 1, 3]])


def parameters(reduction: int, columns: int, seed: int, **changes) -> LayerParameters:
    """Make one layer of five graph nodes."""
    rng = np.random.default_rng(seed)
    fields = {
        "scale": rng.uniform(0.1, 1, 5).astype(np.float32),
        "magnitude_width": rng.integers(0, 9, 5),
        "signed": False,
        "weight_codes": rng.integers(-7, 8, (reduction, columns)).astype(np.int8),
        "weight_scale": rng.uniform(1e-3, 1, columns).astype(np.float32),
        "xw_scale": rng.uniform(0.1, 1, columns).astype(np.float32),
        "bias": rng.normal(size=columns).astype(np.float32),
    }
    return LayerParameters(**(fields | changes))


def features_of(seed: int = 0) -> sparse.csr_array:
    """Make real features of five graph nodes."""
    rng = np.random.default_rng(seed)
    return sparse.csr_array(np.where(rng.random((5, 6)) < 0.4, rng.random((5, 6)), 0))


def build(first: dict | None = None, second: dict | None = None, **options) -> BitGraph:
    """Make a two-layer GCN."""
    chain = (parameters(6, 4, 1, **(first or {})), parameters(4, 3, 2, **(second or {})))
    return gcn_graph("g", features_of(), EDGES, chain, **options)


def test_normalization_by_hand():
    """Targets 1, 0, 1, 1, 3: degrees 1, 3, 0, 1, 0, and one more each with self loops."""
    plain = normalization(EDGES, 5, self_loops=False)
    assert plain == pytest.approx([1, 3**-0.5, 0, 1, 0])
    looped = normalization(EDGES, 5, self_loops=True)
    assert looped == pytest.approx([0.5**0.5, 0.5, 1, 0.5**0.5, 1])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("self_loops", [False, True])
def test_layers_give_back_what_was_built(dtype, self_loops):
    """Codes, scales, widths, edges and biases come back exactly."""
    given = (parameters(6, 4, 1), parameters(4, 3, 2, bias=np.zeros(3, np.float32)))
    graph = gcn_graph("g", features_of(), EDGES, given, self_loops=self_loops, dtype=dtype)
    read = layers(graph)
    c = normalization(EDGES, 5, self_loops).astype(dtype)
    for ours, layer in zip(given, read, strict=True):
        assert layer.weight_codes.dtype == np.int8
        for name in (
            "scale",
            "magnitude_width",
            "weight_codes",
            "weight_scale",
            "xw_scale",
            "bias",
        ):
            assert np.array_equal(getattr(layer, name), getattr(ours, name)), name
        assert np.array_equal(layer.edge_index, EDGES)
        assert np.array_equal(layer.c_source, c)
        assert np.array_equal(layer.c_destination, c)
        assert (layer.self_loops, layer.signed) == (self_loops, False)
    assert [layer.relu for layer in read] == [True, False]
    assert read[0].next_quantizer == read[1].quantizer
    assert read[1].next_quantizer is None
    assert read[1].outputs["z"] == graph.outputs[0]


def test_signed_codes_have_one_bit_more():
    """B magnitude bits and a sign are a Quant of width B + 1; no ReLU stands before it."""
    width = np.array([0, 1, 2, 3, 7])
    graph = build(second={"signed": True, "magnitude_width": width})
    first, second = layers(graph)
    assert (first.relu, second.signed) == (False, True)
    assert np.array_equal(second.magnitude_width, width)
    assert np.array_equal(second.quantizer.width[:, 0], width + 1)


@pytest.mark.parametrize("scale", [1e-6, 1 / 3, 0.1, 1e6])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_codes_survive_as_real_numbers(scale, dtype):
    """Weights are stored as code times scale; every code comes back at any scale."""
    codes = np.arange(-7, 8).repeat(2).reshape(6, 5)
    layer = parameters(6, 5, 0, weight_codes=codes, weight_scale=np.full(5, scale))
    graph = gcn_graph("g", features_of(), EDGES, (layer,), dtype=dtype)
    assert np.array_equal(layers(graph)[0].weight_codes, codes)


@pytest.mark.parametrize("form", ["csr_array", "csr_matrix", "dense"])
def test_features_in_any_form(form):
    """Sparse or dense features are the same numbers, and so are the logits."""
    x = features_of()
    given = {"csr_array": x, "csr_matrix": sparse.csr_matrix(x), "dense": x.toarray()}[form]
    chain = (parameters(6, 4, 1),)
    graph = gcn_graph("g", given, EDGES, chain)
    assert np.array_equal(features(graph).toarray(), x.toarray().astype(np.float32))
    expected = execute(gcn_graph("g", x, EDGES, chain))["layer0/z"]
    assert np.array_equal(execute(graph)["layer0/z"], expected)


def test_features_as_an_input():
    """Without features inside, they are the input of the graph."""
    graph = gcn_graph("g", None, EDGES, (parameters(6, 4, 1),), nodes=5)
    assert graph.inputs == ("features",)
    assert len(layers(graph)) == 1
    with pytest.raises(ValueError, match=r"^features features must lie inside the graph, not be"):
        features(graph)


def test_features_are_stored_once_and_sorted():
    """Repeated entries are added, explicit zeros dropped, ones not stored."""
    x = sparse.csr_array((np.array([1.0, 0.5, 0.5, 0.0]), [3, 1, 1, 0], [0, 4, 4, 4, 4, 4]))
    x.resize((5, 6))
    graph = gcn_graph("g", x, EDGES, (parameters(6, 4, 1),))
    assert graph.tensor("features.indices").values().tolist() == [1, 3]
    assert graph.constant("features.values") is None


def test_labels_and_splits_travel_inside():
    """Any further constants keep their names and dtypes."""
    constants = {"labels": np.array([0, 1, 2, 0, 1]), "train_idx": np.array([0, 3], np.int32)}
    graph = build(constants=constants, metadata={"data": "made up"})
    assert graph.tensor("labels").values().tolist() == [0, 1, 2, 0, 1]
    assert graph.tensor("train_idx").values().dtype == np.int32
    assert graph.metadata == {"data": "made up"}


def edit(graph: BitGraph, node_name: str, **changes) -> BitGraph:
    """Return the graph with other fields in one node."""
    nodes = (dataclasses.replace(n, **changes) if n.name == node_name else n for n in graph.nodes)
    return dataclasses.replace(graph, nodes=tuple(nodes))


def with_data(name: str, data: np.ndarray) -> BitGraph:
    """Return the graph with other values in one constant."""
    graph = build()
    tensors = (Tensor.constant(name, data) if t.name == name else t for t in graph.tensors)
    return dataclasses.replace(graph, tensors=tuple(tensors))


def quant(**changes) -> dict:
    """Return the attributes of a signed Quant node with changes."""
    return {"signed": 1, "narrow": 1, "rounding_mode": "HALF_UP"} | changes


def without(*names: str) -> BitGraph:
    """Return the graph without some nodes; what they made is taken from their first input."""
    graph = build()
    nodes, renamed = [], {}
    for node in graph.nodes:
        if node.name in names:
            renamed[node.outputs[0]] = renamed.get(node.inputs[0], node.inputs[0])
        else:
            inputs = tuple(renamed.get(name, name) for name in node.inputs)
            nodes.append(dataclasses.replace(node, inputs=inputs))
    tensors = tuple(t for t in graph.tensors if t.name not in renamed)
    outputs = tuple(renamed.get(name, name) for name in graph.outputs)
    return dataclasses.replace(graph, nodes=tuple(nodes), tensors=tensors, outputs=outputs)


def with_relu_at_the_end() -> BitGraph:
    """Return the graph with a ReLU behind its last layer."""
    graph = build()
    end = Node("Relu", "end", graph.outputs, ("end",))
    tensors = (*graph.tensors, Tensor("end", (5, 3), "float32"))
    return dataclasses.replace(graph, nodes=(*graph.nodes, end), tensors=tensors, outputs=("end",))


def with_a_side_branch() -> BitGraph:
    """Return the graph with a node that the output does not need."""
    graph = build()
    side = Node("Relu", "side", ("layer0/z",), ("side",))
    tensors = (*graph.tensors, Tensor("side", (5, 4), "float32"))
    return dataclasses.replace(graph, nodes=(*graph.nodes, side), tensors=tensors)


def with_two_outputs() -> BitGraph:
    """Return the graph with a second output."""
    return dataclasses.replace(build(), outputs=("layer0/z", "layer1/z"))


def with_relu_before_signed() -> BitGraph:
    """Return the graph with a ReLU before signed codes."""
    graph = edit(build(), "layer1/x/Quant", attributes=quant())
    width = np.full((5, 1), 3, np.float32)
    tensors = (
        Tensor.constant(t.name, width) if t.name == "layer1/x.width" else t for t in graph.tensors
    )
    return dataclasses.replace(graph, tensors=tuple(tensors))


def with_a_weight(value: float) -> BitGraph:
    """Return the graph with one weight at `value` steps."""
    graph = build()
    weight = graph.tensor("layer0/weight").values().copy()
    weight[2, 3] = value * graph.tensor("layer0/w.scale").values()[0, 3]
    return with_data("layer0/weight", weight)


def unsigned(name: str) -> BitGraph:
    """Return the graph with a Quant node that is not signed."""
    return edit(build(), name, attributes=quant(signed=0, narrow=0))


REFUSED = {
    "no_aggregate": (
        lambda: without("layer0/acc/Aggregate"),
        "Mul node layer0/acc_c/Mul must be Aggregate: 5 of a GCN layer",
    ),
    "no_source_factor": (
        lambda: without("layer1/xw_c/Mul"),
        "Quant node layer1/q/Quant must be Mul: 3 of a GCN layer",
    ),
    "no_bias": (
        lambda: without("layer1/z/Add"),
        "graph g must go on with Add after Mul node layer1/acc_c/Mul, not end there",
    ),
    "plain_weights": (
        lambda: without("layer0/w/Quant"),
        "MatMul node layer0/xw/MatMul: weights layer0/weight must come from a Quant node",
    ),
    "relu_at_the_end": (with_relu_at_the_end, "Relu node end must not stand after the last layer"),
    "side_branch": (
        with_a_side_branch,
        "Relu node side must be part of the chain of layers that ends in the output",
    ),
    "two_outputs": (with_two_outputs, "graph g must have 1 output, not 2"),
    "relu_before_signed": (
        with_relu_before_signed,
        "Relu node layer0/relu/Relu must be followed by an unsigned Quant, not a signed one",
    ),
    "weight_outside": (
        lambda: with_a_weight(8),
        (
            "Quant node layer0/w/Quant: weight [2, 3] of layer0/weight must have a code from "
            "-7 to 7, not 8.0"
        ),
    ),
    "unsigned_weights": (
        lambda: unsigned("layer0/w/Quant"),
        "Quant node layer0/w/Quant must be signed and of width 4",
    ),
    "unsigned_operand": (
        lambda: unsigned("layer1/q/Quant"),
        "Quant node layer1/q/Quant must be signed and of width 4",
    ),
    "wider_operand": (
        lambda: with_data("layer1/q.width", np.array(5, np.float32)),
        "Quant node layer1/q/Quant must be signed and of width 4",
    ),
    "rounding": (
        lambda: edit(build(), "layer0/q/Quant", attributes=quant(rounding_mode="ROUND")),
        "Quant node layer0/q/Quant: rounding_mode must be HALF_UP, not ROUND",
    ),
    "not_narrow": (
        lambda: edit(build(), "layer0/q/Quant", attributes=quant(narrow=0)),
        "Quant node layer0/q/Quant must be narrow, since it is signed",
    ),
    "zero_point": (
        lambda: with_data("layer0/q.zero_point", np.array(1, np.float32)),
        "Quant node layer0/q/Quant: zero_point must be 0",
    ),
    "feature_scale_per_channel": (
        lambda: with_data("layer0/x.scale", np.ones((1, 6), np.float32)),
        "Quant node layer0/x/Quant: scale must be one number or [5, 1], not [1, 6]",
    ),
    "weight_scale_per_row": (
        lambda: with_data("layer0/w.scale", np.ones((6, 1), np.float32)),
        "Quant node layer0/w/Quant: scale must be one number or [1, 4], not [6, 1]",
    ),
    "factor_per_column": (
        lambda: with_data("c", np.ones((5, 4), np.float32)),
        "Mul node layer1/xw_c/Mul: layer1/xw (5, 3) and c (5, 4) must broadcast",
    ),
    "bias_per_node": (
        lambda: with_data("layer0/bias", np.ones((5, 1), np.float32)),
        "Add node layer0/z/Add: layer0/bias must be [1, 4], not [5, 1]",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    """The message names the node and what was expected there."""
    make, message = REFUSED[case]
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        layers(make())


def coded(values: list[list[float]], width: list[int]) -> BitGraph:
    """Make a graph of two nodes whose features are codes: scale 1."""
    layer = LayerParameters(
        np.ones(2), np.array(width), False, np.ones((3, 1)), np.ones(1), np.ones(1), np.zeros(1)
    )
    return gcn_graph("codes", np.array(values), np.zeros((2, 0), int), (layer,))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            [[1, 0, 1], [0, 2, 0]],
            "feature 1 of graph node 1 must be a code from 0 to 1 (scale 1), not 2",
        ),
        (
            [[1, -1, 1], [0, 1, 0]],
            "feature 1 of graph node 0 must be a code from 0 to 1 (scale 1), not -1",
        ),
    ],
)
def test_features_that_are_codes_must_fit(values, message):
    """Where the scale is 1, clipping a feature would lose data in silence."""
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        layers(coded(values, [1, 1]))


def test_width_0_drops_features_on_purpose():
    """A graph node without bits may have features; they count as 0."""
    assert layers(coded([[1, 0, 1], [0, 2, 0]], [1, 0]))[0].magnitude_width.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"weight_codes": np.full((6, 4), 8)},
            "layer0: weight code [0, 0] must be -7 to 7, not 8",
        ),
        (
            {"weight_codes": np.full((6, 4), -128, np.int8)},
            "layer0: weight code [0, 0] must be -7 to 7, not -128",
        ),
        (
            {"magnitude_width": np.array([1, 2, 9, 0, 0])},
            (
                "Quant node layer0/x/Quant: width[2, 0] must be an integer from 0 to 8 (unsigned), "
                "not 9.0"
            ),
        ),
        (
            {"scale": np.ones(4)},
            (
                "Quant node layer0/x/Quant: scale layer0/x.scale (4, 1) must broadcast to "
                "features (5, 6)"
            ),
        ),
    ],
)
def test_build_refuses(change, message):
    """What does not fit is refused when the graph is made."""
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        build(first=change)


def test_build_refuses_edges_out_of_range():
    """The edge, both its ends and the largest graph node are named."""
    message = (
        r"^Aggregate node layer0/acc/Aggregate: edge 1 of edge_index is 5 -> 0: "
        r"graph nodes must be 0 to 4$"
    )
    with pytest.raises(ValueError, match=message):
        gcn_graph("g", features_of(), np.array([[0, 5], [1, 0]]), (parameters(6, 4, 1),))


def test_build_refuses_nothing():
    """No layers, or no number of graph nodes."""
    with pytest.raises(ValueError, match=r"^layers must have at least one layer, not 0$"):
        gcn_graph("g", features_of(), EDGES, ())
    with pytest.raises(ValueError, match=r"^nodes must be given where features are an input"):
        gcn_graph("g", None, EDGES, (parameters(6, 4, 1),))
    empty = "^Aggregate node .* must have at least one graph node, not shape .0, 4.$"
    with pytest.raises(ValueError, match=empty):
        gcn_graph(
            "g",
            np.zeros((0, 6)),
            np.zeros((2, 0), int),
            (parameters(6, 4, 1, scale=np.array(1.0), magnitude_width=np.array(1)),),
        )


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("input_width", [1, 3, None])
def test_random_graphs_are_useful_for_tests(signed, input_width):
    """Codes of both layers spread over their range: neither all saturated nor nearly all zero."""
    graph = random_gcn(
        nodes=60, edges=200, signed=signed, input_width=input_width, corners=CORNERS, seed=3
    )
    assert graph == random_gcn(
        nodes=60, edges=200, signed=signed, input_width=input_width, corners=CORNERS, seed=3
    )
    values = execute(graph, every=True)
    for layer in layers(graph):
        q = np.rint(values[layer.outputs["q"]] / layer.xw_scale)
        assert len(np.unique(q)) > 11
        assert np.mean(np.abs(q) == 7) < 0.4
        x = values[layer.outputs["x"]]
        x = x.toarray() if sparse.issparse(x) else x
        assert 0.1 < np.mean(x != 0) < 0.95
        assert (layer.magnitude_width[0], layer.magnitude_width[-1]) == (0, 8 - layer.signed)


def test_random_graphs_have_their_corners():
    """Each corner case stands in the edge list."""
    index = random_gcn(corners=("hub",)).tensor("edge_index").values()
    assert np.sum(index[1] == 0) >= 23
    assert np.sum(index[0] == 0) >= 23
    edges, counts = np.unique(
        random_gcn(corners=("duplicates",)).tensor("edge_index").values(),
        axis=1,
        return_counts=True,
    )
    assert edges.shape[1] == 60
    assert np.sum(counts == 3) == 5
    index = random_gcn(corners=("self_edges",)).tensor("edge_index").values()
    assert index[0, index[0] == index[1]].size == 3
    assert random_gcn(corners=("isolated", "hub")).tensor("edge_index").values().max() == 21
    assert random_gcn(nodes=1).tensor("edge_index").values().shape == (2, 0)
    with pytest.raises(ValueError, match=r"^corners must be out of hub, .*, widths, not star$"):
        random_gcn(corners=("star",))
