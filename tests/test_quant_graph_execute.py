"""The float executor against a hand calculation, QONNX's executor and plain matrix algebra."""

import numpy as np
import pytest
from scipy import sparse

from quant.graph.build import LayerParameters, gcn_graph
from quant.graph.execute import execute
from quant.graph.model import BitGraph, Node, Tensor
from quant.graph.onnx_export import to_model
from quant.graph.synthetic import CORNERS, random_gcn


def four_nodes() -> BitGraph:
    """Make the graph of the hand calculation: edges 0-1 both ways, 2 -> 1 twice, node 3 alone."""
    first = LayerParameters(
        scale=np.ones(4),
        magnitude_width=np.ones(4, int),
        signed=False,
        weight_codes=np.array([[3], [-2]]),
        weight_scale=np.array([0.625]),
        xw_scale=np.array([0.25]),
        bias=np.array([0.125]),
    )
    second = LayerParameters(
        scale=np.full(4, 0.25),
        magnitude_width=np.array([2, 2, 2, 0]),
        signed=False,
        weight_codes=np.array([[2]]),
        weight_scale=np.array([1.0]),
        xw_scale=np.array([0.5]),
        bias=np.array([-0.5]),
    )
    x = sparse.csr_array(np.array([[1, 0], [0, 1], [1, 1], [0, 0]]))
    edges = np.array([[0, 1, 2, 2], [1, 0, 1, 1]])
    return gcn_graph("four", x, edges, (first, second), dtype="float64")


def test_four_nodes_by_hand():
    """Degrees with self loop 2, 4, 1, 1, so c = sqrt(1/2), 1/2, 1, 1.

    Layer 0: W = 1.875, -1.25; XW = 1.875, -1.25, 0.625, 0; times c = 1.3258, -0.625, 0.625, 0; in
    steps of 0.25 = 5.3, -2.5, 2.5, 0, so q = 5, -3, 3, 0 (ties away from zero). Sums: 5 - 3 = 2;
    -3 + 5 + 3 + 3 = 8; 3; 0. Times 0.25 and c, plus 0.125: 0.47855, 1.125, 0.875, 0.125.
    Layer 1: in steps of 0.25 = 1.9, 4.5, 3.5, 0.5: codes 2, 3, 3 (two bits), 0 (no bits).
    W = 2; XW = 1, 1.5, 1.5, 0; times c = 0.707, 0.75, 1.5, 0; q = 1, 2 (tie), 3, 0.
    Sums: 3; 2 + 1 + 3 + 3 = 9; 3; 0. Times 0.5 and c, minus 0.5: 0.56066, 1.75, 1, -0.5.
    """
    values = execute(four_nodes(), every=True)
    assert (values["layer0/q"] / 0.25).ravel().tolist() == [5, -3, 3, 0]
    assert (values["layer0/acc"] / 0.25).ravel().tolist() == [2, 8, 3, 0]
    half = 0.5**0.5
    assert values["layer0/z"].ravel() == pytest.approx([0.5 * half + 0.125, 1.125, 0.875, 0.125])
    assert (values["layer1/x"] / 0.25).ravel().tolist() == [2, 3, 3, 0]
    assert (values["layer1/q"] / 0.5).ravel().tolist() == [1, 2, 3, 0]
    assert values["layer1/z"].ravel() == pytest.approx([1.5 * half - 0.5, 1.75, 1.0, -0.5])


def test_outputs_only_unless_every_tensor_is_wanted():
    """The result holds the outputs by name, or all tensors."""
    graph = four_nodes()
    assert set(execute(graph)) == {"layer1/z"}
    assert set(execute(graph, every=True)) == {tensor.name for tensor in graph.tensors}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("self_loops", [False, True])
def test_per_node_widths_equal_plain_loops(seed, signed, self_loops):
    """A second implementation, one graph node and one edge at a time, agrees on every corner."""
    graph = random_gcn(
        seed=seed, corners=CORNERS, signed=signed, self_loops=self_loops, input_width=None
    )
    values = execute(graph, every=True)
    for layer, source in ((0, "features"), (1, "layer0/z" if signed else "layer0/relu")):
        x = values[source]
        x = x.toarray() if sparse.issparse(x) else x
        get = {
            k: graph.tensor(f"layer{layer}/{k}").values().astype(float)
            for k in ("x.scale", "x.width", "weight", "q.scale", "bias")
        }
        rows = []
        for row, step, width in zip(x, get["x.scale"], get["x.width"], strict=True):
            top = 2 ** (width - signed) - 1
            codes = np.minimum(np.floor(np.abs(row) / step + 0.5), top)
            negative = -1 if signed else 0
            rows.append(np.where(row < 0, negative, 1) * codes * step)
        c = graph.tensor("c").values().astype(float)
        h = (np.array(rows) @ get["weight"]) * c / get["q.scale"]
        q = np.sign(h) * np.minimum(np.floor(np.abs(h) + 0.5), 7)
        total = q * self_loops
        for start, end in graph.tensor("edge_index").values().T:
            total[end] += q[start]
        z = total * get["q.scale"] * c + get["bias"]
        assert values[f"layer{layer}/z"] == pytest.approx(z, rel=1e-12, abs=1e-12)


