"""The committed BitGraph of the demo: graph, features and weights of a small generated set."""

from pathlib import Path

from quant.graph.model import BitGraph
from quant.graph.onnx_import import load

__all__ = ["DEMO_PATH", "demo_graph"]

DEMO_PATH = Path(__file__).with_name("demo.onnx")
"""Made by ``python -m benchmarks.make_demo``."""


def demo_graph() -> BitGraph:
    """Load the demo network: two layers on a generated citation graph of 300 nodes."""
    return load(DEMO_PATH)
