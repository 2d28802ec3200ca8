"""The design verbs as thin layers: what they print, where, and with which exit code."""

import json
from pathlib import Path

import pytest

from hw.gnn.config import PRESETS
from quant.graph.onnx_export import save
from quant.graph.onnx_import import load
from quant.graph.synthetic import random_gcn
from sim import gnn
from sim.build import SimulationError
from sim.cli.app import main
from sim.cosim import MismatchError
from sim.cost import cost


@pytest.fixture(scope="module")
def graph(tmp_path_factory) -> Path:
    """Write a small BitGraph."""
    path = tmp_path_factory.mktemp("graph") / "small.onnx"
    save(random_gcn(nodes=10, edges=20), path)
    return path


def test_inspect(graph, capsys):
    assert main(["inspect", str(graph), "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["graph_nodes"], summary["edges"]) == (10, 20)
    assert main(["inspect", str(graph)]) == 0
    assert "data graph: 10 nodes, 20 edges\n" in capsys.readouterr().out


def test_inspect_refuses_another_file(tmp_path, capsys):
    path = tmp_path / "a.onnx"
    path.write_text("not ONNX")
    assert main(["inspect", str(path)]) == 2
    assert capsys.readouterr().err == f"bitwright: {path} is not an ONNX file\n"
    assert main(["inspect", str(tmp_path / "b.onnx")]) == 2
    assert (
        capsys.readouterr().err == f"bitwright: {tmp_path / 'b.onnx'}: No such file or directory\n"
    )


def test_cost_is_the_function(graph, capsys):
    assert main(["cost", "gnn", "--graph", str(graph), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    report = cost(load(graph), PRESETS["tiny"])
    assert printed["counters"] == report.estimate.counters
    assert printed["data_tier"] == "built-in"
    assert main(["cost", "gnn", "--graph", str(graph)]) == 0
    assert "energy, nJ" in capsys.readouterr().out


def test_cost_of_a_graph_that_does_not_fit(graph, capsys):
    small = ["--set", "combination.weight_buffer_bytes=64", "--set", "combination.columns_max=8"]
    assert main(["cost", "gnn", "--graph", str(graph), *small]) == 2
    err = capsys.readouterr().err
    assert err.startswith("bitwright: ")
    assert err.count("\n") == 1


@pytest.mark.rtl
def test_sim_writes_report_and_waveform(graph, tmp_path, capsys):
    arguments = ["sim", "gnn", "--graph", str(graph), "--simulator", "icarus", "--json"]
    # With stalls, since a run of 800 cycles leaves no room for 2 % in each phase.
    stalls = ["--stall", "0.1", "--out", str(tmp_path / "report")]
    assert main([*arguments, *stalls]) == 0
    out, err = capsys.readouterr()
    report = json.loads(out)
    assert report["divergence"] is None
    assert report["simulator"] == "icarus"
    assert "simulate" in err
    assert (tmp_path / "report" / "report.html").is_file()


@pytest.mark.parametrize(
    "error", [MismatchError("layer 0 differs"), SimulationError("counts: differs")]
)
def test_difference_is_exit_code_1(graph, monkeypatch, capsys, error):
    def differs(*_args, **_options):
        raise error

    monkeypatch.setattr(gnn, "sim", differs)
    assert main(["sim", "gnn", "--graph", str(graph)]) == 1
    assert capsys.readouterr().err == f"bitwright: {error}\n"


def test_failed_report_is_exit_code_1(graph, monkeypatch, capsys):
    class Report:
        passed = False

        def model_dump_json(self, indent):
            return "{}"

    monkeypatch.setattr(gnn, "sim", lambda *_args, **_options: Report())
    assert main(["sim", "gnn", "--graph", str(graph), "--json"]) == 1
    assert capsys.readouterr().out == "{}\n"


def test_quantize_without_data(monkeypatch, capsys):
    monkeypatch.delenv("BITWRIGHT_DATA", raising=False)
    assert main(["quantize", "gnn", "--data", "cora"]) == 2
    assert "BITWRIGHT_DATA is not set" in capsys.readouterr().err
    assert main(["quantize", "gnn", "--seed", "1", "--seed", "1"]) == 2
    message = "bitwright: seeds must be different and at least one, not [1, 1]\n"
    assert capsys.readouterr().err == message


@pytest.mark.slow
def test_quantize_lists_runs_and_both_gaps(tmp_path, capsys):
    out = tmp_path / "g.onnx"
    words = ["quantize", "gnn", "--data", "demo", "--seed", "0", "--out", str(out), "--json"]
    assert main(words) == 0
    report = json.loads(capsys.readouterr().out)
    run = report["runs"][0]
    assert run["tier"] == "built-in"
    assert 0.5 < run["accuracy"]["test"] <= 1
    assert 0.5 < run["float_accuracy"]["test"] <= 1
    assert run["integer_gap"]["prediction_agreement"] > 0.95
    assert report["test_mean"] == run["accuracy"]["test"]
    assert load(out).outputs
