"""Runs one Program through the generated Python driver, as software would.

The job is that of `sim.benches.gnn_run` with `driver`, the path of the driver, and `commands`, how
many entries of each command log are read. The driver calls plain functions, so it runs in a thread
that cocotb stops whenever a register is accessed.
"""

import importlib.util
import json
import os
from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.task import bridge, resume
from cocotb.triggers import ClockCycles, RisingEdge

from sim.benches.axi_lite import AxiLite

PERIOD_NS = 2


@cocotb.test()
async def run(dut: Any) -> None:
    """Check, start, wait, read everything; then the same once more."""
    job = json.loads(Path(os.environ["BITWRIGHT_JOB"]).read_text())
    dut.dump.value = 0
    dut.aresetn.value = 0
    bus = AxiLite(dut, "s_axi", dut.aclk)
    Clock(dut.aclk, PERIOD_NS, unit="ns", impl="gpi").start()
    await ClockCycles(dut.aclk, 4)
    dut.aresetn.value = 1
    await RisingEdge(dut.aclk)
    runs = [await bridge(_use)(bus, job) for _ in range(2)]
    Path(job["result"]).write_text(json.dumps(runs, indent=1) + "\n")
    await ClockCycles(dut.aclk, 4)
    dut.dump.value = 1
    await ClockCycles(dut.aclk, 2)


def _use(bus: AxiLite, job: dict[str, Any]) -> dict[str, Any]:
    """Drive the engine with functions that block."""
    engine = _driver(Path(job["driver"])).Engine(resume(bus.read), resume(bus.write))
    engine.check()
    engine.start(job["program_address"], interrupts=True)
    # Simulated time goes on only in an access to a register, so there is no pause between two.
    engine.wait(seconds=300.0, pause=0.0)
    commands = job["commands"].items()
    result = {
        "status": engine.status()._asdict(),
        "error": engine.error_name(),
        "counters": engine.counters(),
        "commands": {queue: engine.command_log(queue, count) for queue, count in commands},
    }
    engine.clear()
    return {**result, "cleared": engine.status()._asdict()}


def _driver(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("bitwright_gnn_driver", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
