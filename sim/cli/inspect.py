"""``bitwright inspect``: operators, shapes, bit widths, memory and average bits of a BitGraph."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .output import JsonOption, print_json, print_table

if TYPE_CHECKING:
    from quant.graph.inspect import QuantizedTensor, Summary

__all__ = ["run"]


def run(
    graph: Annotated[Path, typer.Argument(metavar="G.onnx", help="A BitGraph.")],
    as_json: JsonOption = False,
) -> None:
    """Show operators, shapes, bit widths, memory and average bits of a BitGraph."""
    # Loaded here, so that `doctor` works where a package is missing.
    from quant.graph.inspect import inspect
    from quant.graph.onnx_import import load

    summary = inspect(load(graph))
    if as_json:
        print_json(summary.as_dict())
    else:
        _print(summary)


def _print(summary: "Summary") -> None:
    operators = ", ".join(f"{count} {name}" for name, count in summary.operators.items())
    print(f"{summary.name}: {operators}")
    if summary.graph_nodes is not None:
        print(f"data graph: {summary.graph_nodes} nodes, {summary.edges} edges")
    for title, shapes in (("inputs", summary.inputs), ("outputs", summary.outputs)):
        for name, shape in shapes.items():
            print(f"{title}: {name} {list(shape)}")
    print_table(
        "quantized tensors",
        ("tensor", "role", "shape", "codes", "widths", "average magnitude bits", "kilobytes"),
        [_row(tensor) for tensor in summary.quantized],
    )
    if summary.average_bits is not None and summary.weighted_average_bits is not None:
        print(f"average bits of features: {summary.average_bits:.3f} (mean over layers)")
        print(f"average bits of features: {summary.weighted_average_bits:.3f} (by features)")
    for key, value in summary.metadata.items():
        print(f"{key}: {value}")


def _row(tensor: "QuantizedTensor") -> tuple[object, ...]:
    shape = " x ".join(map(str, tensor.shape))
    sign = "signed" if tensor.signed else "unsigned"
    widths = sorted(tensor.widths)
    span = f"{widths[0]}" if len(widths) == 1 else f"{widths[0]}..{widths[-1]}"
    kilobytes = f"{tensor.code_bits / 8e3:.1f}"
    return tensor.name, tensor.role, shape, sign, span, f"{tensor.average_bits:.2f}", kilobytes