def mlp(widths: tuple[np.ndarray, np.ndarray], signed: bool) -> BitGraph:
    """Make a dense two-layer network with steps that are powers of two."""
    rng = np.random.default_rng(1)
    tensors = [Tensor("x", (8, 6), "float32")]
    nodes = []

    def constant(name: str, values: np.ndarray | float) -> str:
        tensors.append(Tensor.constant(name, np.asarray(values, np.float32)))
        return name

    def node(op: str, output: str, shape: tuple[int, ...], *inputs: str, **attributes) -> str:
        nodes.append(Node(op, f"{op}_{output}", inputs, (output,), attributes))
        tensors.append(Tensor(output, shape, "float32"))
        return output

    def quant(x: str, output: str, shape, scale, width, is_signed: bool) -> str:
        parts = [
            constant(f"{output}_{part}", v)
            for part, v in (("scale", scale), ("zero", np.array(0)), ("width", width))
        ]
        flags = {"signed": int(is_signed), "narrow": int(is_signed), "rounding_mode": "HALF_UP"}
        return node("Quant", output, shape, x, *parts, **flags)

    x = "x"
    for index, (columns, reduction) in enumerate(((5, 6), (3, 5))):
        is_signed = signed and index == 0
        x = quant(x, f"x{index}", (8, reduction), 0.25, widths[index], is_signed)
        weight = constant(f"weight{index}", rng.integers(-7, 8, (reduction, columns)) / 8)
        weight = quant(
            weight, f"w{index}", (reduction, columns), np.full((1, columns), 1 / 8), 4, True
        )
        x = node("MatMul", f"xw{index}", (8, columns), x, weight)
        x = node(
            "Add",
            f"z{index}",
            (8, columns),
            x,
            constant(f"bias{index}", np.full((1, columns), 0.5)),
        )
        if index == 0:
            x = node("Relu", "relu", (8, columns), x)
    return BitGraph("mlp", tuple(nodes), tuple(tensors), ("x",), (x,))


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("width", [2, 4, 8])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_scalar_widths_run_in_qonnx(signed, width):
    """QONNX 1.0.0 executes a file with one width a tensor, and gives our values exactly."""
    wrapper = pytest.importorskip("qonnx.core.modelwrapper").ModelWrapper
    run = pytest.importorskip("qonnx.core.onnx_exec").execute_onnx
    graph = mlp((np.array(width), np.array(3)), signed)
    x = (np.random.default_rng(2).integers(-40, 40, (8, 6)) / 16).astype(np.float32)
    theirs = run(wrapper(to_model(graph)), {"x": x}, return_full_exec_context=True)
    ours = execute(graph, {"x": x}, every=True)
    assert any(np.abs(x).ravel() * 4 % 1 == 0.5)
    for name, value in ours.items():
        assert np.array_equal(theirs[name], value), name


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_widths_per_graph_node_load_in_qonnx():
    """QONNX reads such a file, though its executor takes scalar widths only; ours takes them."""
    wrapper = pytest.importorskip("qonnx.core.modelwrapper").ModelWrapper
    graph = mlp((np.arange(1, 9)[:, None], np.array(3)), False)
    loaded = wrapper(to_model(graph))
    assert np.array_equal(loaded.get_initializer("x0_width"), np.arange(1, 9)[:, None])
    values = execute(graph, {"x": np.full((8, 6), 100.0)}, every=True)["x0"]
    assert (values[:, 0] * 4).tolist() == [1, 3, 7, 15, 31, 63, 127, 255]
    gcn = wrapper(to_model(random_gcn()))
    assert [node.op_type for node in gcn.graph.node].count("Aggregate") == 2


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, r"^inputs must be \['x'\], not \[\]$"),
        ({"y": np.zeros((8, 6))}, r"^inputs must be \['x'\], not \['y'\]$"),
        ({"x": np.zeros((8, 7))}, r"^input x must have shape \(8, 6\), not \(8, 7\)$"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(inputs, message):
    """A missing, unknown or misshapen input is named."""
    with pytest.raises(ValueError, match=message):
        execute(mlp((np.array(4), np.array(4)), False), inputs)
