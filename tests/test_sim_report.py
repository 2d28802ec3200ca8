"""The witness report: its verdicts, its JSON, its page and its table. No simulator needed."""

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from hw.gnn.config import PRESETS
from hw.gnn.counters import COUNTERS
from sim.figures import FIGURES, svg_bytes
from sim.provenance import Provenance
from sim.report import page, write_report
from sim.report_table import print_report
from sim.witness import (
    Accuracy,
    CheckRow,
    CommandRow,
    CounterRow,
    EnergyRow,
    WitnessReport,
)

PHASES = (("combine", 0, 10, 510), ("aggregate", 0, 12, 600), ("combine", 1, 601, 900))


def _report(**changes: Any) -> WitnessReport:
    """Return a report in which everything agrees, but for `changes`."""
    fields: dict[str, Any] = {
        "engine": "gnn",
        "config": PRESETS["tiny"].model_dump(),
        "config_hash": "0123abcd",
        "graph": {
            "name": "paper <graph>",
            "hash": "ab" * 32,
            "nodes": 60,
            "edges": 240,
            "features": 50,
            "classes": 7,
            "layers": 2,
        },
        "data_tier": "built-in",
        "provenance": Provenance(commit="f" * 40, dirty=True, tools={"verilator": "5.48"}),
        "simulator": "verilator",
        "memory": {"read_latency": 8},
        "parts": 1,
        "checks": (CheckRow(name="layer 1: logits in memory, bytes", compared=3360, different=0),),
        "divergence": None,
        "cycles_simulated": 1000,
        "cycles_predicted": 1010,
        "time_is_gated": True,
        "counters": tuple(
            CounterRow(name=c.name, is_time=c.is_time, simulated=i, predicted=i + c.is_time)
            for i, c in enumerate(COUNTERS)
        ),
        "commands": tuple(
            CommandRow(
                engine="combine" if engine == "combine" else "aggregate",
                layer=layer,
                part=0,
                simulated_cycles=(5, go, end),
                predicted_cycles=(5, go, end + 5),
            )
            for engine, layer, go, end in PHASES
        ),
        "energy": (EnergyRow(part="array", low_pj=1e6, nominal_pj=2e6, high_pj=5e6),),
        "dram": "hbm2 at 3.90 pJ/bit",
        "accuracy": (Accuracy(split="test", nodes=20, rtl=0.8, golden=0.8),),
        "width_histogram": ({1: 60}, {0: 10, 2: 50}),
        "seconds": {"simulate": 1.5, "build": 9.0},
        "cycles_per_second": 660.0,
    }
    return WitnessReport(**{**fields, **changes})


def test_verdicts() -> None:
    good = _report()
    assert good.passed
    assert good.time_error_percent == pytest.approx(1.0)
    assert good.commands[0].error_percent == pytest.approx(1.0)  # 505 against 500
    assert [phase.error_percent for phase in good.phases] == pytest.approx(
        [1.0, 500 / 588, 500 / 299]
    )
    assert good.worst_phase.layer == 1
    assert good.phase_mape_percent == pytest.approx((1 + 500 / 588 + 500 / 299) / 3)
    late = good.commands[0].model_copy(update={"predicted_cycles": (5, 10, 521)})
    assert not _report(commands=(late, *good.commands[1:])).passed, "511 against 500"
    assert not _report(cycles_predicted=1021).passed
    assert not _report(cycles_predicted=979).passed
    assert _report(cycles_predicted=500, time_is_gated=False).passed
    check = CheckRow(name="x", compared=9, different=1)
    assert not _report(checks=(check,)).passed
    event = CounterRow(name="combine_rows", is_time=False, simulated=5, predicted=6)
    assert not _report(counters=(event,)).events_equal
    assert not _report(counters=(event,)).passed


def test_json_comes_back_as_it_was(tmp_path: Path) -> None:
    report = _report()
    write_report(report, tmp_path)
    text = (tmp_path / "witness.json").read_text()
    assert WitnessReport.model_validate_json(text) == report
    content = json.loads(text)
    assert (content["schema_name"], content["schema_version"]) == ("bitwright-witness", 1)


def test_page_is_whole_and_names_the_tier(tmp_path: Path) -> None:
    path = write_report(_report(), tmp_path)
    for name in FIGURES:
        assert (tmp_path / f"{name}.svg").read_bytes().startswith(b"<?xml")
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    text = path.read_text()
    assert not re.search(r"\$\w", text), "a placeholder of the template is left"
    sources = re.findall(r'src="([^"]*)"', text)
    assert len(sources) == len(FIGURES)
    assert all(source.startswith("data:image/svg+xml;base64,") for source in sources)
    assert "data: built-in" in text
    assert "paper &lt;graph&gt;" in text
    assert "paper <graph>" not in text
    assert text == page(_report()), "same report, same bytes"


def test_page_shows_what_differs() -> None:
    bad = _report(
        checks=(CheckRow(name="logits", compared=3360, different=12),),
        divergence="layer 1, unit aggregation.post_processor, node 3",
    )
    text = page(bad)
    assert '<td class="number bad">12</td>' in text
    assert "First divergence" in text
    assert "unit aggregation.post_processor, node 3" in text
    assert "First divergence" not in page(_report())


def test_figures_name_the_tier() -> None:
    """The text is drawn as paths, so it is looked for in the figure itself."""
    for make in FIGURES.values():
        figure = make(_report(data_tier="folder"))
        texts = [text.get_text() for text in figure.texts]
        assert "data: paper <graph>, tier folder" in texts
    assert svg_bytes(_report(), "cycles") == svg_bytes(_report(), "cycles")


def test_table_for_people() -> None:
    file = io.StringIO()
    console = Console(width=120, file=file)
    print_report(_report(divergence="layer 0, unit x"), console)
    text = file.getvalue()
    assert "1,000, predicted 1,010 (+1.00 %)" in text
    assert "80.0 % from the gates, 80.0 % golden" in text
    assert "first divergence: layer 0, unit x" in text
