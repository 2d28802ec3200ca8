"""The console script: collects the verbs, turns failures into one line and an exit code."""

import sys
import traceback
from collections.abc import Sequence

import typer

from .failures import explain
from .verbs import VERBS

__all__ = ["app", "main"]

app = typer.Typer(
    name="bitwright",
    help="From a quantized network to verified Verilog with a checked cost.",
    epilog="Exit codes: 0 good, 1 a check failed or outputs differ, 2 a mistake in what was asked, "
    "3 a tool is missing, 4 a fault of bitwright. --debug prints the traceback.",
    add_completion=False,
    pretty_exceptions_enable=False,
)
for _name, _run in VERBS.items():
    app.command(_name)(_run)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    given = [argument for argument in given if argument != "--debug"] or ["--help"]
    try:
        return app(given, prog_name="bitwright", standalone_mode=False) or 0
    except Exception as error:
        if debug:
            traceback.print_exc()
        code, line = explain(error)
        print(f"bitwright: {line}", file=sys.stderr)
        return code
