"""What leaves the project as a design: complete, repeatable, and read back by its own tools."""

import hashlib
import json
import subprocess
from pathlib import Path

import pytest

from hw.gnn.config import PRESETS
from hw.verilog import WAIVERS
from sim.cli.app import main
from sim.cli.configs import resolve
from sim.provenance import project_version
from sim.toolchain import verilator_env

TINY = PRESETS["tiny"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Write the design of `tiny` once, through the command line."""
    out = tmp_path_factory.mktemp("rtl")
    assert main(["rtl", "gnn", "--preset", "tiny", "--out", str(out)]) == 0
    return out


def test_files(folder):
    names = {path.name for path in folder.iterdir()}
    assert names == {
        "bitwright_gnn.v",
        "bitwright_gnn.h",
        "bitwright_gnn.py",
        "blocks.md",
        "blocks.svg",
        "manifest.json",
        "files.f",
        "config.toml",
        "registers.md",
    }
    assert (folder / "files.f").read_text() == "bitwright_gnn.v\n"


def test_manifest_describes_the_verilog(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    verilog = (folder / "bitwright_gnn.v").read_bytes()
    assert manifest["sha256"] == hashlib.sha256(verilog).hexdigest()
    others = [path for path in folder.iterdir() if path.name != "manifest.json"]
    assert manifest["files"] == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in others
    }
    assert manifest["project_version"] == project_version()
    assert manifest["config"] == TINY.model_dump()
    assert manifest["config_hash"] == f"{TINY.hash:08x}"
    widths = {port["name"]: port["width"] for port in manifest["ports"]}
    assert (widths["aclk"], widths["aresetn"], widths["irq"]) == (1, 1, 1)
    assert widths["m_axi0_rdata"] == TINY.memory.axi_data_width
    assert widths["m_axi0_araddr"] == TINY.memory.axi_addr_width
    assert widths["s_axi_wdata"] == 32


def test_config_reads_back(folder):
    assert resolve("gnn", config=folder / "config.toml") == TINY


def test_registers_are_listed(folder):
    text = (folder / "registers.md").read_text()
    for name in ("CONFIG_HASH", "PROGRAM_ADDRESS_LO", "IRQ_ENABLE"):
        assert name in text


def test_nothing_of_this_machine_is_in_it(folder):
    for path in folder.iterdir():
        assert str(Path.home()) not in path.read_text()
        assert str(Path(__file__).resolve().parents[1]) not in path.read_text()


@pytest.mark.slow
def test_same_config_same_bytes(folder, tmp_path):
    assert (
        main(["rtl", "gnn", "--config", str(folder / "config.toml"), "--out", str(tmp_path)]) == 0
    )
    for path in folder.iterdir():
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()


@pytest.mark.rtl
@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_lints(preset, tmp_path):
    assert main(["rtl", "gnn", "--preset", preset, "--out", str(tmp_path)]) == 0
    waivers = [f"-Wno-{rule}" for rule in WAIVERS]
    top = ["--top-module", "bitwright_gnn"]
    for command in (
        ["verilator", "--lint-only", "--quiet", "-Wall", *waivers, *top, "-f", "files.f"],
        ["iverilog", "-g2005", "-Wall", "-o", "/dev/null", "-c", "files.f"],
    ):
        done = subprocess.run(
            command, cwd=tmp_path, env=verilator_env(), capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout + done.stderr) == (0, "")
