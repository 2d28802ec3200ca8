"""``bitwright demo``: the built-in network to gates, verified, priced, with a page to look at."""

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from .configs import DEFAULT_PRESET, resolve
from .failures import CHECK_FAILED
from .graphs import load_graph
from .output import say

__all__ = ["run"]


def run(
    out: Annotated[Path, typer.Option(help="Folder for Verilog and report.")] = Path("out/demo"),
) -> int:
    """Do the main job on built-in data: BitGraph to Verilog to Verilator to a report page."""
    start = time.monotonic()
    config = resolve("gnn", DEFAULT_PRESET)
    graph = load_graph(None)
    # Loaded here, so that `doctor` works where a package is missing.
    from ..gnn import sim
    from ..report import write_report
    from ..report_table import print_report
    from ..rtl import rtl

    say("Verilog")
    design = rtl(config, out / "rtl")
    report = sim(graph, config, progress=say)
    page = write_report(report, out)
    print_report(report, Console())
    print(f"{design.lines} lines of Verilog: {design.files[0]}")
    print(f"report: {page.resolve()}")
    say(f"{time.monotonic() - start:.0f} s")
    return 0 if report.passed else CHECK_FAILED
