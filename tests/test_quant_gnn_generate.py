"""Generated citation graphs: the statistics that they promise, and that a seed gives one graph."""

import numpy as np
import pytest

from quant.gnn.generate import PRESETS, generate
from quant.gnn.graph_data import GraphData, Tier

EXPECTED = {
    # Mean, p90 and p99 of degree, homophily, words a node, as measured on the real sets.
    "cora-like": (3.90, 7, 19, 0.810, 18.2),
    "citeseer-like": (2.74, 6, 15, 0.738, 31.6),
    "pubmed-like": (4.50, 12, 35, 0.802, 50.1),
    # Degrees and homophily of Cora on fewer nodes, fewer words.
    "demo": (4.00, 7, 19, 0.810, 10.0),
}


@pytest.fixture(scope="module", params=PRESETS)
def drawn(request: pytest.FixtureRequest) -> GraphData:
    """Draw one graph of each preset, with a seed that nothing was tuned on."""
    return generate(request.param, seed=7)


def test_degrees_follow_the_statistics(drawn: GraphData):
    mean, p90, p99, _, _ = EXPECTED[drawn.name]
    degrees = drawn.degrees()
    assert degrees.mean() == pytest.approx(mean, rel=0.02)
    assert np.percentile(degrees, 90) == pytest.approx(p90, rel=0.25)
    assert np.percentile(degrees, 99) == pytest.approx(p99, rel=0.25)


def test_homophily_and_words_follow_the_statistics(drawn: GraphData):
    _, _, _, homophily, words = EXPECTED[drawn.name]
    source, target = drawn.edge_index
    assert (drawn.labels[source] == drawn.labels[target]).mean() == pytest.approx(
        homophily, abs=0.02
    )
    assert drawn.features.nnz / drawn.nodes == pytest.approx(words, rel=0.03)


def test_graph_is_simple_and_symmetric(drawn: GraphData):
    source, target = drawn.edge_index
    assert (source != target).all()
    keys = source * drawn.nodes + target
    assert np.unique(keys).size == keys.size
    np.testing.assert_array_equal(np.sort(target * drawn.nodes + source), keys)


def test_sizes_and_split_are_those_of_the_preset(drawn: GraphData):
    statistics = PRESETS[drawn.name]
    assert drawn.tier is Tier.BUILT_IN
    assert drawn.nodes == statistics.nodes
    assert drawn.reduction == statistics.words
    np.testing.assert_array_equal(np.bincount(drawn.labels), statistics.class_nodes)
    per_class = np.bincount(drawn.labels[drawn.train_idx])
    assert (per_class == statistics.train_per_class).all()
    assert drawn.val_idx.size == statistics.val_nodes
    assert drawn.test_idx.size == statistics.test_nodes
    assert drawn.degrees().max() == statistics.degree_max
    assert drawn.binary != statistics.real


def test_provenance_says_that_it_is_not_real():
    assert generate("demo", 3).provenance == (
        "generated citation graph demo, seed 3; not real data"
    )


def test_a_seed_gives_one_graph_and_another_seed_another():
    first, again, other = generate("demo", 1), generate("demo", 1), generate("demo", 2)
    np.testing.assert_array_equal(first.edge_index, again.edge_index)
    np.testing.assert_array_equal(first.features.indices, again.features.indices)
    assert (
        first.edge_index.shape != other.edge_index.shape
        or (first.edge_index != other.edge_index).any()
    )


def test_unknown_preset_is_refused():
    known = "cora-like, citeseer-like, pubmed-like, demo"
    with pytest.raises(
        ValueError, match=f"^the generated graph must be one of {known}, not 'cora'$"
    ):
        generate("cora")
