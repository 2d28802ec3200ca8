"""``bitwright cost``: cycles, traffic, energy and area of a network, without simulating it."""

from .configs import ConfigOption, EngineArgument, PresetOption, SetOption, resolve
from .graphs import GraphOption, load_graph
from .output import JsonOption, print_json, print_table

__all__ = ["run"]


def run(
    engine: EngineArgument,
    graph: GraphOption = None,
    preset: PresetOption = None,
    config: ConfigOption = None,
    settings: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show cycles, traffic, energy and area of a BitGraph on an engine."""
    chosen = resolve(engine, preset, config, settings)
    network = load_graph(graph)
    # Loaded here, so that `doctor` works where a package is missing.
    from ..cost import cost

    report = cost(network, chosen)
    if as_json:
        print_json(report.as_dict())
        return
    estimate = report.estimate
    title = f"{network.name} on {chosen.name} (data: {report.data_tier})"
    rows = [(name, f"{count:,}") for name, count in estimate.counters.items()]
    print_table(title, ("counter", "count"), rows)
    for name, unit, bands in (
        ("energy", "pJ", estimate.energy_pj),
        ("area", "um2", estimate.area_um2),
    ):
        rows = [
            (part, f"{band.low:,.0f}", f"{band.nominal:,.0f}", f"{band.high:,.0f}")
            for part, band in bands.items()
        ]
        print_table(f"{name}, {unit}", ("part", "low", "nominal", "high"), rows)
    print(f"memory priced: {estimate.dram}, {estimate.dram_pj_per_bit.nominal:.2f} pJ/bit")
