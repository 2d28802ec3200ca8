"""``bitwright replay``: one run as a folder that needs a Verilog simulator and nothing else."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from .configs import ConfigOption, EngineArgument, PresetOption, SetOption, resolve
from .graphs import GraphOption, load_graph
from .output import JsonOption, print_json

__all__ = ["run"]


def run(
    engine: EngineArgument,
    out: Annotated[Path, typer.Option(help="Folder that the files are written to.")],
    graph: GraphOption = None,
    preset: PresetOption = None,
    config: ConfigOption = None,
    settings: SetOption = None,
    partition: Annotated[
        Literal["auto", "metis", "natural"], typer.Option(help="How nodes are put into parts.")
    ] = "auto",
    part_rows: Annotated[int | None, typer.Option(help="Most nodes of a part.")] = None,
    stall: Annotated[float, typer.Option(help="Chance of a stall of each AXI channel.")] = 0.0,
    seed: Annotated[int, typer.Option(help="Seed of the stalls.")] = 1,
    as_json: JsonOption = False,
) -> None:
    """Write a run as Verilog with a bench that checks itself, for Icarus and Verilator."""
    chosen = resolve(engine, preset, config, settings)
    network = load_graph(graph)
    # Loaded here, so that `doctor` works where a package is missing.
    from ..memory import MemoryOptions
    from ..replay import replay

    written = replay(
        network,
        chosen,
        out,
        memory=MemoryOptions(stall=stall, seed=seed),
        partition=partition,
        part_rows=part_rows,
    )
    if as_json:
        paths = [str(out / name) for name in written.files]
        content = {"memory_bytes": written.memory_bytes, "cycles": written.cycles, "files": paths}
        print_json(content)
        return
    print(f"{written.memory_bytes:,} bytes of memory, {written.cycles:,} cycles predicted")
    for name in written.files:
        print(out / name)
    print(f"run it: make -C {out} icarus, or make -C {out} verilator")
