"""``bitwright sim``: the gates against golden model and cost model, on one network."""

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

from .configs import ConfigOption, EngineArgument, PresetOption, SetOption, resolve
from .failures import CHECK_FAILED
from .graphs import GraphOption, load_graph
from .output import JsonOption, say

__all__ = ["run"]


def run(
    engine: EngineArgument,
    graph: GraphOption = None,
    preset: PresetOption = None,
    config: ConfigOption = None,
    settings: SetOption = None,
    simulator: Annotated[
        Literal["verilator", "icarus"], typer.Option(help="Who executes the Verilog.")
    ] = "verilator",
    driver: Annotated[
        Literal["cocotb", "native"],
        typer.Option(help="Who drives it: Python, or C++ (faster, Verilator only)."),
    ] = "cocotb",
    partition: Annotated[
        Literal["auto", "metis", "natural"], typer.Option(help="How nodes are put into parts.")
    ] = "auto",
    part_rows: Annotated[int | None, typer.Option(help="Most nodes of a part.")] = None,
    stall: Annotated[float, typer.Option(help="Chance of a stall of each AXI channel.")] = 0.0,
    seed: Annotated[int, typer.Option(help="Seed of the stalls.")] = 1,
    waves: Annotated[
        Path | None, typer.Option(help="Folder for a waveform around the first divergence.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the report page.")] = None,
    as_json: JsonOption = False,
) -> int:
    """Lower a BitGraph, run it on the gates, compare with golden model and cost model."""
    chosen = resolve(engine, preset, config, settings)
    network = load_graph(graph)
    # Loaded here, so that `doctor` works where a package is missing.
    from ..gnn import sim
    from ..memory import MemoryOptions
    from ..report import write_report
    from ..report_table import print_report

    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    report = sim(
        network,
        chosen,
        simulator=simulator,
        driver=driver,
        memory=MemoryOptions(stall=stall, seed=seed),
        partition=partition,
        part_rows=part_rows,
        waves=waves,
        progress=say,
    )
    if as_json:
        print(report.model_dump_json(indent=1))
    else:
        print_report(report, Console())
    if out is not None:
        say(f"report: {write_report(report, out)}")
    return 0 if report.passed else CHECK_FAILED
