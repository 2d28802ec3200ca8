"""Remakes the README's figure: ``python -m benchmarks.make_readme_figure [FILE]``.

The built-in network runs on the gates of `tiny`; the figure shows cycles of each command, simulated
and predicted, and the energy of each part as low, nominal and high.
"""

import sys
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure

from hw.gnn.config import PRESETS
from quant.gnn.demo import demo_graph
from sim.gnn import sim
from sim.witness import WitnessReport

OUT = Path(__file__).resolve().parents[1] / "docs" / "figures" / "demo.png"

SIMULATED, PREDICTED, DARK, MUTED = "#1f5fa8", "#e08a1e", "#111827", "#6b7280"

STYLE: dict[Any, Any] = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#9ca3af",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
}

ENGINES = {"combine": "combination", "aggregate": "aggregation"}


def main() -> None:
    """Run the demo's network and write the figure."""
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else OUT
    report = sim(demo_graph(), PRESETS["tiny"], progress=print)
    out.parent.mkdir(parents=True, exist_ok=True)
    with rc_context(STYLE):
        draw(report).savefig(out, dpi=160, metadata={"Software": None})
    print(out)


def draw(report: WitnessReport) -> Figure:
    """Return the figure of a report."""
    figure = Figure(figsize=(10, 3.6), layout="constrained", facecolor="white")
    left, right = figure.subplots(1, 2, width_ratios=(1.15, 1))
    draw_cycles(left, report)
    draw_energy(right, report)
    facts = report.graph
    figure.supxlabel(
        f"built-in (generated) data: {facts['nodes']:,} nodes, {facts['edges']:,} edges, "
        f"{facts['layers']} layers, engine {report.config['name']}; every output byte and event "
        f"counter {'equal' if report.outputs_equal and report.events_equal else 'NOT equal'}",
        fontsize=9,
        color=MUTED,
    )
    return figure


def draw_cycles(axes: Any, report: WitnessReport) -> None:
    """Draw simulated and predicted cycles of each command, from release to completion."""
    commands = sorted(report.commands, key=lambda row: (row.layer, row.engine != "combine"))
    for index, row in enumerate(commands):
        simulated, predicted = (
            times[2] - times[1] for times in (row.simulated_cycles, row.predicted_cycles)
        )
        axes.bar(index - 0.2, simulated, 0.38, color=SIMULATED)
        axes.bar(index + 0.2, predicted, 0.38, color=PREDICTED)
        error = f"{row.error_percent:+.2f} %" if simulated != predicted else "equal"
        axes.annotate(
            f"{simulated:,}\n{error}",
            (index, max(simulated, predicted)),
            (0, 3),
            textcoords="offset points",
            ha="center",
            fontsize=9,
        )
    names = [f"layer {row.layer}\n{ENGINES[row.engine]}" for row in commands]
    axes.set_xticks(range(len(names)), names)
    axes.tick_params(axis="x", length=0)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_ylabel("cycles")
    axes.margins(y=0.2)
    axes.set_title(
        f"Cycles: {report.cycles_simulated:,} in all, "
        f"predicted {report.cycles_predicted:,} ({report.time_error_percent:+.2f} %)"
    )
    axes.legend(
        handles=[axes.containers[0], axes.containers[1]],
        labels=["simulated (gates)", "predicted (cost model)"],
        frameon=False,
        fontsize=9,
        loc="upper right",
    )


def draw_energy(axes: Any, report: WitnessReport) -> None:
    """Draw each part's energy: a dot for nominal, a line from low to high."""
    rows = sorted(report.energy, key=lambda row: row.nominal_pj)
    bands = [(row.part.replace("_", " "), row.low_pj, row.nominal_pj, row.high_pj) for row in rows]
    bands.append(("total", *(sum(band[at] for band in bands) for at in (1, 2, 3))))
    for index, (_, *picojoules) in enumerate(bands):
        low, nominal, high = (value / 1e3 for value in picojoules)
        axes.plot([low, high], [index, index], color=MUTED, lw=2, marker="|", ms=8)
        axes.plot(nominal, index, "o", color=SIMULATED, ms=6)
        axes.annotate(
            f"{nominal:,.0f}" if nominal >= 100 else f"{nominal:#.3g}",
            (high, index),
            (8, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
        )
    axes.set_yticks(range(len(bands)), [band[0] for band in bands])
    axes.tick_params(axis="y", length=0)
    axes.set_xscale("log")
    axes.margins(x=0.2)
    axes.set_xlabel("nJ, logarithmic: dot nominal, line low to high")
    axes.set_title("Energy of one inference")


if __name__ == "__main__":
    main()
