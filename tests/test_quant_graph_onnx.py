"""A BitGraph survives the disk exactly, and no other file is taken for one."""

import itertools
import re

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from quant.graph.model import BitGraph, Node, Tensor
from quant.graph.onnx_export import save, to_model
from quant.graph.onnx_import import from_model, load
from quant.graph.synthetic import CORNERS, random_gcn

KINDS = {
    "plain": {},
    "corners": {"corners": CORNERS},
    "signed": {"corners": CORNERS, "signed": True, "input_width": None},
    "one_node": {"nodes": 1},
    "no_edges": {"edges": 0, "self_loops": False},
}


@pytest.mark.parametrize("kind", KINDS)
def test_round_trip(kind, tmp_path):
    """`load(save(g)) == g`, hash and order included; the checker of ONNX accepts the file."""
    graph = random_gcn(**KINDS[kind])
    path = tmp_path / "g.onnx"
    save(graph, path)
    loaded = load(path)
    assert loaded == graph
    assert loaded.hash == graph.hash
    assert [t.name for t in loaded.tensors] == [t.name for t in graph.tensors]
    onnx.checker.check_model(str(path), full_check=True)


def test_round_trip_of_every_dtype(tmp_path):
    """All element types, signs, empty and scalar tensors, and metadata in any script."""
    constants = {
        dtype: np.array([0, 1, 2, 3], dtype)
        for dtype in ("float64", "int8", "uint8", "int16", "uint16", "int32", "uint32", "bool")
    }
    constants |= {
        "negative": np.array([-1, 5]),
        "wide": np.array([2**62]),
        "empty": np.zeros((0, 3), np.int64),
        "scalar": np.array(7),
        "negative_zero": np.array([-0.0, 0.0], np.float32),
    }
    tensors = [Tensor.constant(name, data) for name, data in constants.items()]
    tensors += [Tensor("x", (2, 3), "float32"), Tensor("y", (2, 3), "float32")]
    node = Node("Relu", "relu", ("x",), ("y",))
    graph = BitGraph("dtypes", (node,), tuple(tensors), ("x",), ("y",), {"é": "ü\n漢", "a": ""})
    save(graph, tmp_path / "g.onnx")
    assert load(tmp_path / "g.onnx") == graph


def test_same_graph_same_bytes(tmp_path):
    """Saving is a function of the content, also after a round trip."""
    first, second, third = (tmp_path / f"{n}.onnx" for n in range(3))
    save(random_gcn(corners=CORNERS), first)
    save(random_gcn(corners=CORNERS), second)
    save(load(first), third)
    assert first.read_bytes() == second.read_bytes() == third.read_bytes()


def test_file_is_what_other_tools_expect():
    """Domains are declared, Quant is QONNX's, and the constants are plain initializers."""
    model = to_model(random_gcn())
    opsets = {entry.domain: entry.version for entry in model.opset_import}
    assert opsets == {"": 18, "qonnx.custom_op.general": 1, "bitwright": 1}
    domains = {node.op_type: node.domain for node in model.graph.node}
    assert domains["Quant"] == "qonnx.custom_op.general"
    assert domains["Aggregate"] == domains["CsrToDense"] == "bitwright"
    assert domains["MatMul"] == ""
    edges = next(i for i in model.graph.initializer if i.name == "edge_index")
    assert np.array_equal(numpy_helper.to_array(edges), random_gcn().tensor("edge_index").values())
    # Two bytes an index at most, where the array has eight.
    assert edges.ByteSize() < 2 * 2 * 60 + 40


def test_a_file_cut_anywhere_is_refused(tmp_path):
    """Every length but the whole one, at field borders too."""
    path = tmp_path / "cut.onnx"
    save(random_gcn(nodes=2, features=3, hidden=2, classes=2, edges=1), path)
    content = path.read_bytes()
    forms = (
        "is empty",
        "is not an ONNX file",
        "is truncated or damaged",
        ": not a BitGraph: metadata bitwright.format is missing",
        ": metadata bitwright.format is missing: the file is truncated or damaged",
    )
    messages = {re.escape(str(path)) + re.escape(f if f[0] == ":" else f" {f}") for f in forms}
    for length in itertools.chain(
        range(0, len(content) - 400, 7), range(len(content) - 400, len(content))
    ):
        path.write_bytes(content[:length])
        with pytest.raises(ValueError, match=f"^({'|'.join(messages)})$"):
            load(path)


def test_a_flipped_bit_never_gives_another_graph(tmp_path):
    """It is refused in one line, or it lies where nothing is read (a producer's name)."""
    graph = random_gcn(nodes=4, features=5, hidden=2, classes=2, edges=6)
    path = tmp_path / "flip.onnx"
    save(graph, path)
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    messages = []
    for bit in rng.choice(8 * len(content), 400, replace=False):
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << (bit % 8)
        path.write_bytes(flipped)
        try:
            assert load(path) == graph, bit
        except ValueError as error:
            messages.append(str(error))
    assert all(message.startswith(str(path)) for message in messages)
    assert all(message.isprintable() for message in messages)
    assert len(messages) > 380


def test_text_that_is_not_onnx(tmp_path):
    """A text file is named as no ONNX file."""
    path = tmp_path / "readme.onnx"
    path.write_text("# Not a model\n")
    with pytest.raises(ValueError, match=f"^{re.escape(str(path))} is not an ONNX file$"):
        load(path)


