"""The graph engine on cocotbext-axi's memory: a judge of our AXI that is not ours.

The job is that of `sim.benches.gnn_run` with ``image`` (a binary file), ``memory_bytes``, ``dump``
(where the memory goes) and ``pause``, the chance of a pause of each channel in a cycle.
"""

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, First, RisingEdge, Timer
from cocotbext.axi import AxiBus, AxiRam

from sim.benches.axi_lite import AxiLite
from sim.benches.gnn_driver import collect, start

PERIOD_NS = 2


def _pauses(seed: int, chance: float) -> Iterator[bool]:
    source = random.Random(seed)
    while True:
        yield source.random() < chance


@cocotb.test()
async def run(dut: Any) -> None:
    """Run the Program from a memory that Python keeps."""
    job = json.loads(Path(os.environ["BITWRIGHT_JOB"]).read_text())
    dut.aresetn.value = 0
    bus = AxiLite(dut, "s_axi", dut.aclk)
    ram: Any = AxiRam(
        AxiBus.from_prefix(dut, "m_axi0"),
        dut.aclk,
        dut.aresetn,
        reset_active_level=False,
        size=job["memory_bytes"],
    )
    ram.write(0, Path(job["image"]).read_bytes())
    if job["pause"]:
        channels = (
            ram.read_if.ar_channel,
            ram.read_if.r_channel,
            ram.write_if.aw_channel,
            ram.write_if.w_channel,
            ram.write_if.b_channel,
        )
        for seed, channel in enumerate(channels):
            channel.set_pause_generator(_pauses(seed, job["pause"]))
    Clock(dut.aclk, PERIOD_NS, unit="ns").start()
    await ClockCycles(dut.aclk, 4)
    dut.aresetn.value = 1
    await ClockCycles(dut.aclk, 2)
    await start(bus, job)
    await First(RisingEdge(dut.irq), Timer(PERIOD_NS * job["cycle_limit"], unit="ns"))
    await RisingEdge(dut.aclk)
    result: dict[str, Any] = {"interrupt": bool(int(dut.irq.value))}
    result |= await collect(bus, job)
    Path(job["dump"]).write_bytes(bytes(ram.read(0, job["memory_bytes"])))
    Path(job["result"]).write_text(json.dumps(result, indent=1) + "\n")
