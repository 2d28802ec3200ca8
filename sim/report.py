"""The page of one witness report: verdicts, figures, tables, provenance, in a single HTML file."""

import base64
import html
from collections.abc import Iterable, Sequence
from pathlib import Path
from string import Template

from sim.figures import FIGURES, png_bytes, svg_bytes
from sim.witness import TIME_GATE_PERCENT, WitnessReport

__all__ = ["page", "write_report"]

_TEMPLATE = Path(__file__).parent / "templates" / "report.html"

_ALT = {
    "cycles": "Cycles per layer and phase, simulated and predicted",
    "timeline": "Commands of the combination and the aggregation engine over time",
    "energy": "Energy by part: low, nominal and high",
    "widths": "Share of nodes by magnitude width, for each layer",
}


def write_report(report: WitnessReport, folder: Path) -> Path:
    """Write ``report.html``, ``witness.json`` and each figure as SVG and PNG; return the page."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "witness.json").write_text(report.model_dump_json(indent=1) + "\n")
    for name in FIGURES:
        (folder / f"{name}.svg").write_bytes(svg_bytes(report, name))
        (folder / f"{name}.png").write_bytes(png_bytes(report, name))
    path = folder / "report.html"
    path.write_text(page(report))
    return path


def page(report: WitnessReport) -> str:
    """Return the page as HTML that needs no other file."""
    divergence = ""
    if report.divergence:
        divergence = (
            f'<h2>First divergence</h2><p class="divergence">{html.escape(report.divergence)}</p>'
        )
    return Template(_TEMPLATE.read_text()).substitute(
        title=html.escape(f"{report.graph['name']} on {report.config['name']}: three witnesses"),
        lead=_lead(report),
        cards="".join(_cards(report)),
        divergence=divergence,
        figures="".join(_figure(report, name) for name in FIGURES),
        sections="".join(_sections(report)),
    )


def _lead(report: WitnessReport) -> str:
    graph = report.graph
    size = (
        f"{graph['nodes']:,} nodes, {graph['edges']:,} edges, {graph['features']:,} features, "
        f"{graph['layers']} layers, {report.parts} {'part' if report.parts == 1 else 'parts'}"
    )
    return f'{html.escape(size)} <span class="tier">data: {html.escape(report.data_tier)}</span>'


def _card(good: bool | None, name: str, value: str, note: str) -> str:
    kind = "" if good is None else " good" if good else " bad"
    return (
        f'<div class="card{kind}"><div class="name">{name}</div>'
        f'<div class="value">{value}</div><div class="note">{note}</div></div>'
    )


def _cards(report: WitnessReport) -> Iterable[str]:
    compared = sum(check.compared for check in report.checks)
    different = sum(check.different for check in report.checks)
    yield _card(
        report.outputs_equal,
        "Gates against golden model",
        "equal" if report.outputs_equal else f"{different:,} differ",
        f"{compared:,} bytes and rows compared",
    )
    events = [counter for counter in report.counters if not counter.is_time]
    wrong = sum(counter.difference != 0 for counter in events)
    yield _card(
        report.events_equal,
        "Event counters against cost model",
        "equal" if report.events_equal else f"{wrong} differ",
        f"{len(events)} counters",
    )
    worst = report.worst_phase
    gate = f"gate {TIME_GATE_PERCENT:g}&nbsp;%" if report.time_is_gated else "not gated"
    yield _card(
        report.in_time if report.time_is_gated else None,
        "Cycles",
        f"{report.cycles_simulated:,}",
        f"predicted {report.cycles_predicted:,} ({report.time_error_percent:+.2f}&nbsp;%); worst "
        f"phase {worst.error_percent:+.2f}&nbsp;%; {gate}",
    )
    low, nominal, high = (
        sum(getattr(row, f"{band}_pj") for row in report.energy) / 1e6
        for band in ("low", "nominal", "high")
    )
    yield _card(
        None, "Energy of one inference", f"{nominal:,.3g} µJ",
        f"low {low:,.3g}, high {high:,.3g}; memory: {html.escape(report.dram)}",
    )  # fmt: skip
    for row in report.accuracy:
        if row.split == "test":
            yield _card(
                row.rtl == row.golden, "Test accuracy from the gates' logits",
                f"{100 * row.rtl:.1f} %", f"golden {100 * row.golden:.1f} %, {row.nodes:,} nodes",
            )  # fmt: skip


def _figure(report: WitnessReport, name: str) -> str:
    data = base64.b64encode(svg_bytes(report, name)).decode()
    return f'<figure><img alt="{_ALT[name]}" src="data:image/svg+xml;base64,{data}"></figure>'


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]], bad: Sequence[int] = ()) -> str:
    """Return a table; numbers stand to the right, those of columns `bad` are red unless 0."""

    def cell(index: int, value: object) -> str:
        if isinstance(value, str):
            return f"<td>{html.escape(value)}</td>"
        kind = "number bad" if index in bad and value else "number"
        text = f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"
        return f'<td class="{kind}">{text}</td>'

    lines = [list(row) for row in rows]
    body = [
        "<tr>" + "".join(cell(index, value) for index, value in enumerate(line)) + "</tr>"
        for line in lines
    ]
    numeric = [not isinstance(value, str) for value in (lines[0] if lines else heads)]
    head = "".join(
        f'<th class="{"number" if right else ""}">{html.escape(name)}</th>'
        for name, right in zip(heads, numeric, strict=True)
    )
    return f'<div class="scroll"><table><tr>{head}</tr>{"".join(body)}</table></div>'


def _section(title: str, table: str) -> str:
    return f"<section><h2>{title}</h2>{table}</section>"


def _counters(report: WitnessReport, *, is_time: bool) -> str:
    rows = [
        (counter.name, counter.simulated, counter.predicted, counter.difference)
        for counter in report.counters
        if counter.is_time == is_time
    ]
    heads = ("counter", "gates", "cost model", "difference")
    return _table(heads, rows, bad=() if is_time else (3,))


def _sections(report: WitnessReport) -> Iterable[str]:
    checks = [(check.name, check.compared, check.different) for check in report.checks]
    energy = [
        (row.part, row.low_pj / 1e3, row.nominal_pj / 1e3, row.high_pj / 1e3)
        for row in report.energy
    ]
    commands = [
        (row.engine, row.layer, row.part, *row.simulated_cycles, row.predicted_cycles[2],
         row.error_percent)
        for row in report.commands
    ]  # fmt: skip
    yield _section(
        "Compared with the golden model",
        _table(("values", "compared", "different"), checks, bad=(2,)),
    )
    yield _section(
        "Commands, cycles since the start",
        _table(
            ("engine", "layer", "part", "taken", "released", "completed", "predicted", "error, %"),
            commands,
        ),
    )
    yield '<div class="split"><div>'
    yield _section("Event counters", _counters(report, is_time=False))
    yield "</div><div>"
    yield _section("Time counters, cycles", _counters(report, is_time=True))
    yield _section("Energy, nJ", _table(("part", "low", "nominal", "high"), energy))
    yield "</div></div>"
    yield _section("Provenance", _table(("what", "value"), _facts(report)))


def _facts(report: WitnessReport) -> list[tuple[str, str]]:
    changed = " (sources changed since)" if report.provenance.dirty else ""
    memory = ", ".join(f"{key} {value}" for key, value in report.memory.items())
    steps = ", ".join(f"{name} {value:.2f} s" for name, value in report.seconds.items())
    return [
        ("commit", report.provenance.commit + changed),
        ("config", f"{report.config['name']}, hash {report.config_hash}"),
        ("graph", f"{report.graph['name']}, hash {report.graph['hash']}"),
        ("data tier", report.data_tier),
        ("memory", memory),
        ("simulator", f"{report.simulator}, {report.cycles_per_second:,.0f} cycles/s"),
        ("wall time", steps),
        *report.provenance.tools.items(),
    ]
