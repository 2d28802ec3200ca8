"""Training: the order of the operators, selection, repeatability, inputs of every kind."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from quant.gnn.generate import generate
from quant.gnn.graph_data import GraphData
from quant.gnn.recipe import CORA_NODES, FLOAT_RECIPE, RECIPES, Recipe, recipe_for
from quant.gnn.train_gcn import Gcn, Order, train
from quant.gnn.trained import AverageWidths, TrainedGcn, average_widths

DATA = generate("demo", seed=5)
SHORT = replace(recipe_for(DATA), epochs=12, bits_limit=8.0)


def arrays(trained: TrainedGcn) -> list[np.ndarray]:
    """Return every array of a trained network."""
    values = [value for layer in trained.layers for value in vars(layer).values()]
    return [*(v for v in values if v is not None), trained.logits]


def equal(first: TrainedGcn, second: TrainedGcn) -> bool:
    """Whether two trained networks agree in every bit."""
    pairs = zip(arrays(first), arrays(second), strict=True)
    return all(a.tobytes() == b.tobytes() for a, b in pairs)


@pytest.mark.parametrize("order", ["contract", "release"])
def test_float_network_is_the_gcn_of_the_textbook(order: Order):
    # Kipf and Welling: S relu(S X W1 + b1) W2 + b2 with S = D^-1/2 (A + I) D^-1/2. The release
    # of A2Q has the bias before S: S (relu(S (X W1 + b1)) W2 + b2).
    torch.manual_seed(0)
    model = Gcn(DATA, FLOAT_RECIPE, False, order, torch.Generator().manual_seed(1)).eval()
    layers = [model.layers[0], model.layers[1]]
    with torch.no_grad():
        for layer in layers:
            layer.get_parameter("bias").normal_()
        logits, error = model()
    adjacency = np.zeros((DATA.nodes, DATA.nodes))
    np.add.at(adjacency, (DATA.edge_index[1], DATA.edge_index[0]), 1)
    adjacency += np.eye(DATA.nodes)
    root = 1 / np.sqrt(adjacency.sum(1))
    propagate = root[:, None] * adjacency * root
    x = DATA.features.toarray().astype(float)
    for index, layer in enumerate(layers):
        weight, bias = (layer.get_parameter(n).detach().numpy() for n in ("weight", "bias"))
        x = (
            propagate @ x @ weight + bias
            if order == "contract"
            else propagate @ (x @ weight + bias)
        )
        x = np.maximum(x, 0) if index == 0 else x
    np.testing.assert_allclose(logits.numpy(), x, rtol=1e-4, atol=1e-5)
    assert float(error) == 0


def test_a_seed_gives_one_network_and_leaves_global_state_alone():
    before, threads = torch.get_rng_state(), torch.get_num_threads()
    first, again = train(DATA, SHORT, 3), train(DATA, SHORT, 3)
    assert equal(first, again)
    assert not equal(first, train(DATA, SHORT, 4))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.get_num_threads() == threads


def test_test_labels_have_no_influence():
    labels = DATA.labels.copy()
    labels[DATA.test_idx] = (labels[DATA.test_idx] + 1) % DATA.classes
    assert equal(train(DATA, SHORT, 3), train(replace(DATA, labels=labels), SHORT, 3))


def test_the_selected_epoch_is_the_best_within_the_limit():
    trained = train(DATA, replace(SHORT, epochs=60, bits_limit=3.0), 3)
    allowed = [e for e in trained.history if e["bits"] <= 3.0]
    assert 0 < len(allowed) < 60
    best = max(allowed, key=lambda e: (e["accuracy"], -e["val_loss"]))
    assert trained.epoch == best["epoch"]
    width = trained.layers[1].node_width
    assert width is not None
    assert width.mean() == pytest.approx(best["bits"])
    predicted = trained.logits.argmax(1)[DATA.val_idx]
    assert (predicted == DATA.labels[DATA.val_idx]).mean() == pytest.approx(best["accuracy"])


def test_training_learns_and_widths_shrink():
    trained = train(DATA, replace(SHORT, epochs=80), 3)
    first, last = trained.history[0], trained.history[-1]
    assert last["loss"] < 0.7 * first["loss"]
    assert last["bits"] < 2.5 < first["bits"]


def test_no_epoch_within_the_limit_is_an_error():
    with pytest.raises(
        ValueError,
        match="^demo: the mean width must come to 0.5 bits or less within 2 epochs, not 4.00$",
    ):
        train(DATA, replace(SHORT, epochs=2, bits_limit=0.5), 0)


def real_valued(data: GraphData, signed: bool) -> GraphData:
    """Return `data` with real features, of both signs if `signed`."""
    features = data.features.copy()
    rng = np.random.default_rng(0)
    features.data = rng.uniform(0.1, 2.0, features.nnz).astype(np.float32)
    if signed:
        features.data *= rng.choice(np.array([-1, 1], np.float32), features.nnz)
    return replace(data, features=features)


@pytest.mark.parametrize("signed", [False, True])
def test_real_input_gets_a_quantizer_per_node(signed: bool):
    data = real_valued(DATA, signed)
    first = train(data, replace(SHORT, start_width=12.0), 3).layers[0]
    assert first.node_step is not None
    assert first.node_width is not None
    assert first.node_step.shape == first.node_width.shape == (data.nodes,)
    assert first.node_width.max() == (7 if signed else 8)
    assert len(np.unique(first.node_step)) > data.nodes / 2


def test_binary_input_has_width_one_and_no_parameters():
    trained = train(DATA, SHORT, 3)
    assert trained.layers[0].node_step is None
    assert average_widths(trained.layers).per_layer[0] == 1.0


def test_averages_by_hand():
    trained = train(DATA, SHORT, 3)
    width = np.repeat([1, 3], DATA.nodes // 2)
    layers = (trained.layers[0], replace(trained.layers[1], node_width=width))
    # 128 input features of 1 bit and 16 hidden ones of 2 bits.
    assert average_widths(layers) == AverageWidths(2.0, (1.0, 2.0), (128 * 1 + 16 * 2) / 144)


def test_graphs_with_duplicates_self_edges_and_isolated_nodes_train():
    extra = np.array([[0, 0, 1, 2], [1, 1, 1, 2]])
    kept = DATA.edge_index[:, (DATA.edge_index != 5).all(0)]
    data = replace(DATA, edge_index=np.concatenate([kept, extra], axis=1))
    assert data.degrees()[5] == 0
    assert np.isfinite(train(data, SHORT, 0).logits).all()


def test_recipes_by_name_and_scaled_by_size():
    assert recipe_for(generate("cora-like")) == RECIPES["cora"]
    scaled, cora = recipe_for(DATA), RECIPES["cora"]
    # The pull on a node's b is 2 lambda (M - T) hidden / 8192 with M proportional to the nodes.
    assert scaled.memory_target_kb == pytest.approx(cora.memory_target_kb * 300 / CORA_NODES)
    assert scaled.memory_weight == pytest.approx(cora.memory_weight * CORA_NODES / 300)
    assert isinstance(scaled, Recipe)


def test_every_epoch_is_told():
    entries: list[dict[str, float]] = []
    tell: Callable[[dict[str, float]], None] = entries.append
    trained = train(DATA, SHORT, 3, on_epoch=tell)
    assert entries == trained.history
    assert [e["epoch"] for e in entries] == list(range(SHORT.epochs))
