"""What software sees of a graph engine."""

from typing import Any

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.axi import bus, lite
from hw.gnn.config import GnnConfig
from hw.gnn.counters import COUNTERS
from hw.gnn.format import VERSION
from hw.gnn.registers import ADDR_WIDTH, ID_VALUE, REGISTERS
from hw.register_bank import RegisterBank

__all__ = ["RegisterFile"]

COUNTER_WIDTH = 48


class RegisterFile(wiring.Component):
    """The register map of `hw.gnn.registers`, with start, status and interrupt.

    Parameters
    ----------
    config : GnnConfig

    Members
    -------
    axi : In(bus(lite(addr_width)))
    start : Out(1)
        Strobe: begin a run. Never while `busy` or while STATUS.error is set.
    soft_reset : Out(1)
        Strobe: end the run. Done, error and code are cleared with it.
    program_address : Out(axi_addr_width)
    busy : In(1)
    done, error : In(1)
        Strobes: the run is complete; it was stopped for the reason `error_code`, taken with it.
    error_code : In(8)
    irq : Out(1)
        High while a status bit and its enable are set.
    counters : In(48) [counters]
        In the order of `COUNTERS`.
    log_select : Out
        Entry of the command log that is looked up.
    log_entry : In({start, go, end})

    **Latency**: a write's address and data taken by cycle t: `start` and `soft_reset` in t + 1. A
    strobe in t shows in status and interrupt from t + 1 on.
    """

    axi: Any
    start: Signal
    soft_reset: Signal
    program_address: Signal
    busy: Signal
    done: Signal
    error: Signal
    error_code: Signal
    irq: Signal
    counters: list[Signal]
    log_select: Signal
    log_entry: data.View

    def __init__(self, config: GnnConfig) -> None:
        self.config = config
        self.addr_width = ADDR_WIDTH
        super().__init__(
            {
                "axi": In(bus(lite(ADDR_WIDTH))),
                "start": Out(1),
                "soft_reset": Out(1),
                "program_address": Out(config.memory.axi_addr_width),
                "busy": In(1),
                "done": In(1),
                "error": In(1),
                "error_code": In(8),
                "irq": Out(1),
                "counters": In(COUNTER_WIDTH).array(len(COUNTERS)),
                "log_select": Out(range(2 * config.log_depth)),
                "log_entry": In(data.StructLayout({"start": 32, "go": 32, "end": 32})),
            }
        )

    def elaborate(self, platform) -> Module:
        """Wire the bank; a run and its end are one status bit each, set by the hardware."""
        m = Module()
        bank: Any = RegisterBank(REGISTERS, ADDR_WIDTH)
        m.submodules.bank = bank
        wiring.connect(m, wiring.flipped(self.axi), bank.axi)
        code = Signal(8)
        # The first code stands until the bit is cleared.
        with m.If(self.error & ~bank.status_error):
            m.d.sync += code.eq(self.error_code)
        m.d.comb += [
            bank.id_value.eq(ID_VALUE),
            bank.version_value.eq(VERSION),
            bank.config_hash_value.eq(self.config.hash),
            self.soft_reset.eq(bank.control_soft_reset),
            self.start.eq(bank.control_start & ~self.busy & ~bank.status_error & ~self.soft_reset),
            self.program_address.eq(
                Cat(bank.program_address_lo_value, bank.program_address_hi_value)
            ),
            bank.error_value.eq(Mux(bank.status_error, code, 0)),
            bank.status_busy.eq(self.busy),
            bank.status_done_clear.eq(self.start | self.soft_reset),
            bank.status_error_clear.eq(self.soft_reset),
            bank.status_done_set.eq(self.done),
            bank.status_error_set.eq(self.error),
            self.irq.eq(
                (bank.status_done & bank.irq_enable_done)
                | (bank.status_error & bank.irq_enable_error)
            ),
            self.log_select.eq(bank.log_select_value),
            bank.log_start_value.eq(self.log_entry.start),
            bank.log_go_value.eq(self.log_entry.go),
            bank.log_end_value.eq(self.log_entry.end),
        ]
        for index, counter in enumerate(COUNTERS):
            name, value = counter.name.lower(), self.counters[index]
            m.d.comb += getattr(bank, f"{name}_lo_value").eq(value[:32])
            m.d.comb += getattr(bank, f"{name}_hi_value").eq(value[32:])
        return m
