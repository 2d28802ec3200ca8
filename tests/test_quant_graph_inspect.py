"""What `inspect` says, against a count by hand."""

import json

import numpy as np
import pytest

from quant.graph.build import LayerParameters, gcn_graph
from quant.graph.inspect import inspect
from quant.graph.model import BitGraph, Node, Tensor


def layer(reduction: int, columns: int, width: list[int], signed: bool) -> LayerParameters:
    """Make a layer of four graph nodes with these magnitude widths."""
    return LayerParameters(
        np.ones(4),
        np.array(width),
        signed,
        np.ones((reduction, columns), np.int8),
        np.ones(columns),
        np.ones(columns),
        np.zeros(columns),
    )


def test_summary_by_hand():
    """Layer 0: 6 features, B = 1, 1, 0, 2 (mean 1). Layer 1: 2 features, B = 3, 3, 0, 4 (mean 2.5).

    Codes: layer 0 6 * (1 + 1 + 0 + 2) = 24 bits; layer 1, signed, 2 * (4 + 4 + 1 + 5) = 28.
    Weights (6 * 2 + 2 * 3) * 4 = 72; operands of aggregation 4 * (2 + 3) * 4 = 80.
    Averages: (1 + 2.5) / 2 = 1.75; weighted (6 * 1 + 2 * 2.5) / 8 = 1.375.
    """
    chain = (layer(6, 2, [1, 1, 0, 2], False), layer(2, 3, [3, 3, 0, 4], True))
    edges = np.array([[0, 1, 1], [1, 0, 2]])
    graph = gcn_graph("g", np.zeros((4, 6)), edges, chain, metadata={"data": "none"})
    summary = inspect(graph)
    assert summary.code_bits == {"feature": 24 + 28, "weight": 72, "aggregate": 80}
    assert summary.average_bits == pytest.approx(1.75)
    assert summary.weighted_average_bits == pytest.approx(1.375)
    assert (summary.graph_nodes, summary.edges) == (4, 3)
    assert summary.operators == {"Quant": 6, "MatMul": 2, "Mul": 4, "Aggregate": 2, "Add": 2}
    assert summary.outputs == {"layer1/z": (4, 3)}
    assert summary.constants["edge_index"] == (2, 3)
    assert summary.metadata == {"data": "none"}
    assert summary.hash == graph.hash
    features = [tensor for tensor in summary.quantized if tensor.role == "feature"]
    assert [tensor.widths for tensor in features] == [{0: 1, 1: 2, 2: 1}, {1: 1, 4: 2, 5: 1}]
    assert [tensor.scales for tensor in features] == [4, 4]
    assert json.loads(json.dumps(summary.as_dict()))["average_bits"] == 1.75


def test_summary_without_layers():
    """A graph without features or edges has no average and no graph nodes."""
    parts = tuple(
        Tensor.constant(name, np.array(value, np.float32))
        for name, value in (("scale", 0.5), ("zero", 0), ("width", 3))
    )
    attributes = {"signed": 1, "narrow": 1, "rounding_mode": "ROUND"}
    node = Node("Quant", "quant", ("x", "scale", "zero", "width"), ("y",), attributes)
    tensors = (Tensor("x", (2, 3), "float32"), Tensor("y", (2, 3), "float32"), *parts)
    summary = inspect(BitGraph("g", (node,), tensors, ("x",), ("y",)))
    assert summary.average_bits is None
    assert summary.weighted_average_bits is None
    assert summary.graph_nodes is None
    assert summary.code_bits == {"other": 18}
    assert summary.inputs == {"x": (2, 3)}
