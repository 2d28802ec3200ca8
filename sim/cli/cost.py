"""``bitwright cost``: cycles, traffic, energy and area of a network, without simulating it."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from .configs import ConfigOption, EngineArgument, PresetOption, SetOption, resolve
from .graphs import GraphOption, load_graph
from .output import JsonOption, print_json, print_table

if TYPE_CHECKING:
    from models.cost.tables import Band

    from ..cost import CostReport

__all__ = ["run"]


def run(
    engine: EngineArgument,
    graph: GraphOption = None,
    preset: PresetOption = None,
    config: ConfigOption = None,
    settings: SetOption = None,
    partition: Annotated[
        Literal["auto", "metis", "natural"], typer.Option(help="How nodes are put into parts.")
    ] = "auto",
    part_rows: Annotated[int | None, typer.Option(help="Most nodes of a part.")] = None,
    dram: Annotated[
        Literal["hbm2", "hbm1", "ddr4", "lpddr4"], typer.Option(help="Memory that is priced.")
    ] = "hbm2",
    as_json: JsonOption = False,
) -> None:
    """Show cycles, traffic, energy and area of a BitGraph on an engine."""
    chosen = resolve(engine, preset, config, settings)
    network = load_graph(graph)
    # Loaded here, so that `doctor` works where a package is missing.
    from ..cost import cost

    report = cost(network, chosen, partition=partition, part_rows=part_rows, dram=dram)
    if as_json:
        print_json(report.as_dict())
    else:
        _print(report)


def _print(report: "CostReport") -> None:
    config, estimate, total = report.program.config, report.estimate, report.total
    print(
        f"{report.graph_name} on {config.name} (data: {report.data_tier}), "
        f"{len(report.program.parts)} part(s): {total.cycles:,} cycles on ideal memory"
    )
    print_table(
        "cycles by layer and phase",
        ("layer", "engine", "commands", "start", "end", "waiting", "working"),
        [
            (p.layer, p.engine, p.commands, *_counts(p.start, p.end, p.waiting_cycles),
             *_counts(p.working_cycles))
            for p in report.phases
        ],
    )  # fmt: skip
    print_table(
        "traffic by stream",
        ("stream", "direction", "beats", "bytes", "bursts"),
        [(t.stream, t.direction, *_counts(t.beats, t.bytes, t.bursts)) for t in report.traffic],
    )
    rows = [(name, *_counts(count)) for name, count in estimate.counters.items()]
    print_table("counters", ("counter", "count"), rows)
    _print_bands("energy, nJ", estimate.energy_pj, total.total_energy_pj, 1e3)
    low, nominal, high = estimate.dram_pj_per_bit
    print(f"memory priced: {estimate.dram} at {nominal:.2f} pJ/bit ({low:.2f} to {high:.2f})")
    low, nominal, high = estimate.leakage_uw
    print(
        f"leakage of the buffers, not in the energy: {nominal:,.0f} uW ({low:,.0f} to {high:,.0f})"
    )
    _print_bands("area, um2", estimate.area_um2, total.total_area_um2, 1)
    print("Energy and area are estimates at 28 nm, not silicon: low, nominal and high.")


def _counts(*values: int) -> tuple[str, ...]:
    return tuple(f"{value:,}" for value in values)


def _print_bands(title: str, parts: Mapping[str, "Band"], total: "Band", unit: float) -> None:
    def cells(name: str, band: Iterable[float]) -> tuple[str, ...]:
        return name, *(f"{value / unit:,.1f}" for value in band)

    rows = [cells(name, band) for name, band in parts.items()]
    print_table(title, ("unit", "low", "nominal", "high"), [*rows, cells("total", total)])
