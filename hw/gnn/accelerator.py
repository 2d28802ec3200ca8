"""The graph accelerator: two engines, their DMA, the sequencer and the registers."""

from typing import Any

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hw.axi import PAGE_BYTES, flat, join, lite, read_channels, write_channels
from hw.dma_read import ReadDma
from hw.dma_write import WriteDma
from hw.gnn.aggregation import AggregationEngine
from hw.gnn.combination import CombinationEngine
from hw.gnn.command_log import CommandLog
from hw.gnn.config import GnnConfig
from hw.gnn.counters import COUNTERS, READ_STREAMS, WRITE_STREAMS
from hw.gnn.register_file import RegisterFile
from hw.gnn.sequencer import Sequencer

__all__ = ["GnnAccelerator"]

COUNTER_WIDTH = 48


class GnnAccelerator(wiring.Component):
    """Execute a Program in memory: AXI4-Lite in, AXI4 out, one interrupt.

    Parameters
    ----------
    config : GnnConfig

    Members
    -------
    aclk, aresetn : In(1)
        Clock, and synchronous reset, active low.
    irq : Out(1)
        High while done or error is set and its interrupt is enabled.
    s_axi_* : AXI4-Lite subordinate, 32 bit
    m_axi0_* : AXI4 manager

    A run: software writes the Program's address and `start`. Start is ignored while busy or while
    an error is set. On an error response, a bad header or a bad command no further burst is
    issued; when those in flight have ended, the error is set and the interrupt raised. A soft
    reset does the same and then clears engines, sequencer and DMA; it also clears the error.

    **Golden**: `models.golden.gnn.execute`. **Cost**: `models.cost.gnn.estimate`.
    """

    aclk: Signal
    aresetn: Signal
    irq: Signal

    def __init__(self, config: GnnConfig) -> None:
        self.config = config
        self.registers = RegisterFile(config)
        self._sequencer = Sequencer(config)
        self._combination = CombinationEngine(config)
        self._aggregation = AggregationEngine(config)
        self._read_dma = ReadDma(len(READ_STREAMS), config.memory)
        self._write_dma = WriteDma(len(WRITE_STREAMS), config.memory)
        self._log = CommandLog(config)
        self.lite_table = lite(self.registers.addr_width)
        super().__init__(
            {
                "aclk": In(1),
                "aresetn": In(1),
                "irq": Out(1),
                **flat("s_axi_", self.lite_table, In),
                **flat("m_axi0_", read_channels(config.memory)),
                **flat("m_axi0_", write_channels(config.memory)),
            }
        )

    def elaborate(self, platform) -> Module:
        """Wire the parts; everything behind the registers is cleared by `clear`."""
        m = Module()
        self._clock(m)
        self._running = Signal(name="running")
        clear = Signal()
        reset = ResetInserter(clear)
        m.submodules.registers = self.registers
        m.submodules.sequencer = reset(self._sequencer)
        m.submodules.combination = reset(self._combination)
        m.submodules.aggregation = reset(self._aggregation)
        m.submodules.read_dma = reset(self._read_dma)
        m.submodules.write_dma = reset(self._write_dma)
        m.submodules.log = reset(self._log)
        self._buses(m)
        self._streams(m)
        self._commands(m)
        self._control(m, clear)
        self._counters(m)
        return m

    def _clock(self, m: Module) -> None:
        m.domains.sync = ClockDomain("sync")
        m.d.comb += [ClockSignal("sync").eq(self.aclk), ResetSignal("sync").eq(~self.aresetn)]

    def _buses(self, m: Module) -> None:
        memory = self.config.memory
        join(m, self, "s_axi_", self.registers.axi, self.lite_table)
        join(m, self, "m_axi0_", self._read_dma.axi, read_channels(memory))
        join(m, self, "m_axi0_", self._write_dma.axi, write_channels(memory))

    def _streams(self, m: Module) -> None:
        """Give every stream its index, and every address the Program's place.

        All addresses of a Program count from its header, so that software may put it at any page;
        at a page, bursts are cut where the cost model cuts them. The place is taken at the start,
        so that software may write the next Program's while this one runs.
        """
        c, a, s = self._combination, self._aggregation, self._sequencer
        place = Signal(self.config.memory.axi_addr_width)
        page = Const(0, exact_log2(PAGE_BYTES))
        with m.If(s.start):
            m.d.sync += place.eq(Cat(page, self.registers.program_address[len(page) :]))
        reads = {
            "program": (s.o_request, s.i_beats),
            "weights": (c.o_request_weights, c.i_weights),
            "combine_nodes": (c.o_request_nodes, c.i_nodes),
            "features": (c.o_request_features, c.i_features),
            "edges": (a.o_request_edges, a.i_edges),
            "sources": (a.o_request_sources, a.i_sources),
            "rows": (a.o_request_rows, a.i_row_beats),
            "aggregate_nodes": (a.o_request_nodes, a.i_nodes),
        }
        for index, name in enumerate(READ_STREAMS):
            request, beats = reads[name]
            self._place(m, request, self._read_dma.i_request[index], place)
            wiring.connect(m, self._read_dma.o_data[index], beats)
        for index, engine in enumerate((c, a)):
            self._place(m, engine.o_write_request, self._write_dma.i_request[index], place)
            wiring.connect(m, engine.o_write, self._write_dma.i_token[index])
            m.d.comb += engine.write_done.eq(self._write_dma.done[index])
        wiring.connect(m, c.o_rows, a.i_rows)

    def _place(self, m: Module, request: Any, port: Any, place: Signal) -> None:
        """Connect a stream of requests, with `place` added to their addresses."""
        m.d.comb += [
            port.valid.eq(request.valid),
            request.ready.eq(port.ready),
            port.payload.eq(request.payload),
            port.payload.address.eq(request.payload.address + place),
        ]

    def _commands(self, m: Module) -> None:
        c, a, s = self._combination, self._aggregation, self._sequencer
        wiring.connect(m, s.o_combine, c.i_command)
        wiring.connect(m, s.o_aggregate, a.i_command)
        m.d.comb += [
            s.combine_done.eq(c.done),
            s.aggregate_done.eq(a.done),
            c.aggregates_done.eq(s.aggregates_done),
            a.combines_done.eq(s.combines_done),
            self._log.start.eq(Cat(o.valid & o.ready for o in (s.o_combine, s.o_aggregate))),
            self._log.go.eq(Cat(c.go, a.go)),
            self._log.done.eq(Cat(c.done, a.done)),
        ]

    def _control(self, m: Module, clear: Signal) -> None:
        """Run, or stop: halt the DMA, let it come to rest, then clear everything behind it."""
        r, s, log = self.registers, self._sequencer, self._log
        code = Signal(8)
        halt = Signal()
        m.d.comb += [
            self.irq.eq(r.irq),
            s.read_error.eq(self._read_dma.error),
            s.write_error.eq(self._write_dma.error),
            self._read_dma.halt.eq(halt),
            self._write_dma.halt.eq(halt),
            log.clear.eq(s.start),
            log.select.eq(r.log_select),
            r.log_entry.eq(log.entry),
            r.error_code.eq(code),
        ]
        with m.FSM(name="run"):
            with m.State("IDLE"):
                with m.If(r.soft_reset):
                    m.d.sync += code.eq(0)
                    m.next = "STOP"
                with m.Elif(r.start):
                    m.d.comb += s.start.eq(1)
                    m.next = "RUN"
            with m.State("RUN"):
                m.d.comb += [r.busy.eq(1), self._running.eq(1)]
                with m.If(r.soft_reset):
                    m.d.sync += code.eq(0)
                    m.next = "STOP"
                with m.Elif(s.error != 0):
                    m.d.sync += code.eq(s.error)
                    m.next = "STOP"
                with m.Elif(s.done):
                    m.d.comb += r.done.eq(1)
                    m.next = "IDLE"
            with m.State("STOP"):
                m.d.comb += [r.busy.eq(1), halt.eq(1)]
                with m.If(r.soft_reset):
                    m.d.sync += code.eq(0)
                with m.If(self._read_dma.idle & self._write_dma.idle):
                    m.d.comb += [clear.eq(1), r.error.eq((code != 0) & ~r.soft_reset)]
                    m.next = "IDLE"

    def _counters(self, m: Module) -> None:
        """Accumulate every event while a run goes on; start clears."""
        increments: dict[str, Value] = {"cycles": Const(1)}
        for engine in (self._combination, self._aggregation):
            for name in engine.events.shape().members:
                increments[name] = engine.events[name]
        for dma, side, streams in (
            (self._read_dma, "read", READ_STREAMS),
            (self._write_dma, "write", WRITE_STREAMS),
        ):
            increments[f"{side}_bursts"] = dma.burst
            for index, name in enumerate(streams):
                increments[f"{side}_beats_{name}"] = dma.beat[index]
        for index, counter in enumerate(COUNTERS):
            value = Signal(COUNTER_WIDTH, name=f"count_{counter.name}")
            m.d.comb += self.registers.counters[index].eq(value)
            with m.If(self._sequencer.start):
                m.d.sync += value.eq(0)
            with m.Elif(self._running):
                m.d.sync += value.eq(value + increments[counter.name])
            if counter.name == "cycles":
                m.d.comb += self._log.now.eq(value)
