"""The witness report for a terminal."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sim.witness import WitnessReport

__all__ = ["print_report"]


def print_report(report: WitnessReport, console: Console) -> None:
    """Print verdicts, commands, accuracy, and whatever differs."""
    console.print(_verdicts(report))
    console.print(_commands(report))
    wrong = [counter for counter in report.counters if counter.difference and not counter.is_time]
    if wrong:
        table = Table("event counter", "gates", "cost model", title="Counters that differ")
        for counter in wrong:
            table.add_row(counter.name, f"{counter.simulated:,}", f"{counter.predicted:,}")
        console.print(table)
    if report.divergence:
        console.print(Text("first divergence: " + report.divergence, style="red"))


def _verdicts(report: WitnessReport) -> Table:
    title = f"{report.graph['name']} on {report.config['name']} (data: {report.data_tier})"
    table = Table("witness", "result", title=title)
    for check in report.checks:
        text = f"{check.compared:,} equal"
        if check.different:
            text = f"[red]{check.different:,} of {check.compared:,} differ[/red]"
        table.add_row(check.name, text)
    events = [counter for counter in report.counters if not counter.is_time]
    same = sum(counter.difference == 0 for counter in events)
    table.add_row("event counters, gates and cost model", f"{same} of {len(events)} equal")
    table.add_row(
        "cycles",
        f"{report.cycles_simulated:,}, predicted {report.cycles_predicted:,} "
        f"({report.time_error_percent:+.2f} %)",
    )
    worst = report.worst_phase
    table.add_row(
        "cycles by layer and phase",
        f"MAPE {report.phase_mape_percent:.2f} %, worst {worst.error_percent:+.2f} % "
        f"(layer {worst.layer}, {worst.engine})",
    )
    for row in report.accuracy:
        table.add_row(
            f"accuracy, {row.split} ({row.nodes:,} nodes)",
            f"{100 * row.rtl:.1f} % from the gates, {100 * row.golden:.1f} % golden",
        )
    low, nominal, high = (
        sum(getattr(row, f"{band}_pj") for row in report.energy) / 1e6
        for band in ("low", "nominal", "high")
    )
    table.add_row("energy", f"{nominal:.3g} uJ (low {low:.3g}, high {high:.3g}), {report.dram}")
    table.add_row(
        "simulation",
        f"{report.simulator}, {report.seconds['simulate']:.1f} s, "
        f"{report.cycles_per_second:,.0f} cycles/s",
    )
    return table


def _commands(report: WitnessReport) -> Table:
    table = Table(title="Commands, cycles since the start")
    for head in ("engine", "layer", "part"):
        table.add_column(head)
    for head in ("released", "completed", "predicted", "error, %"):
        table.add_column(head, justify="right")
    for row in report.commands:
        table.add_row(
            row.engine,
            str(row.layer),
            str(row.part),
            f"{row.simulated_cycles[1]:,}",
            f"{row.simulated_cycles[2]:,}",
            f"{row.predicted_cycles[2]:,}",
            f"{row.error_percent:+.2f}",
        )
    return table
