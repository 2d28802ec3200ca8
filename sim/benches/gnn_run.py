"""Runs one Program on the graph engine: registers through AXI4-Lite, memory in compiled Verilog.

The job is a JSON file named by ``BITWRIGHT_JOB``; the result goes to the file that it names. Python
sleeps between the start and the interrupt.
"""

import json
import os
from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, First, RisingEdge, Timer

from sim.benches.axi_lite import AxiLite
from sim.benches.gnn_driver import collect, start

PERIOD_NS = 2


@cocotb.test()
async def run(dut: Any) -> None:
    """Start the Program, wait for the interrupt, write down what software can read."""
    job = json.loads(Path(os.environ["BITWRIGHT_JOB"]).read_text())
    dut.dump.value = 0
    dut.aresetn.value = 0
    bus = AxiLite(dut, "s_axi", dut.aclk)
    # The clock toggles in C++; nothing in Python wakes up for its edges.
    Clock(dut.aclk, PERIOD_NS, unit="ns", impl="gpi").start()
    await ClockCycles(dut.aclk, 4)
    dut.aresetn.value = 1
    await RisingEdge(dut.aclk)
    await start(bus, job)
    began = int(dut.now.value)
    await First(RisingEdge(dut.irq), Timer(PERIOD_NS * job["cycle_limit"], unit="ns"))
    result: dict[str, Any] = {"edges": int(dut.now.value) - began}
    await RisingEdge(dut.aclk)
    result["interrupt"] = bool(int(dut.irq.value))
    if job["read_back"]:
        result |= await collect(bus, job)
    result["violations"] = int(dut.violations.value)
    # The last responses may still be on their way when an error stopped the engine.
    await ClockCycles(dut.aclk, 4)
    dut.dump.value = 1
    await ClockCycles(dut.aclk, 2)
    Path(job["result"]).write_text(json.dumps(result, indent=1) + "\n")
