"""Figures of one witness report. Each says on which data tier it was made."""

import io
from collections.abc import Callable
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from sim.witness import CommandRow, WitnessReport

__all__ = ["FIGURES", "png_bytes", "svg_bytes"]

_SIMULATED, _PREDICTED = "#1f5fa8", "#e08a1e"
_LAYERS = ("#1f5fa8", "#2f9e77", "#8a5fb0", "#b5503c")
_MUTED = "#6b7280"
_ENGINES = {"combine": "combination", "aggregate": "aggregation"}
_LONGEST_RANGE = 8

_STYLE: dict[Any, Any] = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#9ca3af",
    "axes.titleweight": "bold",
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "svg.hashsalt": "bitwright",
    "svg.fonttype": "path",
}


def _three_digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _figure(report: WitnessReport, title: str) -> tuple[Figure, Any]:
    figure = Figure(figsize=(6.0, 3.2), layout="constrained")
    axes = figure.subplots()
    axes.set_title(title)
    tier = f"data: {report.graph['name']}, tier {report.data_tier}"
    figure.supxlabel(tier, x=0.995, ha="right", fontsize=8, color=_MUTED)
    return figure, axes


def cycles_figure(report: WitnessReport) -> Figure:
    """Compare simulated and predicted cycles of each layer and phase."""
    phases = report.phases
    figure, axes = _figure(report, "Cycles per layer and phase")
    for index, phase in enumerate(phases):
        simulated, predicted = phase.simulated, phase.predicted
        axes.bar(index - 0.2, simulated, 0.38, color=_SIMULATED)
        axes.bar(index + 0.2, predicted, 0.38, color=_PREDICTED)
        exact = simulated == predicted
        label = f"{simulated:,}\n" + ("exact" if exact else f"{phase.error_percent:+.2f} %")
        axes.annotate(
            label, (index, max(simulated, predicted)), (0, 3), textcoords="offset points",
            ha="center", fontsize=8, color="#374151",
        )  # fmt: skip
    names = [f"layer {phase.layer}\n{_ENGINES[phase.engine]}" for phase in phases]
    axes.set_xticks(range(len(phases)), names)
    axes.set_ylabel("cycles")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.margins(y=0.18)
    keys = [Patch(color=_SIMULATED), Patch(color=_PREDICTED)]
    names = ["simulated (gates)", "predicted (cost model)"]
    figure.legend(keys, names, frameon=False, ncols=2, fontsize=9, loc="outside upper right")
    return figure


def timeline_figure(report: WitnessReport) -> Figure:
    """Show when each engine took, was released for and completed its commands."""
    figure, axes = _figure(report, "Commands of the two engines over time (gates)")
    seen: dict[int, None] = {}
    for row in report.commands:
        seen[row.layer] = None
        _command_bar(axes, row, report.cycles_simulated)
    axes.set_yticks([1, 0], list(_ENGINES.values()))
    axes.set_ylim(-0.6, 1.6)
    axes.set_xlim(0, report.cycles_simulated)
    axes.set_xlabel("cycle since start")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.tick_params(axis="y", length=0)
    keys = [Patch(color=_LAYERS[layer % len(_LAYERS)]) for layer in seen]
    keys.append(Patch(facecolor="white", edgecolor=_MUTED, hatch="////"))
    labels = [*(f"layer {layer}" for layer in seen), "taken, waits for the other engine"]
    figure.legend(
        keys, labels, frameon=False, ncols=len(labels), fontsize=9, loc="outside upper right"
    )
    return figure


def _command_bar(axes: Any, row: CommandRow, cycles: int) -> None:
    start, go, end = row.simulated_cycles
    y, color = int(row.engine == "combine"), _LAYERS[row.layer % len(_LAYERS)]
    axes.barh(
        y, go - start, 0.6, left=start, facecolor="white", edgecolor=color, hatch="////", lw=0.6
    )
    axes.barh(y, end - go, 0.6, left=go, color=color, edgecolor="white", lw=0.6)
    if end - go > 0.09 * cycles:
        axes.text(
            (go + end) / 2, y, f"{end - go:,}", ha="center", va="center", color="white",
            fontsize=9,
        )  # fmt: skip


def energy_figure(report: WitnessReport) -> Figure:
    """Show the energy of each part: nominal as a bar, low to high as a line."""
    rows = sorted(report.energy, key=lambda row: row.nominal_pj)
    figure, axes = _figure(report, "Energy of one inference: nominal, and low to high")
    for index, row in enumerate(rows):
        axes.barh(index, row.nominal_pj / 1e3, 0.6, color=_SIMULATED, alpha=0.85)
        axes.plot(
            [row.low_pj / 1e3, row.high_pj / 1e3], [index, index], color="#111827", lw=1.4,
            marker="|", ms=7,
        )  # fmt: skip
        axes.annotate(
            _three_digits(row.nominal_pj / 1e3), (row.high_pj / 1e3, index), (6, 0),
            textcoords="offset points", va="center", fontsize=8, color="#374151",
        )  # fmt: skip
    axes.set_yticks(range(len(rows)), [row.part for row in rows])
    axes.set_xlabel("nJ")
    axes.xaxis.set_major_formatter("{x:,.0f}" if rows[-1].high_pj > 4e3 else "{x:g}")
    axes.tick_params(axis="y", length=0)
    axes.margins(x=0.1)
    axes.set_xlim(left=0)
    return figure


def widths_figure(report: WitnessReport) -> Figure:
    """Show how many nodes have which magnitude width, for each layer's input."""
    figure, axes = _figure(report, "Bit widths of the nodes' features")
    depth = len(report.width_histogram)
    for layer, histogram in enumerate(report.width_histogram):
        total = sum(histogram.values())
        mean = sum(width * nodes for width, nodes in histogram.items()) / total
        offset = (layer - (depth - 1) / 2) * 0.8 / depth
        axes.bar(
            [width + offset for width in histogram],
            [100 * nodes / total for nodes in histogram.values()],
            0.76 / depth,
            color=_LAYERS[layer % len(_LAYERS)],
            label=f"input of layer {layer} (mean {mean:.2f} bits)",
        )
    widest = max(max(histogram) for histogram in report.width_histogram)
    axes.set_xticks(range(max(widest, _LONGEST_RANGE) + 1))
    axes.set_xlabel("magnitude bits B")
    axes.set_ylabel("nodes, %")
    axes.legend(frameon=False, fontsize=9)
    return figure


FIGURES: dict[str, Callable[[WitnessReport], Figure]] = {
    "cycles": cycles_figure,
    "timeline": timeline_figure,
    "energy": energy_figure,
    "widths": widths_figure,
}
"""Figures by the stem of their file."""


def svg_bytes(report: WitnessReport, name: str) -> bytes:
    """Return figure `name` as SVG, the same bytes for the same report."""
    return _save(report, name, "svg", {"Date": None})


def png_bytes(report: WitnessReport, name: str) -> bytes:
    """Return figure `name` as PNG."""
    return _save(report, name, "png", {})


def _save(report: WitnessReport, name: str, file_format: str, metadata: dict[str, None]) -> bytes:
    # No pyplot: its global state would leak into a caller's notebook.
    with rc_context(_STYLE):
        buffer = io.BytesIO()
        figure = FIGURES[name](report)
        figure.savefig(buffer, format=file_format, metadata=metadata, dpi=160)
    return buffer.getvalue()
