"""Presets, files and single choices become a config, or one line says why not."""

import pytest

from hw.gnn.config import PRESETS, GnnConfig
from hw.memory_config import MemoryConfig
from sim.cli.configs import resolve
from sim.config_toml import to_toml


def test_default_is_tiny():
    assert resolve("gnn") == PRESETS["tiny"]


def test_set_on_top_of_a_preset():
    config = resolve("gnn", "tiny", None, ["memory.burst_beats=8", "combination.lanes=4"])
    assert (config.name, config.memory.burst_beats, config.combination.lanes) == ("custom", 8, 4)
    assert config.aggregation == PRESETS["tiny"].aggregation
    assert resolve("gnn", "tiny", None, ["name=mine"]).name == "mine"


def test_file_and_back(tmp_path):
    path = tmp_path / "wide.toml"
    path.write_text("log_depth = 16\n\n[memory]\naxi_data_width = 128\n")
    config = resolve("gnn", config=path)
    expected = GnnConfig(name="wide", log_depth=16, memory=MemoryConfig(axi_data_width=128))
    assert config == expected
    path.write_text(to_toml(config))
    assert resolve("gnn", config=path) == config


def test_toml_escapes():
    assert to_toml(GnnConfig(name='a "b" \\c')).startswith('name = "a \\"b\\" \\\\c"\nlog_depth')


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("gcn",), r"^ENGINE must be one of gnn, not gcn$"),
        (("gnn", "tinny"), r"^unknown preset tinny; the nearest is tiny$"),
        (
            ("gnn", None, None, ["combination.lane=4"]),
            r"^unknown key combination\.lane in --set; the nearest is combination\.lanes$",
        ),
        (
            ("gnn", None, None, ["combination.lanes=3"]),
            r"^combination\.lanes must be a power of two in 1\.\.64, not 3$",
        ),
        (
            ("gnn", None, None, ["memory.axi_addr_width=8"]),
            r"^memory\.axi_addr_width must be greater than or equal to 16, not 8$",
        ),
        (
            ("gnn", None, None, ["memory.burst_beats=many"]),
            r"^memory\.burst_beats must be a valid integer, not 'many'$",
        ),
        (
            ("gnn", None, None, ['memory.burst_beats="8"']),
            r"^memory\.burst_beats must be a valid integer, not '8'$",
        ),
        (
            ("gnn", None, None, ["memory.burst_beats=true"]),
            r"^memory\.burst_beats must be a valid integer, not True$",
        ),
        (
            ("gnn", None, None, ['name="a\\nmodule b;"']),
            r"^name must be one line of printable text, not 'a\\nmodule b;'$",
        ),
        (("gnn", None, None, ["lanes"]), r"^--set must be KEY=VALUE, not lanes$"),
        (
            ("gnn", None, None, ["memory.burst_beats=4\nx=3"]),
            r"^--set must be one line of printable text, not 'memory\.burst_beats=4\\nx=3'$",
        ),
        (
            ("gnn", None, None, ["aggregation.lanes=32"]),
            r"^aggregation\.lanes must be a power of two in 1\.\.16, not 32$",
        ),
    ],
)
def test_refusals(arguments, message):
    with pytest.raises(ValueError, match=message):
        resolve(*arguments)


def test_refused_files(tmp_path):
    path = tmp_path / "bad.toml"
    with pytest.raises(FileNotFoundError, match=r"^there is no config file .*bad\.toml$"):
        resolve("gnn", config=path)
    path.write_text("[memory]\nburst_beat = 8\n")
    message = r"^unknown key memory\.burst_beat in .*bad\.toml; the nearest is memory\.burst_beats$"
    with pytest.raises(ValueError, match=message):
        resolve("gnn", config=path)
    path.write_text("memory = 3\n")
    message = r"^unknown key memory in .*bad\.toml; the nearest is "
    with pytest.raises(ValueError, match=message):
        resolve("gnn", config=path)
    path.write_text("= 3\n")
    with pytest.raises(ValueError, match=r"^.*bad\.toml must be TOML: .*$"):
        resolve("gnn", config=path)
    message = r"^--preset and --config must not be given together$"
    with pytest.raises(ValueError, match=message):
        resolve("gnn", "tiny", path)
