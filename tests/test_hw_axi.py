"""The flat edge of a top, and the longest burst from any address."""

from typing import Any

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from amaranth.sim import Simulator

from hw.axi import burst_limit, flat, join, lite, read_channels
from hw.dma_read import ReadDma
from hw.memory_config import MemoryConfig
from hw.verilog import emit


class Top(wiring.Component):
    """A read DMA behind flat ports, and an AXI4-Lite port that answers OKAY to everything."""

    def __init__(self) -> None:
        self.memory = MemoryConfig()
        super().__init__(
            {
                **flat("m_axi0_", read_channels(self.memory)),
                **flat("s_axi_", lite(8), In),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        """Join the manager only."""
        m = Module()
        m.submodules.dma = dma = ReadDma(1, self.memory)
        join(m, self, "m_axi0_", dma.axi, read_channels(self.memory))
        return m


def test_flat_names_and_directions():
    text = emit(Top(), "top")
    for line in (
        "output [31:0] m_axi0_araddr;",
        "output m_axi0_arvalid;",
        "input m_axi0_arready;",
        "input [63:0] m_axi0_rdata;",
        "output m_axi0_rready;",
        "input [7:0] s_axi_awaddr;",
        "output s_axi_awready;",
        "output [1:0] s_axi_bresp;",
    ):
        assert f"  {line}\n" in text, line


def test_join_wires_both_ways():
    dut: Any = Top()

    async def bench(ctx):
        assert (ctx.get(dut.m_axi0_rready), ctx.get(dut.m_axi0_arsize)) == (1, 3)

    simulator = Simulator(dut)
    simulator.add_testbench(bench)
    simulator.run()


@pytest.mark.parametrize(
    ("width", "burst_beats", "address", "limit"),
    [(64, 16, 0, 16), (64, 16, 0xFF8, 1), (64, 16, 0xF80, 16), (64, 16, 0xF88, 15)]
    + [(1024, 32, 0, 32), (1024, 32, 0x1F80, 1), (256, 1, 0xFE0, 1), (128, 256, 0x2010, 255)],
)
def test_longest_burst(width, burst_beats, address, limit):
    config = MemoryConfig(axi_data_width=width, burst_beats=burst_beats)
    signal, length = Signal(32), Signal(9)
    m = Module()
    m.d.comb += length.eq(burst_limit(signal, config))

    async def bench(ctx):
        ctx.set(signal, address)
        assert ctx.get(length) == limit

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()
