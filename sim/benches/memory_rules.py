"""The behavioural memory by itself: data, time, errors and the rules that it checks.

The random traffic comes from cocotbext-axi's master, an implementation that is not ours; time and
rules are checked with ports driven by hand, where each edge counts.
"""

import os
import random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, ReadOnly, RisingEdge
from cocotbext.axi import AxiBus, AxiMaster, AxiResp

DEPTH_BYTES = 1 << 16
_BEAT_BYTES = 8
_TRAFFIC_BYTES = 6000
_INPUTS = {
    "ar": ("id", "addr", "len", "size", "burst", "valid"),
    "aw": ("id", "addr", "len", "size", "burst", "valid"),
    "w": ("data", "strb", "last", "valid"),
}


async def _start(dut: Any) -> None:
    dut.aresetn.value = 0
    dut.dump.value = 0
    dut.cycle.value = 0
    for channel, fields in _INPUTS.items():
        for field in fields:
            getattr(dut, channel + field).value = 0
    for channel in ("ar", "aw"):
        getattr(dut, channel + "size").value = 3
        getattr(dut, channel + "burst").value = 1
    dut.rready.value = 1
    dut.bready.value = 1
    Clock(dut.aclk, 2, unit="ns").start()
    cocotb.start_soon(_count(dut))
    await ClockCycles(dut.aclk, 3)
    dut.aresetn.value = 1
    await RisingEdge(dut.aclk)


def _master(dut: Any) -> Any:
    return AxiMaster(AxiBus.from_entity(dut), dut.aclk, dut.aresetn, reset_active_level=False)


async def _count(dut: Any) -> None:
    edges = 0
    while True:
        await RisingEdge(dut.aclk)
        edges += 1
        dut.cycle.value = edges


async def _next(dut: Any) -> int:
    """Wait for an edge; return its number (what `cycle` was just before it)."""
    await RisingEdge(dut.aclk)
    return int(dut.cycle.value)


async def _address(dut: Any, channel: str, address: int, beats: int) -> int:
    """Hand over one address; return the edge that took it."""
    getattr(dut, channel + "addr").value = address
    getattr(dut, channel + "len").value = beats - 1
    getattr(dut, channel + "valid").value = 1
    while True:
        edge = await _next(dut)
        if int(getattr(dut, channel + "ready").value):
            getattr(dut, channel + "valid").value = 0
            return edge


async def _data(dut: Any, beats: int, last_at: int | None = None) -> list[int]:
    """Hand over data 1, 2, ..; return the edges."""
    edges = []
    dut.wstrb.value = 0xFF
    for beat in range(beats):
        dut.wdata.value = beat + 1
        dut.wlast.value = int(beat == (beats - 1 if last_at is None else last_at))
        dut.wvalid.value = 1
        while True:
            edge = await _next(dut)
            if int(dut.wready.value):
                edges.append(edge)
                break
    dut.wvalid.value = 0
    return edges


async def _answers(dut: Any, channel: str, count: int) -> list[int]:
    """Return the edges at which `count` transfers of `channel` (r or b) happen."""
    edges: list[int] = []
    while len(edges) < count:
        edge = await _next(dut)
        if int(getattr(dut, channel + "valid").value):
            edges.append(edge)
    return edges


@cocotb.test()
async def traffic(dut: Any) -> None:
    """Compare all that cocotbext-axi's master writes and reads with a bytearray."""
    await _start(dut)
    seed = int(os.environ["BITWRIGHT_SEED"])
    source = random.Random(seed)
    master: Any = AxiMaster(
        AxiBus.from_entity(dut), dut.aclk, dut.aresetn, reset_active_level=False
    )
    expected = bytearray(_TRAFFIC_BYTES)
    for index in range(40):
        length = source.randrange(1, 700)
        address = source.randrange(_TRAFFIC_BYTES - length) & -_BEAT_BYTES
        content = source.randbytes(length)
        await master.write(address, content)
        expected[address : address + length] = content
        length = source.randrange(1, 700)
        address = source.randrange(_TRAFFIC_BYTES - length) & -_BEAT_BYTES
        read = await master.read(address, length)
        assert read.data == expected[address : address + length], f"seed {seed}, access {index}"
    assert int(dut.violations.value) == 0


