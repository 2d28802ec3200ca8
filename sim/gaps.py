"""The second gap of a front end: from the fake-quantized network to the integers of the engine."""

from dataclasses import dataclass

import numpy as np

from hw.gnn.config import GnnConfig
from hw.gnn.lower import lower
from hw.gnn.program import Program
from models.golden.gnn.execute import Execution
from models.golden.gnn.execute import execute as execute_program
from quant.graph.execute import execute as execute_graph
from quant.graph.model import BitGraph
from quant.graph.patterns import layers

__all__ = ["IntegerGap", "gnn_integer_gap", "measure_gap"]


@dataclass(frozen=True)
class IntegerGap:
    """How far a lowered network is from its BitGraph, end to end: errors of a layer feed the next.

    Parameters
    ----------
    q_mismatch : tuple of float
        Share of differing 4-bit operands of aggregation, per layer.
    code_mismatch : tuple of float
        Share of differing feature codes that a layer writes, per layer but the last.
    mismatch : float
        Share over all these codes together.
    largest_difference : int
        Greatest difference of two codes.
    prediction_agreement : float
        Share of nodes with the same class.
    float_accuracy, integer_accuracy : float or None
        On the test nodes; None if the BitGraph carries no labels.
    """

    q_mismatch: tuple[float, ...]
    code_mismatch: tuple[float, ...]
    mismatch: float
    largest_difference: int
    prediction_agreement: float
    float_accuracy: float | None
    integer_accuracy: float | None


def gnn_integer_gap(graph: BitGraph, config: GnnConfig) -> IntegerGap:
    """Lower `graph` for `config`, execute both sides and compare them.

    Raises
    ------
    ValueError
        If lowering refuses the graph.
    """
    program = lower(graph, config)
    return measure_gap(graph, program, execute_program(program))


def measure_gap(graph: BitGraph, program: Program, golden: Execution) -> IntegerGap:
    """Compare the executed Program with the BitGraph executed in float64."""
    values = execute_graph(graph, every=True)
    differences: dict[str, list[np.ndarray]] = {"q": [], "x": []}
    for index, layer in enumerate(layers(graph)):
        q = np.rint(values[layer.outputs["q"]] / layer.xw_scale)
        differences["q"].append(q - _by_node(program, golden.q[index]))
        if index:
            x = np.rint(values[layer.outputs["x"]] / np.reshape(layer.scale, (-1, 1)))
            differences["x"].append(x - _by_node(program, golden.codes[index - 1]))
    everything = np.concatenate([d.ravel() for kind in differences.values() for d in kind])
    predictions = np.asarray(values[graph.outputs[0]]).argmax(axis=1)
    return IntegerGap(
        q_mismatch=tuple(float(np.mean(d != 0)) for d in differences["q"]),
        code_mismatch=tuple(float(np.mean(d != 0)) for d in differences["x"]),
        mismatch=float(np.mean(everything != 0)),
        largest_difference=int(np.abs(everything).max()),
        prediction_agreement=float(np.mean(predictions == golden.predictions)),
        float_accuracy=_accuracy(graph, predictions),
        integer_accuracy=_accuracy(graph, golden.predictions),
    )


def _by_node(program: Program, rows: np.ndarray) -> np.ndarray:
    """Put rows of the Program's order into the order of the graph's nodes."""
    result = np.empty_like(rows)
    result[program.node_order] = rows
    return result


def _accuracy(graph: BitGraph, predictions: np.ndarray) -> float | None:
    labels, test_idx = graph.constant("labels"), graph.constant("test_idx")
    if labels is None or test_idx is None:
        return None
    return float(np.mean(predictions[test_idx] == labels[test_idx]))
