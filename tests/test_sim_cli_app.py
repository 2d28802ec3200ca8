"""Exit codes and the one line that goes with each; `list` and `doctor`."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hw.verilog import ToolchainError
from sim.build import SimulationError
from sim.cli import app as cli
from sim.cli.configs import check_engine
from sim.cli.doctor import doctor, shadows
from sim.cli.failures import explain


def caught(call: Callable[[str], object], argument: str) -> ValueError:
    """Return the error of a call, with its traceback."""
    with pytest.raises(ValueError, match="x") as info:
        call(argument)
    return info.value


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (SimulationError("outputs differ"), 1, "outputs differ"),
        (caught(check_engine, "x"), 2, "ENGINE must be one of gnn, not x"),
        (FileNotFoundError(2, "No such file or directory", "a.onnx"), 2, "a.onnx: No such file"),
        (ToolchainError("g++ is missing"), 3, "g++ is missing"),
        (
            ModuleNotFoundError("No module named 'torch'", name="torch"),
            3,
            "torch is missing: install it with `pip install 'bitwright[train]'`",
        ),
        (caught(int, "x"), 4, "fault in bitwright: ValueError: invalid literal"),
        (KeyError("x"), 4, "fault in bitwright: KeyError: 'x'"),
    ],
)
def test_exit_codes(error, code, line):
    found = explain(error)
    assert found[0] == code
    assert found[1].startswith(line)
    assert "\n" not in found[1]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["rtl", "gcn", "--out", "x"], "bitwright: ENGINE must be one of gnn, not gcn\n"),
        (["rtl", "gnn"], "bitwright: Missing option '--out'.\n"),
        (["dance"], "bitwright: No such command 'dance'.\n"),
        (["list", "--jsn"], "bitwright: No such option: --jsn"),
    ],
)
def test_mistakes_end_in_one_line_and_2(arguments, line, capsys):
    assert cli.main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(line)
    assert err.count("\n") == 1


def test_debug_shows_the_traceback(capsys):
    assert cli.main(["rtl", "gcn", "--out", "x", "--debug"]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_help_without_arguments(capsys):
    assert cli.main([]) == 0
    assert "doctor" in capsys.readouterr().out


def test_list_names_engines_presets_and_tiers(capsys, monkeypatch, tmp_path):
    (tmp_path / "cora").mkdir()
    monkeypatch.setenv("BITWRIGHT_DATA", str(tmp_path))
    assert cli.main(["list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert "tiny" in found["presets"]["gnn"]
    tiers = {(data["name"], data["tier"]): data["found"] for data in found["data"]}
    assert tiers["cora", "folder"] == str(tmp_path / "cora")
    assert tiers["citeseer", "folder"] is None
    assert "built-in" in {tier for _, tier in tiers}


def test_doctor_finds_the_tools(capsys):
    assert cli.main(["doctor", "--json"]) == 0
    tools = {tool["name"]: tool["version"] for tool in json.loads(capsys.readouterr().out)["tools"]}
    assert tools["amaranth"].startswith("0.5.")
    assert tools["g++"]
    assert tools["verilator"]


def test_doctor_without_a_compiler(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert cli.main(["doctor"]) == 3
    out = capsys.readouterr().out
    assert "g++ is missing; will not work: building a Verilator model: sim, demo\n" in out
    assert "apt-get install -y --no-install-recommends python3-venv g++ make perl iverilog" in out


def test_doctor_names_shadowing_folders(tmp_path):
    (tmp_path / "sim").mkdir()
    (tmp_path / "quant.py").write_text("")
    (tmp_path / "hw").write_text("a file, not a folder")
    lines = doctor(tmp_path).shadows
    assert [line.partition(" shadows")[0] for line in lines] == [
        str(tmp_path / "quant.py"),
        str(tmp_path / "sim"),
    ]
    assert lines[1].endswith("shadows bitwright's package sim: rename it, or start elsewhere")


def test_project_root_shadows_nothing():
    assert shadows(Path(__file__).resolve().parents[1]) == ()
