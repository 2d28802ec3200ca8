"""RegisterFile through its AXI4-Lite port: what the map promises, register by register."""

from collections.abc import Callable
from typing import Any

import pytest
from amaranth.sim import Simulator

from hw.axi import SLVERR
from hw.gnn.config import GnnConfig
from hw.gnn.counters import COUNTERS
from hw.gnn.format import VERSION, ErrorCode
from hw.gnn.register_file import RegisterFile
from hw.gnn.registers import ADDR_WIDTH, ID_VALUE, REGISTERS
from hw.memory_config import MemoryConfig

ADDRESS = {register.name: register.address for register in REGISTERS}
START, SOFT_RESET = 1, 2
BUSY, DONE, ERROR = 1, 2, 4
CONFIG = GnnConfig(memory=MemoryConfig(axi_addr_width=40))


async def _write(ctx: Any, dut: RegisterFile, address: int, value: int, strobe: int = 15) -> int:
    """Write; return the response."""
    axi = dut.axi
    ctx.set(axi.awaddr, address)
    ctx.set(axi.wdata, value)
    ctx.set(axi.wstrb, strobe)
    for valid in (1, 0):
        ctx.set(axi.awvalid, valid)
        ctx.set(axi.wvalid, valid)
        await ctx.tick()
    ctx.set(axi.bready, 1)
    assert ctx.get(axi.bvalid)
    response = ctx.get(axi.bresp)
    await ctx.tick()
    return response


async def _access(ctx: Any, dut: RegisterFile, address: int) -> tuple[int, int]:
    """Read; return response and data."""
    axi = dut.axi
    ctx.set(axi.araddr, address)
    for valid in (1, 0):
        ctx.set(axi.arvalid, valid)
        await ctx.tick()
    ctx.set(axi.rready, 1)
    assert ctx.get(axi.rvalid)
    answer = ctx.get(axi.rresp), ctx.get(axi.rdata)
    await ctx.tick()
    return answer


async def _read(ctx: Any, dut: RegisterFile, name: str) -> int:
    response, data = await _access(ctx, dut, ADDRESS[name])
    assert response == 0
    return data


async def _strobe(ctx: Any, signal: Any) -> None:
    ctx.set(signal, 1)
    await ctx.tick()
    ctx.set(signal, 0)


def _simulate(bench: Callable[[Any, RegisterFile], Any]) -> dict[str, int]:
    """Run the bench; return how often each strobe came."""
    dut = RegisterFile(CONFIG)
    strobes = {"start": 0, "soft_reset": 0}

    async def watch(ctx: Any) -> None:
        async for _, _, start, reset in ctx.tick().sample(dut.start, dut.soft_reset):
            strobes["start"] += start
            strobes["soft_reset"] += reset

    async def main(ctx: Any) -> None:
        await bench(ctx, dut)

    simulator = Simulator(dut)
    simulator.add_clock(1e-8)
    simulator.add_testbench(watch, background=True)
    simulator.add_testbench(main)
    simulator.run()
    return strobes


def test_constants():
    async def bench(ctx, dut):
        assert await _read(ctx, dut, "ID") == ID_VALUE
        assert await _read(ctx, dut, "VERSION") == VERSION
        assert await _read(ctx, dut, "CONFIG_HASH") == CONFIG.hash
        assert await _write(ctx, dut, ADDRESS["ID"], 0) == 0
        assert await _read(ctx, dut, "ID") == ID_VALUE

    _simulate(bench)


def test_every_other_address_is_refused_and_changes_nothing():
    async def bench(ctx, dut):
        known = {register.address for register in REGISTERS}
        near = set(range(0, max(known) + 8, 4)) - known
        for address in sorted(near | {(1 << ADDR_WIDTH) - 4}):
            assert (await _access(ctx, dut, address))[0] == SLVERR
            assert await _write(ctx, dut, address, 0xFFFFFFFF) == SLVERR
        for name in ("STATUS", "IRQ_ENABLE", "PROGRAM_ADDRESS_LO", "LOG_SELECT"):
            assert await _read(ctx, dut, name) == 0

    assert _simulate(bench) == {"start": 0, "soft_reset": 0}


def test_the_program_address_is_written_byte_by_byte():
    async def bench(ctx, dut):
        await _write(ctx, dut, ADDRESS["PROGRAM_ADDRESS_LO"], 0x11223344)
        await _write(ctx, dut, ADDRESS["PROGRAM_ADDRESS_LO"], 0xAABBCCDD, 0b0101)
        await _write(ctx, dut, ADDRESS["PROGRAM_ADDRESS_HI"], 0x5566)
        assert await _read(ctx, dut, "PROGRAM_ADDRESS_LO") == 0x11BB33DD
        assert await _read(ctx, dut, "PROGRAM_ADDRESS_HI") == 0x5566
        assert ctx.get(dut.program_address) == 0x6611BB33DD

    _simulate(bench)


