"""The build cache: one build for one content, and clear words where something is missing."""

import subprocess
import sys
import textwrap

import pytest

from hw.verilog import ToolchainError
from sim.build import Build, SimulationError, build
from sim.runners import control_file
from sim.toolchain import require

COUNTER = """
module counter(input wire clk, input wire [3:0] step, output reg [7:0] count);
  reg [7:0] hidden = 0; // input nothing
  initial count = 0;
  always @(posedge clk) begin count <= count + {4'd0, step}; hidden <= hidden + 1; end
endmodule
"""

BENCH = """
import os
import cocotb
from cocotb.triggers import Timer

@cocotb.test()
async def counts(dut):
    dut.step.value = int(os.environ["STEP"])
    for _ in range(4):
        dut.clk.value = 0
        await Timer(5, "ns")
        dut.clk.value = 1
        await Timer(5, "ns")
    assert int(dut.count.value) == int(cocotb.plusargs["expected"]), "count differs"
"""


@pytest.fixture
def bench(tmp_path, monkeypatch):
    """Write the counter and its bench, and use a cache of their own."""
    monkeypatch.setenv("BITWRIGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "bench_of_counter.py").write_text(BENCH)
    source = tmp_path / "counter.v"
    source.write_text(COUNTER)
    return source


def run(model: Build, folder, step: int = 3, expected: int = 12, **options):
    """Run the bench."""
    return model.run(
        "bench_of_counter",
        folder,
        environment={"STEP": str(step)},
        plusargs=[f"+expected={expected}"],
        **options,
    )


@pytest.mark.rtl
@pytest.mark.parametrize("simulator", ["icarus", pytest.param("verilator", marks=pytest.mark.slow)])
def test_build_once_run_twice(bench, tmp_path, simulator):
    model = build([bench], "counter", simulator=simulator, waves=True)
    assert model.seconds > 0
    assert run(model, tmp_path / "plain").waves is None
    waves = run(model, tmp_path / "waves", step=2, expected=8, waves=True).waves
    assert waves is not None
    assert waves.stat().st_size > 0
    copy = tmp_path / "elsewhere.v"
    copy.write_text(COUNTER)
    again = build([copy], "counter", simulator=simulator, waves=True)
    assert (again.folder, again.seconds) == (model.folder, 0)


@pytest.mark.rtl
def test_content_and_flags_are_the_key(bench):
    folders = {
        build([bench], "counter", simulator="icarus").folder,
        build([bench], "counter", simulator="icarus", waves=True).folder,
        build([bench], "counter", simulator="icarus", defines={"X": 1}).folder,
    }
    bench.write_text(COUNTER.replace("hidden + 1", "hidden + 2"))
    folders.add(build([bench], "counter", simulator="icarus").folder)
    assert len(folders) == 4


@pytest.mark.rtl
def test_unfinished_model_is_built_anew(bench):
    model = build([bench], "counter", simulator="icarus")
    (model.folder / "bitwright.json").unlink()
    (model.folder / "sim.vvp").write_text("cut off")
    assert build([bench], "counter", simulator="icarus").seconds > 0
    assert (model.folder / "sim.vvp").read_text() != "cut off"


@pytest.mark.rtl
def test_two_processes_build_once(bench):
    code = textwrap.dedent(f"""
        from pathlib import Path
        from sim.build import build
        print(build([Path({str(bench)!r})], "counter", simulator="icarus").seconds > 0)
    """)
    command = [sys.executable, "-c", code]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert sorted(process.communicate()[0] for process in both) == ["False\n", "True\n"]


@pytest.mark.rtl
def test_failure_names_test_and_log(bench, tmp_path):
    model = build([bench], "counter", simulator="icarus")
    with pytest.raises(SimulationError, match=r"(?s)^counts: count differs\n.*simulation\.log\)$"):
        run(model, tmp_path / "run", expected=11)


@pytest.mark.rtl
def test_bench_that_does_not_import(bench, tmp_path):
    model = build([bench], "counter", simulator="icarus")
    with pytest.raises(SimulationError, match=r"^the simulator ended without a result: .*\)$"):
        model.run("no_such_bench", tmp_path / "run")


@pytest.mark.rtl
def test_stale_results_are_not_read(bench, tmp_path):
    model = build([bench], "counter", simulator="icarus")
    run(model, tmp_path / "run")
    with pytest.raises(SimulationError, match=r"^the simulator ended without a result"):
        model.run("no_such_bench", tmp_path / "run")


@pytest.mark.rtl
def test_refused_source(bench):
    bench.write_text("module counter(input clk); nonsense endmodule")
    with pytest.raises(ToolchainError, match=r"^icarus failed on counter: .*error.*build\.log\)$"):
        build([bench], "counter", simulator="icarus")


@pytest.mark.rtl
def test_waves_need_a_model_built_for_them(bench, tmp_path):
    model = build([bench], "counter", simulator="icarus")
    message = r"^waves must be given to build\(\) before run\(\), not to run\(\) alone$"
    with pytest.raises(ValueError, match=message):
        run(model, tmp_path / "run", waves=True)


def test_missing_compiler(bench, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    message = (
        r"^g\+\+ is missing: install it with "
        r"`apt-get install -y --no-install-recommends g\+\+`$"
    )
    with pytest.raises(ToolchainError, match=message):
        build([bench], "counter")
    with pytest.raises(ToolchainError, match=r"^iverilog is missing: "):
        require("iverilog")


def test_only_ports_and_named_signals_are_public():
    assert control_file([COUNTER], "counter", ["counter.hidden"]).splitlines() == [
        "`verilator_config",
        'public_flat_rw -module "counter" -var "clk"',
        'public_flat_rw -module "counter" -var "step"',
        'public_flat_rw -module "counter" -var "count"',
        'public_flat_rw -module "counter" -var "hidden"',
    ]


def test_control_file_refuses():
    with pytest.raises(ValueError, match=r"^the sources have no module other$"):
        control_file([COUNTER], "other", [])
    with pytest.raises(ValueError, match=r"^public must be module\.signal, not hidden$"):
        control_file([COUNTER], "counter", ["hidden"])
