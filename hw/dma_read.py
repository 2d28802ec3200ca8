"""Several read streams on one AXI4 read port."""

from typing import Any

from amaranth import *
from amaranth.lib import fifo, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.axi import CACHE_NORMAL, ID_WIDTH, INCR, burst_limit, bus, read_channels
from hw.dma import ReadRequest
from hw.memory_config import MemoryConfig
from hw.round_robin import RoundRobin

__all__ = ["ReadDma"]


class ReadDma(wiring.Component):
    """Cut requests into bursts, issue them round robin, hand the beats back by ID.

    A burst is as long as the request's rest, `burst_beats` and the distance to the next 4 KiB
    boundary allow. It is issued only when the FIFO of its stream has room for all of it, counting
    what is in flight; so RREADY is constant 1, and one stream never blocks another.

    Parameters
    ----------
    streams : int
        Number of streams, 1..16; the ID of a stream's bursts is its index.
    memory : MemoryConfig

    Members
    -------
    i_request : In(stream(ReadRequest)) [streams]
        The address must be a multiple of the beat's bytes.
    o_data : Out(stream(axi_data_width)) [streams]
        The beats of a stream's requests, in order.
    axi : Out(bus(read_channels(memory)))
    halt : In(1)
        No further burst is issued.
    error : Out(1)
        A beat came with an error response. Stays; from the next cycle on nothing is issued and
        nothing is handed over any more, until reset.
    idle : Out(1)
        No burst is offered or in flight.
    burst : Out(1)
        Strobe: an address was handed over.
    beat : Out(streams)
        Strobe of each stream: a beat has come.

    **Latency**: request taken in cycle t; its first ARVALID in t + 2; a beat that comes in cycle u
    is offered in u + 2. A free stream takes its next request in the cycle in which the last burst
    of the one before is chosen, so requests of one burst sustain one AR a cycle. Room is given
    back by the cycle after a beat is handed over. One burst is chosen a cycle while ARREADY is 1.
    """

    i_request: list[stream.Interface]
    o_data: list[stream.Interface]
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
        request = stream.Signature(ReadRequest(memory.axi_addr_width))
        super().__init__(
            {
                "i_request": In(request).array(streams),
                "o_data": Out(stream.Signature(memory.axi_data_width)).array(streams),
                "axi": Out(bus(read_channels(memory))),
                "halt": In(1),
                "error": Out(1),
                "idle": Out(1),
                "burst": Out(1),
                "beat": Out(streams),
            }
        )

    def elaborate(self, platform) -> Module:
        """Per stream a request, its next burst and a FIFO; one arbiter; one address register."""
        m = Module()
        memory = self.memory
        length = self._each("length", range(memory.burst_beats + 1))
        address = self._each("address", memory.axi_addr_width)
        wanted = Signal(self.streams)
        chosen = Signal(range(self.streams))
        choose = Signal()
        m.submodules.arbiter = arbiter = RoundRobin(self.streams)
        ar_free = Signal()
        m.d.comb += [
            arbiter.wanted.eq(wanted),
            arbiter.choose.eq(choose),
            chosen.eq(arbiter.chosen),
            ar_free.eq(~self.axi.arvalid | self.axi.arready),
            choose.eq(wanted.any() & ar_free & ~self.halt & ~self.error),
            self.burst.eq(self.axi.arvalid & self.axi.arready),
        ]
        for index in range(self.streams):
            issue = choose & (chosen == index)
            self._stream(m, index, address[index], length[index], wanted[index], issue)
        with m.If(ar_free):
            m.d.sync += self.axi.arvalid.eq(choose)
        with m.If(choose):
            m.d.sync += [
                self.axi.araddr.eq(address[chosen]),
                self.axi.arlen.eq(length[chosen] - 1),
                self.axi.arid.eq(chosen),
            ]
        self._constants(m)
        self._in_flight(m, choose)
        return m

    def _each(self, name: str, shape: range | int) -> Array:
        return Array(Signal(shape, name=f"{name}{index}") for index in range(self.streams))

    def _constants(self, m: Module) -> None:
        m.d.comb += [
            self.axi.arsize.eq((self.memory.beat_bytes - 1).bit_length()),
            self.axi.arburst.eq(INCR),
            self.axi.arcache.eq(CACHE_NORMAL),
            self.axi.rready.eq(1),
        ]

    def _in_flight(self, m: Module, choose: Signal) -> None:
        """Count the bursts from their choice to their last beat; remember an error."""
        flying = Signal(range(self.streams * self.memory.fifo_depth + 1))
        landed = self.axi.rvalid & self.axi.rlast
        m.d.sync += flying.eq(flying + choose - landed)
        m.d.comb += self.idle.eq(flying == 0)
        with m.If(self.axi.rvalid & self.axi.rresp[1]):
            m.d.sync += self.error.eq(1)

    def _stream(
        self, m: Module, index: int, address: Signal, length: Signal, wanted: Value, issue: Value
    ) -> None:
        """Keep one stream's request and room, and offer its next burst to the arbiter."""
        request, port = self.i_request[index], self.o_data[index]
        room = Signal(range(self.memory.fifo_depth + 1), init=self.memory.fifo_depth)
        left = Signal(32)
        rest = Signal(32)
        limit = Signal.like(length)
        m.d.comb += [
            limit.eq(burst_limit(address, self.memory)),
            length.eq(Mux(left < limit, left, limit)),
            wanted.eq((left != 0) & (room >= length)),
            rest.eq(Mux(issue, left - length, left)),
            request.ready.eq(rest == 0),
        ]
        m.d.sync += left.eq(rest)
        with m.If(issue):
            m.d.sync += address.eq(address + length * self.memory.beat_bytes)
        with m.If(request.valid & request.ready):
            m.d.sync += [
                address.eq(request.payload.address),
                left.eq(request.payload.beats),
            ]
        given = port.valid & port.ready
        m.d.sync += room.eq(room - Mux(issue, length, 0) + given)
        self._queue(m, index)

    def _queue(self, m: Module, index: int) -> None:
        """Keep the beats of one stream; its output register is beyond the room that is counted."""
        port = self.o_data[index]
        queue = fifo.SyncFIFOBuffered(
            width=self.memory.axi_data_width, depth=self.memory.fifo_depth + 1
        )
        m.submodules[f"queue{index}"] = queue
        arrived = self.axi.rvalid & (self.axi.rid == index)
        m.d.comb += [
            self.beat[index].eq(arrived),
            queue.w_en.eq(arrived & ~self.axi.rresp[1] & ~self.error),
            queue.w_data.eq(self.axi.rdata),
            port.valid.eq(queue.r_rdy),
            port.payload.eq(queue.r_data),
            queue.r_en.eq(port.ready),
        ]
