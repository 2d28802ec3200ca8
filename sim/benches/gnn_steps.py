"""Does with the registers what a list of steps says, so that one simulation has several runs.

The job is a JSON file named by ``BITWRIGHT_JOB``: register addresses by name, the names of the
counters, the file for the result, and `steps`. A step is ``["write", register, value]``,
``["cycles", count]``, ``["until idle"]`` or ``["until interrupt"]``; each of the last two adds an
entry to the result: whether its time ran out, status, error code and counters.
"""

import json
import os
from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, First, RisingEdge, Timer

from sim.benches.axi_lite import AxiLite
from sim.benches.gnn_driver import collect

PERIOD_NS = 2


@cocotb.test()
async def run(dut: Any) -> None:
    """Take the steps in order, then dump the memory."""
    job = json.loads(Path(os.environ["BITWRIGHT_JOB"]).read_text())
    dut.dump.value = 0
    dut.aresetn.value = 0
    bus = AxiLite(dut, "s_axi", dut.aclk)
    Clock(dut.aclk, PERIOD_NS, unit="ns", impl="gpi").start()
    await ClockCycles(dut.aclk, 4)
    dut.aresetn.value = 1
    await RisingEdge(dut.aclk)
    entries = []
    for kind, *values in job["steps"]:
        if kind == "write":
            await bus.write(job["registers"][values[0]], values[1])
        elif kind == "cycles":
            await ClockCycles(dut.aclk, values[0])
        else:
            wait = {"until idle": _idle, "until interrupt": _interrupt}[kind]
            in_time = await wait(dut, bus, job)
            entries.append({"in_time": in_time, **await collect(bus, job)})
    Path(job["result"]).write_text(json.dumps(entries, indent=1) + "\n")
    dut.dump.value = 1
    await ClockCycles(dut.aclk, 2)


async def _idle(dut: Any, bus: AxiLite, job: dict[str, Any]) -> bool:
    """Read the status until it is not busy; every access takes a few cycles."""
    for _ in range(job["cycle_limit"]):
        if not await bus.read(job["registers"]["STATUS"]) & 1:
            return True
    return False


async def _interrupt(dut: Any, bus: AxiLite, job: dict[str, Any]) -> bool:
    if not int(dut.irq.value):
        await First(RisingEdge(dut.irq), Timer(PERIOD_NS * job["cycle_limit"], unit="ns"))
    await RisingEdge(dut.aclk)
    return bool(int(dut.irq.value))
