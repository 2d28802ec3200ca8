"""The gap between a BitGraph in real numbers and the engine's integers, on a generated graph."""

from dataclasses import replace

import numpy as np
import pytest

from hw.gnn.config import PRESETS
from hw.gnn.lower import lower
from models.golden.gnn.execute import execute
from quant.graph.model import BitGraph, Tensor
from quant.graph.synthetic import random_gcn
from sim.gaps import gnn_integer_gap, measure_gap

GRAPH = random_gcn(nodes=60, edges=150, corners=("hub", "duplicates", "isolated", "widths"))
PROGRAM = lower(GRAPH, PRESETS["tiny"], "natural", 16)
"""Several parts, so that rows do not stand in the order of the nodes."""


def test_the_gap_of_a_small_graph_is_small():
    gap = gnn_integer_gap(GRAPH, PRESETS["tiny"])
    assert len(gap.q_mismatch) == 2
    assert len(gap.code_mismatch) == 1
    assert gap.mismatch < 0.01
    # A q code that is off by one weighs several steps at a node of width 8.
    assert gap.largest_difference <= 8
    assert gap.prediction_agreement > 0.98


def test_rows_are_compared_node_by_node():
    order = PROGRAM.node_order[::-1].copy()
    golden = execute(PROGRAM)
    right = measure_gap(GRAPH, PROGRAM, golden)
    wrong = measure_gap(GRAPH, replace(PROGRAM, node_order=order), golden)
    assert right.mismatch < 0.01 < wrong.mismatch


@pytest.mark.parametrize("kind", ["q", "codes"])
def test_one_changed_code_is_counted_once(kind: str):
    golden = execute(PROGRAM)
    before = measure_gap(GRAPH, PROGRAM, golden)
    layers = [values.copy() for values in getattr(golden, kind)]
    layers[0][3, 2] += 20
    changed = measure_gap(GRAPH, PROGRAM, replace(golden, **{kind: tuple(layers)}))
    values = [*golden.q, *golden.codes]
    total = sum(v.size for v in values)
    assert changed.mismatch * total == pytest.approx(before.mismatch * total + 1)
    assert changed.largest_difference in (19, 20, 21)
    rates = changed.q_mismatch if kind == "q" else changed.code_mismatch
    old = before.q_mismatch if kind == "q" else before.code_mismatch
    assert (rates[0] - old[0]) * layers[0].size == pytest.approx(1)


def with_constants(**constants: np.ndarray) -> BitGraph:
    """Return the graph with these labels and splits inside, and no others."""
    kept = [t for t in GRAPH.tensors if t.name not in ("labels", "test_idx")]
    extra = [Tensor.constant(name, values) for name, values in constants.items()]
    return replace(GRAPH, tensors=(*kept, *extra))


def test_accuracy_is_that_of_the_test_nodes():
    golden = execute(PROGRAM)
    labels = golden.predictions.astype(np.int32)
    labels[:2] = (labels[:2] + 1) % 4
    graph = with_constants(labels=labels, test_idx=np.arange(0, 60, 2))
    assert measure_gap(graph, PROGRAM, golden).integer_accuracy == pytest.approx(29 / 30)


def test_without_labels_there_is_no_accuracy():
    gap = measure_gap(with_constants(), PROGRAM, execute(PROGRAM))
    assert gap.float_accuracy is None
    assert gap.integer_accuracy is None
