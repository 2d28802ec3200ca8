"""Rules that every data set must keep, and the whole message of each breach."""

import re
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from quant.gnn.graph_data import GraphData, Tier


def small(**changes: Any) -> GraphData:
    """Make a valid graph of four nodes, with some fields changed."""
    fields: dict[str, Any] = {
        "name": "small",
        "tier": Tier.FOLDER,
        "features": sp.csr_array(np.array([[1, 0], [0, 1], [1, 1], [0, 0]], np.float32)),
        "edge_index": np.array([[0, 1, 1, 1], [1, 0, 0, 1]]),
        "labels": np.array([0, 1, 0, -1]),
        "train_idx": np.array([0]),
        "val_idx": np.array([1]),
        "test_idx": np.array([2]),
        "classes": 2,
        "provenance": "by hand",
    }
    return GraphData(**{**fields, **changes})


def test_duplicates_and_self_edges_are_kept_and_counted():
    data = small()
    assert data.nodes == 4
    assert data.binary
    np.testing.assert_array_equal(data.degrees(), [2, 2, 0, 0])


def test_zeros_that_are_stored_are_dropped_and_the_caller_keeps_its_matrix():
    features = sp.csr_array((np.array([1, 0], np.float32), [1, 0], [0, 2, 2, 2, 2]), shape=(4, 2))
    data = small(features=features)
    assert data.features.nnz == 1
    assert features.nnz == 2


def test_real_features_are_not_binary():
    features = sp.csr_array(np.array([[0.5], [1], [1], [1]], np.float32))
    assert not small(features=features).binary


NAN = sp.csr_array(np.array([[1, 0], [0, 1], [1, np.nan], [0, 0]], np.float32))
INFINITE = sp.csr_array(np.array([[np.inf, 0], [0, 1], [1, 1], [0, 0]], np.float32))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"features": sp.csr_array((0, 2))}, "the graph must have at least one node, not 0"),
        ({"features": sp.csr_array((4, 0))}, "features must have at least one column, not 0"),
        ({"features": NAN}, "features of node 2 must be finite, not nan"),
        ({"features": INFINITE}, "features of node 0 must be finite, not inf"),
        ({"edge_index": np.array([[0, 1], [1, 4]])}, "edge_index[1, 1] must be in 0..3, not 4"),
        ({"edge_index": np.array([[0, -1], [1, 0]])}, "edge_index[0, 1] must be in 0..3, not -1"),
        (
            {"edge_index": np.array([0, 1])},
            "edge_index must have the shape (2, edges), not (2,)",
        ),
        ({"edge_index": np.ones((2, 1))}, "edge_index must hold integers, not float64"),
        ({"labels": np.array([0, 1])}, "labels must have the shape (4,), not (2,)"),
        ({"labels": np.array([0, 1, 2, 0])}, "labels[2] must be in -1..1, not 2"),
        ({"val_idx": np.array([], int)}, "val_idx must hold at least one node, not 0"),
        ({"test_idx": np.array([4])}, "test_idx must hold nodes in 0..3, not 4"),
        ({"test_idx": np.array([3])}, "test_idx must hold labelled nodes, not 3"),
        ({"test_idx": np.array([1])}, "node 1 must stand in one part of the split once"),
    ],
)
def test_a_breach_is_refused(changes: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=f"^small: {re.escape(message)}$"):
        small(**changes)