@cocotb.test()
async def timing(dut: Any) -> None:
    """Expect a burst after the latency, a beat a cycle, and no gap before the next burst."""
    await _start(dut)
    latency = int(os.environ["BITWRIGHT_LATENCY"])
    reads = cocotb.start_soon(_answers(dut, "r", 12))
    first = await _address(dut, "ar", 0, 8)
    second = await _address(dut, "ar", 512, 4)
    assert second == first + 1
    assert await reads == [first + latency + beat for beat in range(12)]
    response = cocotb.start_soon(_answers(dut, "b", 1))
    address = await _address(dut, "aw", 0, 4)
    data = await _data(dut, 4)
    assert data == [address + 1 + beat for beat in range(4)]
    assert await response == [data[-1] + latency]


@cocotb.test()
async def rates(dut: Any) -> None:
    """Expect beats four cycles apart at a rate of a quarter."""
    await _start(dut)
    reads = cocotb.start_soon(_answers(dut, "r", 16))
    await _address(dut, "ar", 0, 16)
    edges = await reads
    assert edges[-1] - edges[1] == 4 * 14
    await _address(dut, "aw", 0, 16)
    edges = await _data(dut, 16)
    assert edges[-1] - edges[1] == 4 * 14


@cocotb.test()
async def errors(dut: Any) -> None:
    """Expect SLVERR in the range, with its contents kept, and DECERR beyond the end."""
    await _start(dut)
    master: Any = AxiMaster(
        AxiBus.from_entity(dut), dut.aclk, dut.aresetn, reset_active_level=False
    )
    assert (await master.write(0x0FF8, bytes(range(8)))).resp == AxiResp.OKAY
    assert (await master.write(0x1000, bytes(range(8)))).resp == AxiResp.SLVERR
    assert (await master.read(0x1000, 8)).resp == AxiResp.SLVERR
    assert (await master.read(0x0FF8, 8)).data == bytes(range(8))
    assert (await master.read(0x1080, 8)).resp == AxiResp.OKAY
    assert (await master.read(DEPTH_BYTES, 8)).resp == AxiResp.DECERR


@cocotb.test()
async def violations(dut: Any) -> None:
    """Break each rule once and see it counted."""
    await _start(dut)

    async def seen() -> int:
        await ClockCycles(dut.aclk, 2)
        await ReadOnly()
        count = int(dut.violations.value)
        await RisingEdge(dut.aclk)
        return count

    assert await seen() == 0
    await _address(dut, "ar", 0x0FF8, 2)
    assert await seen() == 1, "a read crosses 4 KiB"
    await _address(dut, "aw", 0x0F80, 16)
    await _data(dut, 16)
    assert await seen() == 1, "a burst up to the border is legal"
    await _address(dut, "aw", 0, 4)
    await _data(dut, 4, last_at=2)
    assert await seen() == 3, "WLAST a beat early, then missing"
    dut.wvalid.value = 1  # no address is waiting, so the beat is not taken
    await ClockCycles(dut.aclk, 2)
    dut.wdata.value = 77
    await ClockCycles(dut.aclk, 2)
    assert await seen() == 4, "data changed while it waited"
    dut.wvalid.value = 0
    assert await seen() == 5, "data withdrawn"
    await _address(dut, "ar", 4, 1)
    assert await seen() == 6, "half a beat"
    dut.arsize.value = 2
    await _address(dut, "ar", 0, 1)
    assert await seen() == 7, "narrow"
    await ClockCycles(dut.aclk, 20)
    dut.dump.value = 1
    await ClockCycles(dut.aclk, 3)