def foreign_model() -> onnx.ModelProto:
    """Make a model that someone else exported."""
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, (1, 2)) for n in "xy")
    node = helper.make_node("Softmax", ["x"], ["y"], name="/head/Softmax")
    return helper.make_model(helper.make_graph([node], "foreign", [x], [y]))


def test_foreign_model_is_refused_with_its_operator():
    """A model of someone else lacks our metadata; an operator that we do not know is named."""
    message = (
        r"^not a BitGraph: metadata bitwright\.format is missing "
        r"\(Softmax node /head/Softmax is no operator of it\)$"
    )
    with pytest.raises(ValueError, match=message):
        from_model(foreign_model())


def edited(edit) -> onnx.ModelProto:
    """Return the model of a graph after a change by hand."""
    model = to_model(random_gcn())
    edit(model)
    return model


def node_of(model: onnx.ModelProto, name: str) -> onnx.NodeProto:
    """Return a node by name."""
    return next(node for node in model.graph.node if node.name == name)


def constant_of(model: onnx.ModelProto, name: str) -> TensorProto:
    """Return an initializer by name."""
    return next(tensor for tensor in model.graph.initializer if tensor.name == name)


def _operator(model):
    node_of(model, "layer0/relu/Relu").op_type = "Conv"


def _domain(model):
    node_of(model, "layer0/acc/Aggregate").domain = "com.example"


def _attribute(model):
    node = node_of(model, "layer0/acc/Aggregate")
    next(a for a in node.attribute if a.name == "self_loops").CopyFrom(
        helper.make_attribute("self_loops", 0.5)
    )


def _version(model):
    next(p for p in model.metadata_props if p.key == "bitwright.format").value = "2"


def _hash(model):
    next(p for p in model.metadata_props if p.key == "bitwright.hash").value = "0" * 64


def _weight(model):
    tensor = constant_of(model, "layer0/weight")
    data = numpy_helper.to_array(tensor).copy()
    data[0, 0] += 1
    tensor.CopyFrom(numpy_helper.from_array(data, tensor.name))


def _edge(model):
    constant_of(model, "edge_index").int64_data[60 + 5] = 99


def _short(model):
    tensor = constant_of(model, "layer0/bias")
    tensor.raw_data = tensor.raw_data[:-4]


def _external(model):
    constant_of(model, "layer0/bias").data_location = TensorProto.EXTERNAL


def _half(model):
    tensor = constant_of(model, "layer0/bias")
    data = numpy_helper.to_array(tensor).astype(np.float16)
    tensor.CopyFrom(numpy_helper.from_array(data, tensor.name))


def _symbolic(model):
    model.graph.output[0].type.tensor_type.shape.dim[0].dim_param = "N"


def _untyped(model):
    model.graph.output[0].type.tensor_type.elem_type = 99


def _sparse(model):
    model.graph.sparse_initializer.add()


def _empty(model):
    del model.graph.node[:]


def _twice(model):
    model.graph.initializer.append(constant_of(model, "layer0/bias"))


def _missing(model):
    model.graph.initializer.remove(constant_of(model, "layer0/bias"))


EDITS = {
    _operator: "Conv node layer0/relu/Relu: operator must be one of Quant, MatMul, Mul, Add, Relu, "
    "CsrToDense, Aggregate, not Conv",
    _domain: "Aggregate node layer0/acc/Aggregate: domain must be 'bitwright', not 'com.example'",
    _attribute: "Aggregate node layer0/acc/Aggregate: self_loops must be an integer or a string",
    _version: "metadata bitwright.format must be 1, not 2",
    _hash: "content must have the hash that metadata bitwright.hash says (0000000000000000), "
    f"not {random_gcn().hash[:16]}",
    _edge: "Aggregate node layer0/acc/Aggregate: edge 5 of edge_index is "
    f"{random_gcn().tensor('edge_index').values()[0, 5]} -> 99: graph nodes must be 0 to 23",
    _short: "tensor layer0/bias: data must fill shape [1, 8] and does not",
    _external: "tensor layer0/bias: data must lie inside the file, not in another one",
    _half: "tensor layer0/bias: dtype must be one of float32, float64, int8, uint8, int16, uint16, "
    "int32, uint32, int64, bool, not float16",
    _symbolic: "tensor layer1/z: dimension 0 must be a number",
    _untyped: "tensor layer1/z must have an element type",
    _sparse: "sparse initializers, functions and training info must not be used",
    _empty: "graph must have at least one node",
    _twice: "tensor name layer0/bias must stand once",
    _missing: "Add node layer0/z/Add: tensor layer0/bias is missing",
}


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__[1:])
def test_edited_file_is_refused(edit):
    """The whole message says what is wrong and where."""
    with pytest.raises(ValueError, match=f"^{re.escape(EDITS[edit])}$"):
        from_model(edited(edit))


def test_a_changed_weight_is_found_by_the_hash():
    """A valid graph with another weight is not the graph that was saved."""
    message = r"^content must have the hash that metadata bitwright\.hash says \(\w{16}\), not \w+$"
    with pytest.raises(ValueError, match=message):
        from_model(edited(_weight))


def test_reserved_metadata_is_refused(tmp_path):
    """A key of ours in the graph's own metadata could not be read back."""
    node = Node("Relu", "relu", ("x",), ("y",))
    tensors = (Tensor("x", (1,), "float32"), Tensor("y", (1,), "float32"))
    graph = BitGraph("g", (node,), tensors, ("x",), ("y",), {"bitwright.hash": "0"})
    message = r"^metadata key bitwright\.hash must not begin with bitwright\.$"
    with pytest.raises(ValueError, match=message):
        save(graph, tmp_path / "g.onnx")
