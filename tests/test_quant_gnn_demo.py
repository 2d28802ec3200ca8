"""The committed demo: small, whole, and what its metadata say."""

import json

import numpy as np
import pytest

from quant.gnn.demo import DEMO_PATH, demo_graph
from quant.gnn.generate import generate
from quant.graph.execute import execute
from quant.graph.model import BitGraph
from quant.graph.patterns import features, layers


@pytest.fixture(scope="module")
def graph() -> BitGraph:
    """Load the file once."""
    return demo_graph()


def test_the_file_is_small():
    assert DEMO_PATH.stat().st_size <= 300_000


def test_it_holds_the_generated_set_whole(graph: BitGraph):
    data = generate("demo")
    np.testing.assert_array_equal(features(graph).toarray(), data.features.toarray())
    np.testing.assert_array_equal(graph.constant("edge_index"), data.edge_index)
    np.testing.assert_array_equal(graph.constant("labels"), data.labels)
    assert graph.metadata["tier"] == "built-in"
    assert graph.metadata["provenance"] == data.provenance


def test_widths_differ_from_node_to_node(graph: BitGraph):
    first, second = layers(graph)
    assert set(first.magnitude_width) == {1}
    assert len(set(second.magnitude_width)) >= 3
    limit = json.loads(graph.metadata["recipe"])["bits_limit"]
    assert second.magnitude_width.mean() <= limit


def test_it_classifies_far_better_than_chance(graph: BitGraph):
    labels, test_idx = graph.constant("labels"), graph.constant("test_idx")
    assert labels is not None
    assert test_idx is not None
    predictions = np.asarray(execute(graph)[graph.outputs[0]]).argmax(1)
    # Four classes, the largest has 30 % of the nodes.
    assert np.mean(predictions[test_idx] == labels[test_idx]) > 0.75
