"""Fetches the header and the two command queues of a Program, and counts what is complete."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.dma import ReadRequest
from hw.gnn.config import GnnConfig
from hw.gnn.format import AGGREGATE, COMBINE, HEADER, MAGIC, SLOT_BYTES, VERSION, ErrorCode, Opcode
from hw.gnn.words import layout

__all__ = ["Sequencer"]


class Sequencer(wiring.Component):
    """Check the header, hand each engine its commands in order, tell when both queues are through.

    One command of each queue is held; the next of a queue is fetched when its engine has taken
    that one. So a command that waits never keeps the other queue from being fetched. If both
    queues want a slot, they take turns, combination first.

    Parameters
    ----------
    config : GnnConfig

    Members
    -------
    start : In(1)
        Strobe: execute the Program whose header is at address 0 (the top adds where it lies).
        Ignored during a run, until two cycles after `done`, and while `error` is not 0.
    o_request, i_beats : streams
        Whole slots of 128 bytes are read.
    o_combine, o_aggregate : Out(stream(COMBINE)), Out(stream(AGGREGATE))
        Commands for the engines.
    combine_done, aggregate_done : In(1)
        Strobes: the engine has completed a command.
    combines_done, aggregates_done : Out(32)
        Commands completed since start.
    read_error, write_error : In(1)
        The DMA has seen an error response.
    done : Out(1)
        Strobe: all commands of both queues are complete.
    error : Out(8)
        An `ErrorCode`. Unless 0 nothing more is fetched and `done` never comes; stays until reset.

    **Latency**: `start` in cycle t; the request for the header in t + 1. The last beat of the
    header taken in t; the first slot is asked for in t + 3. The last beat of a slot taken in t;
    its command is offered in t + 2, the next slot asked for in t + 3. A command taken in t while
    the fetcher rests: the next slot of its queue is asked for in t + 2. A completion in t shows in
    the counts in t + 1; `done` comes in the same cycle.
    """

    start: Signal
    o_request: stream.Interface
    i_beats: stream.Interface
    o_combine: stream.Interface
    o_aggregate: stream.Interface
    combine_done: Signal
    aggregate_done: Signal
    combines_done: Signal
    aggregates_done: Signal
    read_error: Signal
    write_error: Signal
    done: Signal
    error: Signal

    def __init__(self, config: GnnConfig) -> None:
        self.config = config
        memory = config.memory
        super().__init__(
            {
                "start": In(1),
                "o_request": Out(stream.Signature(ReadRequest(memory.axi_addr_width))),
                "i_beats": In(stream.Signature(memory.axi_data_width)),
                "o_combine": Out(stream.Signature(layout(COMBINE))),
                "o_aggregate": Out(stream.Signature(layout(AGGREGATE))),
                "combine_done": In(1),
                "aggregate_done": In(1),
                "combines_done": Out(32),
                "aggregates_done": Out(32),
                "read_error": In(1),
                "write_error": In(1),
                "done": Out(1),
                "error": Out(8),
            }
        )

    def elaborate(self, platform) -> Module:
        """Fetch with one state machine; keep counts and the first error beside it."""
        m = Module()
        begin = Signal()
        running = Signal()
        fetched = Signal()  # the header's numbers are valid
        failure = Signal(8)
        total = [Signal(32, name=f"total{queue}") for queue in range(2)]
        self._fetch(m, begin, running, fetched, failure, total)
        counts = (self.combines_done, self.aggregates_done)
        for count, strobe in zip(counts, (self.combine_done, self.aggregate_done), strict=True):
            with m.If(begin):
                m.d.sync += count.eq(0)
            with m.Elif(strobe):
                m.d.sync += count.eq(count + 1)
        complete = (counts[0] == total[0]) & (counts[1] == total[1])
        with m.If(fetched & complete & (self.error == 0)):
            m.d.comb += self.done.eq(1)
            m.d.sync += [running.eq(0), fetched.eq(0)]
        with m.If(running & (self.error == 0)):
            with m.If(self.read_error):
                m.d.sync += self.error.eq(ErrorCode.READ_ERROR)
            with m.Elif(self.write_error):
                m.d.sync += self.error.eq(ErrorCode.WRITE_ERROR)
            with m.Else():
                m.d.sync += self.error.eq(failure)
        return m

    def _fetch(
        self,
        m: Module,
        begin: Signal,
        running: Signal,
        fetched: Signal,
        failure: Signal,
        total: list[Signal],
    ) -> None:
        """Ask for a slot, take its beats, check it, choose the next."""
        outs = (self.o_combine, self.o_aggregate)
        width = self.config.memory.axi_addr_width
        address = Array(Signal(width, name=f"address{q}") for q in range(2))
        left = [Signal(32, name=f"left{queue}") for queue in range(2)]
        wants = [Signal(name=f"wants{queue}") for queue in range(2)]
        queue = Signal()
        is_header = Signal()
        request = self.o_request.payload
        m.d.comb += request.beats.eq(SLOT_BYTES // self.config.memory.beat_bytes)
        for index, out in enumerate(outs):
            m.d.comb += wants[index].eq((left[index] != 0) & ~out.valid)
            with m.If(out.ready):
                m.d.sync += out.valid.eq(0)
        with m.FSM():
            with m.State("REST"):
                with m.If(self.start & (self.error == 0)):
                    # The header comes by way of the larger slot; a first choice is combination's.
                    m.d.sync += [running.eq(1), is_header.eq(1), queue.eq(1)]
                    m.d.sync += address[1].eq(0)
                    m.d.comb += begin.eq(1)
                    m.next = "ASK"
            with m.State("ASK"):
                m.d.comb += [self.o_request.valid.eq(1), request.address.eq(address[queue])]
                with m.If(self.o_request.ready):
                    m.next = "TAKE"
            with m.State("TAKE"):
                with m.If(self._take(m, queue)):
                    m.next = "CHECK"
            with m.State("CHECK"):
                with m.If(is_header):
                    self._header(m, address, left, total, fetched, failure)
                with m.Else():
                    self._command(m, queue, address, left, failure)
                m.d.sync += is_header.eq(0)
                m.next = "CHOOSE"
            with m.State("CHOOSE"):
                with m.If(~running):
                    m.next = "REST"
                with m.Elif((wants[0] | wants[1]) & (self.error == 0)):
                    m.d.sync += queue.eq(Mux(queue, ~wants[0], wants[1]))
                    m.next = "ASK"

    def _take(self, m: Module, queue: Signal) -> Value:
        """Put the beats of a slot into its queue's register; return whether it was the last."""
        width = self.config.memory.axi_data_width
        beats = SLOT_BYTES * 8 // width
        index = Signal(range(max(beats, 2)))
        taken = self.i_beats.valid
        m.d.comb += self.i_beats.ready.eq(1)
        with m.If(taken):
            m.d.sync += index.eq(Mux(index == beats - 1, 0, index + 1))
        for which, out in enumerate((self.o_combine, self.o_aggregate)):
            slot = Value.cast(out.payload)
            for at in range(0, len(slot), width):
                with m.If(taken & (queue == which) & (index == at // width)):
                    m.d.sync += slot[at : at + width].eq(self.i_beats.payload)
        return taken & (index == beats - 1)

    def _header(
        self,
        m: Module,
        address: Array,
        left: list[Signal],
        total: list[Signal],
        fetched: Signal,
        failure: Signal,
    ) -> None:
        slot = Value.cast(self.o_aggregate.payload)
        header = data.View(layout(HEADER), slot[: HEADER.width])
        with m.If(header.magic != MAGIC):
            m.d.comb += failure.eq(ErrorCode.BAD_MAGIC)
        with m.Elif(header.version != VERSION):
            m.d.comb += failure.eq(ErrorCode.BAD_VERSION)
        with m.Elif(header.config_hash != self.config.hash):
            m.d.comb += failure.eq(ErrorCode.BAD_CONFIG)
        with m.Else():
            m.d.sync += fetched.eq(1)
        m.d.sync += [
            address[0].eq(header.combine_address),
            address[1].eq(header.aggregate_address),
            left[0].eq(header.combine_commands),
            left[1].eq(header.aggregate_commands),
            total[0].eq(header.combine_commands),
            total[1].eq(header.aggregate_commands),
        ]

    def _command(
        self, m: Module, queue: Signal, address: Array, left: list[Signal], failure: Signal
    ) -> None:
        opcodes = (Opcode.COMBINE, Opcode.AGGREGATE)
        m.d.sync += address[queue].eq(address[queue] + SLOT_BYTES)
        for index, out in enumerate((self.o_combine, self.o_aggregate)):
            with m.If(queue == index):
                with m.If(out.payload.opcode == opcodes[index]):
                    m.d.sync += [out.valid.eq(1), left[index].eq(left[index] - 1)]
                with m.Else():
                    m.d.comb += failure.eq(ErrorCode.BAD_OPCODE)
