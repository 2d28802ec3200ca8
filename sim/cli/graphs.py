"""The option ``--graph``: a BitGraph from a file, or the built-in one."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import quant

if TYPE_CHECKING:
    from quant.graph.model import BitGraph

__all__ = ["BUILT_IN", "GraphOption", "load_graph"]

BUILT_IN = Path(str(quant.__file__)).parent / "gnn" / "demo.onnx"
"""The BitGraph of the demo: graph, features and weights, trained on generated data."""

GraphOption = Annotated[
    Path | None, typer.Option(metavar="G.onnx", help="A BitGraph (default: the built-in one).")
]


def load_graph(path: Path | None) -> "BitGraph":
    """Return the BitGraph of a file, or the built-in one.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it holds no BitGraph.
    """
    from quant.graph.onnx_import import load

    return load(path or BUILT_IN)
