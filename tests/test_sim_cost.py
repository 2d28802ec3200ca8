"""The verb `cost`: sums, phases, traffic and JSON."""

import json
import re

import pytest

from hw.gnn.config import PRESETS
from hw.gnn.counters import COUNTERS, READ_STREAMS, WRITE_STREAMS
from models.cost.gnn.timing import CommandTime
from quant.graph.synthetic import random_gcn
from sim.cli.app import main
from sim.cost import CostReport, Phase, StreamTraffic, cost, phases

TINY = PRESETS["tiny"]


@pytest.fixture(scope="module")
def report() -> CostReport:
    return cost(random_gcn(nodes=20, seed=2), TINY, partition="natural", part_rows=8)


def test_phases_by_hand():
    commands = (
        CommandTime("combine", 0, 0, 1, 4, 10),
        CommandTime("combine", 1, 0, 11, 15, 20),
        CommandTime("combine", 1, 1, 21, 22, 30),
        CommandTime("aggregate", 0, 0, 2, 3, 14),
        CommandTime("aggregate", 1, 0, 15, 16, 40),
    )
    assert phases(commands) == (
        Phase(0, "combine", 1, 1, 10, 3, 6),
        Phase(0, "aggregate", 1, 2, 14, 1, 11),
        Phase(1, "combine", 2, 11, 30, 5, 13),
        Phase(1, "aggregate", 1, 15, 40, 1, 24),
    )


def test_traffic_has_every_stream_and_agrees_with_the_counters(report: CostReport):
    streams = [(t.direction, t.stream) for t in report.traffic]
    assert streams == [("read", s) for s in READ_STREAMS] + [("write", s) for s in WRITE_STREAMS]
    counters = report.estimate.counters
    for direction in ("read", "write"):
        bursts = sum(t.bursts for t in report.traffic if t.direction == direction)
        assert bursts == counters[f"{direction}_bursts"]
    # Header and commands: a slot of 128 bytes, one burst of 16 beats, each.
    slots = 1 + len(report.estimate.commands)
    assert report.traffic[0] == StreamTraffic("program", "read", 16 * slots, 128 * slots, slots)


def test_parts_of_the_json_add_up(report: CostReport):
    content = json.loads(json.dumps(report.as_dict()))
    for column in ("low", "nominal", "high"):
        energy = sum(band[column] for band in content["energy_pj"].values())
        assert content["energy_total_pj"][column] == pytest.approx(energy)
        area = sum(band[column] for band in content["area_um2"].values())
        assert content["area_total_um2"][column] == pytest.approx(area)
    assert content["counters"].keys() == {c.name for c in COUNTERS}
    assert content["cycles"] == content["counters"]["cycles"]
    assert content["dram"] == "hbm2"
    assert content["parts"] == 3
    assert (content["schema_name"], content["schema_version"]) == ("bitwright-cost", 1)
    assert content["data_tier"] == "built-in"
    last = max(phase["end"] for phase in content["phases"])
    assert content["cycles"] == last + 2


def test_the_verb_prints_what_the_json_holds(capsys: pytest.CaptureFixture[str]):
    arguments = ["cost", "gnn", "--part-rows", "200", "--dram", "ddr4"]
    assert main(arguments) == 0
    table = capsys.readouterr().out
    assert main([*arguments, "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["parts"] > 1
    assert f"{content['parts']} part(s): {content['cycles']:,} cycles on ideal memory" in table
    assert f"ddr4 at {content['dram_pj_per_bit']['nominal']:.2f} pJ/bit" in table
    assert "leakage of the buffers, not in the energy: 4,000 uW" in table
    for name in (*content["energy_pj"], *(t["stream"] for t in content["traffic"])):
        assert re.search(rf"\b{name}\b", table), name


def test_an_unknown_memory_is_refused(capsys: pytest.CaptureFixture[str]):
    assert main(["cost", "gnn", "--dram", "sdram"]) == 2
    known = "'hbm2', 'hbm1', 'ddr4', 'lpddr4'"
    error = capsys.readouterr().err
    assert re.match(
        rf"^bitwright: Invalid value for '--dram': .*'sdram' is not one of {known}\.$", error
    )
