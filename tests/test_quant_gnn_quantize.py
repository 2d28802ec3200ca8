"""From data to a BitGraph: what is exported is what was trained, and what is refused."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest

from quant.gnn.export import export
from quant.gnn.generate import generate
from quant.gnn.graph_data import GraphData
from quant.gnn.quantize import QuantizeResult, accuracies, quantize
from quant.gnn.recipe import FLOAT_RECIPE, recipe_for
from quant.gnn.train_gcn import train
from quant.gnn.trained import TrainedGcn
from quant.graph.execute import execute
from quant.graph.patterns import features, layers

DATA = generate("demo", seed=5)
SHORT = replace(recipe_for(DATA), epochs=40, bits_limit=3.0)


@pytest.fixture(scope="module")
def result() -> QuantizeResult:
    """Train once for all tests that only look."""
    return quantize(DATA, seed=2, recipe=SHORT)


@pytest.fixture(scope="module")
def trained() -> TrainedGcn:
    """Return the network that must stand behind `result`."""
    return train(DATA, SHORT, 2)


def test_bitgraph_computes_what_training_computed(result: QuantizeResult, trained: TrainedGcn):
    # Two implementations: PyTorch in float32, the BitGraph's executor in float64.
    assert result.graph is not None
    logits = np.asarray(execute(result.graph)["layer1/z"])
    np.testing.assert_allclose(logits, trained.logits, rtol=1e-3, atol=1e-4)
    assert result.framework_agreement == 1.0
    assert result.epoch == trained.epoch
    assert result.accuracy == accuracies(DATA, trained.logits)


def test_widths_steps_and_codes_are_those_of_training(result: QuantizeResult, trained: TrainedGcn):
    hidden = trained.layers[1]
    assert result.graph is not None
    first, second = layers(result.graph)
    assert first.magnitude_width.tolist() == [1] * DATA.nodes
    assert hidden.node_width is not None
    assert hidden.node_step is not None
    assert second.magnitude_width.tolist() == hidden.node_width.tolist()
    used = hidden.node_width > 0
    np.testing.assert_array_equal(second.scale[used], hidden.node_step[used])
    assert first.weight_codes.min() >= -7
    assert first.weight_codes.max() <= 7
    assert (first.relu, second.relu, first.self_loops) == (True, False, True)


def test_data_travel_inside(result: QuantizeResult):
    graph = result.graph
    assert graph is not None
    np.testing.assert_array_equal(features(graph).toarray(), DATA.features.toarray())
    for name, expected in {
        "labels": DATA.labels,
        "train_idx": DATA.train_idx,
        "val_idx": DATA.val_idx,
        "test_idx": DATA.test_idx,
        "edge_index": DATA.edge_index,
    }.items():
        np.testing.assert_array_equal(graph.constant(name), expected)
    assert graph.metadata["tier"] == "built-in"
    assert graph.metadata["provenance"].endswith("not real data")
    assert json.loads(graph.metadata["recipe"])["hidden"] == 16


def test_a_seed_gives_one_bitgraph(result: QuantizeResult):
    again = quantize(DATA, seed=2, recipe=SHORT, with_float=False)
    assert result.graph is not None
    assert again.graph is not None
    assert again.graph.hash == result.graph.hash
    assert again.float_accuracy == {}


def test_figures_are_json_and_name_the_tier(result: QuantizeResult):
    figures = json.loads(json.dumps(result.figures()))
    assert figures["tier"] == "built-in"
    assert figures["seed"] == 2
    assert set(figures["accuracy"]) == set(figures["float_accuracy"]) == {"train", "val", "test"}
    assert figures["average_widths"]["hidden"] <= SHORT.bits_limit
    assert "graph" not in figures


def test_real_and_signed_input_is_exported():
    data_features = DATA.features.copy()
    rng = np.random.default_rng(0)
    data_features.data = rng.uniform(-2, 2, data_features.nnz).astype(np.float32)
    data: GraphData = replace(DATA, features=data_features)
    recipe = replace(SHORT, epochs=5, bits_limit=8.0)
    result = quantize(data, seed=1, recipe=recipe, with_float=False)
    assert result.graph is not None
    first = layers(result.graph)[0]
    assert first.signed
    assert first.magnitude_width.max() <= 7
    assert result.framework_agreement is not None
    assert result.framework_agreement > 0.98


def test_width_zero_is_exported_with_step_one(trained: TrainedGcn):
    width = np.zeros(DATA.nodes, np.int64)
    hollow = replace(
        trained, layers=(trained.layers[0], replace(trained.layers[1], node_width=width))
    )
    graph = export(DATA, hollow, {})
    second = layers(graph)[1]
    assert (second.scale == 1).all()
    assert (second.magnitude_width == 0).all()
    # Nothing passes the second layer's input, so its result is the bias alone.
    logits = np.asarray(execute(graph)["layer1/z"])
    np.testing.assert_array_equal(logits, np.tile(trained.layers[1].bias, (DATA.nodes, 1)))


def test_float_method_gives_no_graph():
    result = quantize(DATA, "fp32", recipe=replace(FLOAT_RECIPE, epochs=3))
    assert result.graph is None
    assert result.average_widths is None
    assert result.accuracy == result.float_accuracy


def test_float_network_cannot_be_exported(tmp_path):
    float_network = train(DATA, replace(FLOAT_RECIPE, epochs=1), 0, quantized=False)
    with pytest.raises(
        ValueError, match="^a BitGraph must be made of a quantized network, not of a float one$"
    ):
        export(DATA, float_network, {})
    with pytest.raises(
        ValueError,
        match="^out must not be given with method fp32: a float network has no codes$",
    ):
        quantize(DATA, "fp32", out=tmp_path / "x.onnx")


def test_unknown_method_is_refused():
    with pytest.raises(ValueError, match="^method must be one of a2q, fp32, not 'dq'$"):
        quantize(DATA, "dq")


def test_without_pytorch_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    for name in [n for n in sys.modules if n.startswith("quant.gnn.train_")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(
        ImportError, match=r"^training needs PyTorch: pip install 'bitwright\[train\]'$"
    ):
        quantize(DATA)


def test_progress_goes_to_stderr(capsys: pytest.CaptureFixture[str]):
    recipe = replace(SHORT, epochs=2, bits_limit=8.0)
    quantize(DATA, recipe=recipe, progress=True, with_float=False)
    out, err = capsys.readouterr()
    assert out == ""
    assert "demo A2Q seed 0" in err