def test_start_is_one_strobe_and_only_when_it_may_be():
    async def bench(ctx, dut):
        control = ADDRESS["CONTROL"]
        await _write(ctx, dut, control, START)
        assert await _read(ctx, dut, "CONTROL") == 0
        await _write(ctx, dut, control, START, 0b1110)
        ctx.set(dut.busy, 1)
        assert await _read(ctx, dut, "STATUS") == BUSY
        await _write(ctx, dut, control, START)
        ctx.set(dut.busy, 0)
        await _strobe(ctx, dut.error)
        await _write(ctx, dut, control, START)
        await _write(ctx, dut, ADDRESS["STATUS"], ERROR)
        await _write(ctx, dut, control, START)

    assert _simulate(bench) == {"start": 2, "soft_reset": 0}


def test_done_is_cleared_by_software_and_by_start():
    async def bench(ctx, dut):
        for clear in ((ADDRESS["STATUS"], DONE), (ADDRESS["CONTROL"], START)):
            await _strobe(ctx, dut.done)
            assert await _read(ctx, dut, "STATUS") == DONE
            await _write(ctx, dut, ADDRESS["STATUS"], ERROR)
            assert await _read(ctx, dut, "STATUS") == DONE
            await _write(ctx, dut, *clear)
            assert await _read(ctx, dut, "STATUS") == 0

    _simulate(bench)


def test_the_first_error_code_stands_until_it_is_cleared():
    async def bench(ctx, dut):
        for clear in ((ADDRESS["STATUS"], ERROR), (ADDRESS["CONTROL"], SOFT_RESET)):
            for code in (ErrorCode.READ_ERROR, ErrorCode.BAD_MAGIC):
                ctx.set(dut.error_code, code)
                await _strobe(ctx, dut.error)
            assert await _read(ctx, dut, "STATUS") == ERROR
            assert await _read(ctx, dut, "ERROR") == ErrorCode.READ_ERROR
            await _write(ctx, dut, *clear)
            assert await _read(ctx, dut, "STATUS") == 0
            assert await _read(ctx, dut, "ERROR") == 0

    assert _simulate(bench) == {"start": 0, "soft_reset": 1}


def test_a_status_bit_set_while_it_is_cleared_stays_set():
    async def bench(ctx, dut):
        ctx.set(dut.axi.bready, 1)
        ctx.set(dut.axi.awaddr, ADDRESS["STATUS"])
        ctx.set(dut.axi.wdata, DONE)
        ctx.set(dut.axi.wstrb, 15)
        ctx.set(dut.axi.awvalid, 1)
        ctx.set(dut.axi.wvalid, 1)
        await ctx.tick()
        ctx.set(dut.axi.awvalid, 0)
        ctx.set(dut.axi.wvalid, 0)
        await _strobe(ctx, dut.done)
        assert ctx.get(dut.axi.bvalid)
        await ctx.tick()
        assert await _read(ctx, dut, "STATUS") == DONE

    _simulate(bench)


@pytest.mark.parametrize("enable", [0, 1, 2, 3])
def test_the_interrupt_follows_status_and_enable(enable):
    async def bench(ctx, dut):
        await _write(ctx, dut, ADDRESS["IRQ_ENABLE"], enable)
        await _strobe(ctx, dut.done)
        assert ctx.get(dut.irq) == enable & 1
        await _write(ctx, dut, ADDRESS["STATUS"], DONE)
        assert ctx.get(dut.irq) == 0
        await _strobe(ctx, dut.error)
        assert ctx.get(dut.irq) == enable >> 1

    _simulate(bench)


def test_every_counter_is_where_the_map_says():
    async def bench(ctx, dut):
        for index in range(len(COUNTERS)):
            ctx.set(dut.counters[index], 0xA00000000000 + (index << 32) + 0x1000 * index)
        for index, counter in enumerate(COUNTERS):
            name = counter.name.upper()
            assert await _read(ctx, dut, f"{name}_LO") == 0x1000 * index
            assert await _read(ctx, dut, f"{name}_HI") == 0xA000 + index

    _simulate(bench)


def test_the_command_log():
    async def bench(ctx, dut):
        await _write(ctx, dut, ADDRESS["LOG_SELECT"], CONFIG.log_depth + 3)
        assert ctx.get(dut.log_select) == CONFIG.log_depth + 3
        ctx.set(dut.log_entry, {"start": 1, "go": 2, "end": 0xFFFFFFFF})
        names = ("LOG_START", "LOG_GO", "LOG_END")
        assert [await _read(ctx, dut, name) for name in names] == [1, 2, 0xFFFFFFFF]

    _simulate(bench)
