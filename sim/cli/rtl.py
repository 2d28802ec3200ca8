"""``bitwright rtl``: the Verilog of an engine and what belongs to it."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from .configs import ConfigOption, EngineArgument, PresetOption, SetOption, resolve
from .output import JsonOption, print_json, print_table

__all__ = ["run"]


def run(
    engine: EngineArgument,
    out: Annotated[Path, typer.Option(help="Folder that the files are written to.")],
    preset: PresetOption = None,
    config: ConfigOption = None,
    settings: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write Verilog, manifest, file list and the resolved config of an engine."""
    chosen = resolve(engine, preset, config, settings)
    # Loaded here, so that `doctor` works where a package is missing.
    from ..rtl import rtl

    result = rtl(chosen, out)
    if as_json:
        print_json({**asdict(result), "files": [str(path) for path in result.files]})
        return
    rows = [(port.name, port.direction, port.width) for port in result.ports]
    print_table(f"ports of {result.top}", ("port", "direction", "bits"), rows)
    print(f"config hash {result.config_hash}, {result.lines} lines of Verilog")
    print(f"sha256 {result.sha256}")
    for path in result.files:
        print(path)
