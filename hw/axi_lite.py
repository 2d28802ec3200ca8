"""From AXI4-Lite to one access a time: the protocol, without any register."""

from typing import Any

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.axi import SLVERR, bus, lite

__all__ = ["AxiLiteSlave"]


class AxiLiteSlave(wiring.Component):
    """Answer one read and one write at a time; address and data of a write come in any order.

    Parameters
    ----------
    addr_width : int, bits

    Members
    -------
    axi : In(bus(lite(addr_width)))
    write : Out(1)
        Strobe: write `write_data` where `write_strobe` (one bit a byte) is 1.
    write_address, write_data, write_strobe : Out
    write_error : In(1)
        In the same cycle: the address is refused.
    read : Out(1)
        Strobe: `read_data` is taken in this cycle.
    read_address : Out(addr_width)
    read_data : In(32)
    read_error : In(1)
        In the same cycle: the address is refused.

    **Latency**: the later of address and data taken in cycle t; `write` in t + 1, BVALID in t + 2.
    Address taken in t; `read` in t + 1, RVALID in t + 2. The next is taken from the cycle after
    the response was taken on.
    """

    axi: Any
    write: Signal
    write_address: Signal
    write_data: Signal
    write_strobe: Signal
    write_error: Signal
    read: Signal
    read_address: Signal
    read_data: Signal
    read_error: Signal

    def __init__(self, addr_width: int) -> None:
        super().__init__(
            {
                "axi": In(bus(lite(addr_width))),
                "write": Out(1),
                "write_address": Out(addr_width),
                "write_data": Out(32),
                "write_strobe": Out(4),
                "write_error": In(1),
                "read": Out(1),
                "read_address": Out(addr_width),
                "read_data": In(32),
                "read_error": In(1),
            }
        )

    def elaborate(self, platform) -> Module:
        """Put registers in front of both directions, so that no input reaches an output at once."""
        m = Module()
        self._write(m)
        self._read(m)
        return m

    def _write(self, m: Module) -> None:
        axi = self.axi
        has_address = Signal()
        has_data = Signal()
        m.d.comb += [
            axi.awready.eq(~has_address),
            axi.wready.eq(~has_data),
            self.write.eq(has_address & has_data & ~axi.bvalid),
        ]
        with m.If(axi.awvalid & axi.awready):
            m.d.sync += [has_address.eq(1), self.write_address.eq(axi.awaddr)]
        with m.If(axi.wvalid & axi.wready):
            m.d.sync += has_data.eq(1)
            m.d.sync += [self.write_data.eq(axi.wdata), self.write_strobe.eq(axi.wstrb)]
        with m.If(self.write):
            m.d.sync += [axi.bvalid.eq(1), axi.bresp.eq(Mux(self.write_error, SLVERR, 0))]
        with m.Elif(axi.bvalid & axi.bready):
            m.d.sync += [axi.bvalid.eq(0), has_address.eq(0), has_data.eq(0)]

    def _read(self, m: Module) -> None:
        axi = self.axi
        has_address = Signal()
        m.d.comb += [
            axi.arready.eq(~has_address),
            self.read.eq(has_address & ~axi.rvalid),
        ]
        with m.If(axi.arvalid & axi.arready):
            m.d.sync += [has_address.eq(1), self.read_address.eq(axi.araddr)]
        with m.If(self.read):
            m.d.sync += [
                axi.rvalid.eq(1),
                axi.rdata.eq(self.read_data),
                axi.rresp.eq(Mux(self.read_error, SLVERR, 0)),
            ]
        with m.Elif(axi.rvalid & axi.rready):
            m.d.sync += [axi.rvalid.eq(0), has_address.eq(0)]
