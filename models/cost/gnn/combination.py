"""Several write streams on one AXI4 write port."""

from typing import Any

from amaranth import *
from amaranth.lib import fifo, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.axi import CACHE_NORMAL, ID_WIDTH, INCR, burst_limit, bus, write_channels
from hw.dma import WriteRequest, WriteToken
from hw.memory_config import MemoryConfig
from hw.round_robin import RoundRobin

__all__ = ["BURSTS_MAX", "WriteDma"]

BURSTS_MAX = 16
"""Bursts of one stream that may wait for their acknowledgement."""


class WriteDma(wiring.Component):
    """Gather the beats of requests into bursts and write each without a gap.

    A burst is issued when all its beats are there: `burst_beats` of them, or as many as reach the
    next 4 KiB boundary, or the rest of the request. So WVALID never drops inside a burst. At most
    `BURSTS_MAX` bursts of a stream wait for their acknowledgement. A stream has one request at a
    time: the next is taken after the last was acknowledged.

    Parameters
    ----------
    streams : int
        Number of streams, 1..16; the ID of a stream's bursts is its index.
    memory : MemoryConfig

    Members
    -------
    i_request : In(stream(WriteRequest)) [streams]
        The address must be a multiple of the beat's bytes.
    i_token : In(stream(WriteToken)) [streams]
        The beats of the request taken before, and its end.
    done : Out(streams)
        Strobe of each stream: the request is acknowledged. Never after an error.
    axi : Out(bus(write_channels(memory)))
    halt : In(1)
        No further burst is issued; those issued are completed.
    error : Out(1)
        An acknowledgement came with an error response. Stays until reset; nothing more is issued.
    idle : Out(1)
        No burst is offered or in flight.
    burst : Out(1)
        Strobe: an address was handed over.
    beat : Out(streams)
        Strobe of each stream: a beat was handed over.

    **Latency**: request taken in cycle t, its first token in t + 1 at the earliest. The token that
    completes a burst is taken in cycle t; AWVALID and the first WVALID in t + 2. The next burst
    follows the last beat of the one before without a gap. `done` is in the cycle after the last
    BVALID (without any beat: after the last token); the stream takes a request from the cycle
    after that on. One token a cycle while AWREADY and WREADY are 1.
    """

    i_request: list[stream.Interface]
    i_token: list[stream.Interface]
    done: Signal
    axi: Any
    halt: Signal
    error: Signal
    idle: Signal
    burst: Signal
    beat: Signal

    def __init__(self, streams: int, memory: MemoryConfig) -> None:
        if not 1 <= streams <= 1 << ID_WIDTH:
            raise ValueError(f"streams must be in 1..{1 << ID_WIDTH}, not {streams}")
        self.streams = streams
        self.memory = memory
        request = stream.Signature(WriteRequest(memory.axi_addr_width))
        token = stream.Signature(WriteToken(memory.axi_data_width))
        super().__init__(
            {
                "i_request": In(request).array(streams),
                "i_token": In(token).array(streams),
                "done": Out(streams),
                "axi": Out(bus(write_channels(memory))),
                "halt": In(1),
                "error": Out(1),
                "idle": Out(1),
                "burst": Out(1),
                "beat": Out(streams),
            }
        )

    def elaborate(self, platform) -> Module:
        """Per stream a request and a FIFO; one arbiter; one address register; one burst of W."""
        m = Module()
        memory = self.memory
        length = self._each("length", range(memory.burst_beats + 1))
        address = self._each("address", memory.axi_addr_width)
        beats = self._each("beats", memory.axi_data_width)
        wanted = Signal(self.streams)
        chosen = Signal(range(self.streams))
        choose = Signal()
        m.submodules.arbiter = arbiter = RoundRobin(self.streams)
        aw_free = Signal()
        w_free = Signal()
        m.d.comb += [
            arbiter.wanted.eq(wanted),
            arbiter.choose.eq(choose),
            chosen.eq(arbiter.chosen),
            aw_free.eq(~self.axi.awvalid | self.axi.awready),
            choose.eq(wanted.any() & aw_free & w_free & ~self.halt & ~self.error),
            self.burst.eq(self.axi.awvalid & self.axi.awready),
        ]
        for index in range(self.streams):
            issue = choose & (chosen == index)
            queue = self._queue(m, index, beats[index])
            self._stream(m, index, address[index], length[index], wanted[index], issue, queue)
        with m.If(aw_free):
            m.d.sync += self.axi.awvalid.eq(choose)
        with m.If(choose):
            m.d.sync += [
                self.axi.awaddr.eq(address[chosen]),
                self.axi.awlen.eq(length[chosen] - 1),
                self.axi.awid.eq(chosen),
            ]
        self._data(m, choose, chosen, length[chosen], w_free, beats)
        self._constants(m)
        self._in_flight(m, choose)
        return m

    def _each(self, name: str, shape: range | int) -> Array:
        return Array(Signal(shape, name=f"{name}{index}") for index in range(self.streams))

    def _constants(self, m: Module) -> None:
        m.d.comb += [
            self.axi.awsize.eq((self.memory.beat_bytes - 1).bit_length()),
            self.axi.awburst.eq(INCR),
            self.axi.awcache.eq(CACHE_NORMAL),
            self.axi.wstrb.eq((1 << self.memory.beat_bytes) - 1),
            self.axi.bready.eq(1),
        ]

    def _data(
        self, m: Module, choose: Signal, chosen: Signal, length: Value, w_free: Signal, beats: Array
    ) -> None:
        """Send the beats of the burst chosen last; its stream's FIFO holds them all."""
        left = Signal(range(self.memory.burst_beats + 1))
        source = Signal(range(self.streams))
        sent = self.axi.wvalid & self.axi.wready
        m.d.comb += [
            self.axi.wvalid.eq(left != 0),
            self.axi.wlast.eq(left == 1),
            self.axi.wdata.eq(beats[source]),
            w_free.eq((left == 0) | (sent & self.axi.wlast)),
        ]
        for index in range(self.streams):
            m.d.comb += self.beat[index].eq(sent & (source == index))
        with m.If(choose):
            m.d.sync += [left.eq(length), source.eq(chosen)]
        with m.Elif(sent):
            m.d.sync += left.eq(left - 1)

    def _in_flight(self, m: Module, choose: Signal) -> None:
        """Count the bursts from their choice to their acknowledgement; remember an error."""
        flying = Signal(range(self.streams * BURSTS_MAX + 1))
        m.d.sync += flying.eq(flying + choose - self.axi.bvalid)
        m.d.comb += self.idle.eq(flying == 0)
        with m.If(self.axi.bvalid & self.axi.bresp[1]):
            m.d.sync += self.error.eq(1)

    def _stream(
        self,
        m: Module,
        index: int,
        address: Signal,
        length: Signal,
        wanted: Value,
        issue: Value,
        queue: fifo.SyncFIFOBuffered,
    ) -> None:
        """Keep one stream's request, what is gathered and what is not acknowledged yet."""
        request, token = self.i_request[index], self.i_token[index]
        active = Signal()
        ended = Signal()
        gathered = Signal(range(self.memory.fifo_depth + 2))
        flying = Signal(range(BURSTS_MAX + 1))
        limit = Signal.like(length)
        given = token.valid & token.ready
        landed = self.axi.bvalid & (self.axi.bid == index)
        m.d.comb += [
            limit.eq(burst_limit(address, self.memory)),
            length.eq(Mux(gathered < limit, gathered, limit)),
            wanted.eq(((gathered >= limit) | (ended & (gathered != 0))) & (flying != BURSTS_MAX)),
            request.ready.eq(~active),
            token.ready.eq(active & ~ended & queue.w_rdy),
            queue.w_en.eq(given & token.payload.valid),
            self.done[index].eq(ended & (gathered == 0) & (flying == 0) & ~self.error),
        ]
        m.d.sync += [
            gathered.eq(gathered + queue.w_en - Mux(issue, length, 0)),
            flying.eq(flying + issue - landed),
        ]
        with m.If(issue):
            m.d.sync += address.eq(address + length * self.memory.beat_bytes)
        with m.If(request.valid & request.ready):
            m.d.sync += [address.eq(request.payload.address), active.eq(1)]
        with m.If(given & token.payload.last):
            m.d.sync += ended.eq(1)
        with m.If(self.done[index]):
            m.d.sync += [active.eq(0), ended.eq(0)]

    def _queue(self, m: Module, index: int, beats: Signal) -> fifo.SyncFIFOBuffered:
        """Keep the beats of one stream until they are sent."""
        queue = fifo.SyncFIFOBuffered(
            width=self.memory.axi_data_width, depth=self.memory.fifo_depth + 1
        )
        m.submodules[f"queue{index}"] = queue
        m.d.comb += [
            queue.w_data.eq(self.i_token[index].payload.data),
            beats.eq(queue.r_data),
            queue.r_en.eq(self.beat[index]),
        ]
        return queue
