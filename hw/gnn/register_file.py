"""Registers of the graph engine behind AXI4-Lite."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.axi import bus, lite
from hw.gnn.command_log import CommandLog
from hw.gnn.config import GnnConfig
from hw.gnn.counters import COUNTERS
from hw.gnn.format import VERSION
from hw.gnn.registers import ADDR_WIDTH, ID_VALUE, REGISTERS

__all__ = ["RegisterFile"]


class RegisterFile(wiring.Component):
    """Hold the registers of `hw.gnn.registers` and the interrupt.

    Members
    -------
    axi : In(AXI4-Lite)
    irq : Out(1)
        High while done or error is set and enabled.
    start, soft_reset : Out(1)
        Strobes; start is withheld while busy or error is set.
    busy, done, error, error_code : In
        State of the engine; done and error are strobes, the code comes with error.
    program_address : Out
    counters : In(48) [counters]
    log_select : Out, log_entry : In
        The command log's read port.
    """

    def __init__(self, config: GnnConfig) -> None:
        self.config = config
        self.addr_width = ADDR_WIDTH
        super().__init__(
            {
                "axi": In(bus(lite(ADDR_WIDTH))),
                "irq": Out(1),
                "start": Out(1),
                "soft_reset": Out(1),
                "busy": In(1),
                "done": In(1),
                "error": In(1),
                "error_code": In(8),
                "program_address": Out(config.memory.axi_addr_width),
                "counters": In(48).array(len(COUNTERS)),
                "log_select": Out(range(2 * config.log_depth)),
                "log_entry": In(CommandLog(config).layout),
            }
        )

    def elaborate(self, platform) -> Module:
        """Decode one write and one read at a time."""
        m = Module()
        a = self.axi
        done_set = Signal()
        error_set = Signal()
        code = Signal(8)
        enable = Signal(2)
        lo = Signal(32)
        hi = Signal(32)
        select = Signal(16)
        m.d.comb += [
            self.irq.eq((done_set & enable[0]) | (error_set & enable[1])),
            self.program_address.eq(Cat(lo, hi)),
            self.log_select.eq(select),
        ]
        stored = {
            "IRQ_ENABLE": enable,
            "PROGRAM_ADDRESS_LO": lo,
            "PROGRAM_ADDRESS_HI": hi,
            "LOG_SELECT": select,
        }
        values = {
            "ID": ID_VALUE,
            "VERSION": VERSION,
            "CONFIG_HASH": self.config.hash,
            "STATUS": Cat(self.busy, done_set, error_set),
            "ERROR": code,
            "IRQ_ENABLE": enable,
            "PROGRAM_ADDRESS_LO": lo,
            "PROGRAM_ADDRESS_HI": hi,
            "LOG_SELECT": select,
            "LOG_START": self.log_entry.start,
            "LOG_GO": self.log_entry.go,
            "LOG_END": self.log_entry.end,
            "CONTROL": 0,
        }
        for i, c in enumerate(COUNTERS):
            values[f"{c.name.upper()}_LO"] = self.counters[i][:32]
            values[f"{c.name.upper()}_HI"] = self.counters[i][32:]
        with m.If(self.done):
            m.d.sync += done_set.eq(1)
        with m.If(self.error):
            m.d.sync += [error_set.eq(1), code.eq(self.error_code)]
        w = Signal()
        m.d.comb += [
            w.eq(a.awvalid & a.wvalid & ~a.bvalid),
            a.awready.eq(w),
            a.wready.eq(w),
        ]
        with m.If(a.bready):
            m.d.sync += a.bvalid.eq(0)
        with m.If(w):
            m.d.sync += a.bvalid.eq(1)
            with m.Switch(a.awaddr):
                for r in REGISTERS:
                    with m.Case(r.address):
                        if r.name == "CONTROL":
                            m.d.comb += [
                                self.start.eq(a.wdata[0] & ~self.busy & ~error_set),
                                self.soft_reset.eq(a.wdata[1]),
                            ]
                            with m.If(self.start):
                                m.d.sync += done_set.eq(0)
                        if r.name == "STATUS":
                            with m.If(a.wdata[1]):
                                m.d.sync += done_set.eq(0)
                            with m.If(a.wdata[2]):
                                m.d.sync += error_set.eq(0)
                        if r.name in stored:
                            m.d.sync += stored[r.name].eq(a.wdata)
        pend = Signal()
        m.d.comb += a.arready.eq(~pend & ~a.rvalid)
        addr = Signal(ADDR_WIDTH)
        with m.If(a.arvalid & a.arready):
            m.d.sync += [pend.eq(1), addr.eq(a.araddr)]
        with m.If(pend):
            m.d.sync += [pend.eq(0), a.rvalid.eq(1)]
            with m.Switch(addr):
                for r in REGISTERS:
                    with m.Case(r.address):
                        m.d.sync += a.rdata.eq(values[r.name])
        with m.If(a.rvalid & a.rready):
            m.d.sync += a.rvalid.eq(0)
        return m
