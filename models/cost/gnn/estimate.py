"""The resident partial sums of the aggregation engine, in one memory."""

from amaranth import *
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.gnn.config import Q_WIDTH, GnnConfig

__all__ = ["PsumBuffer", "PsumOperation"]


class PsumOperation(enum.Enum, shape=unsigned(2)):
    """What is done with the word at an address."""

    CLEAR = 0
    ADD = 1
    DRAIN = 2


class PsumBuffer(wiring.Component):
    """Clear, add to or drain one word of `lanes` partial sums: ``acc[v,j] += q[u,j]``.

    One memory of ``aggregation.depth`` words with one read and one write port. The write of an
    operation falls into the cycle of the next one's read; if both are of one word, a register
    beside the memory forwards it, and what the memory reads then does not matter. So any order of
    operations and addresses is right, also the same word again and again. Nothing saturates:
    lowering proves that every sum fits ``aggregation.psum_width``.

    Parameters
    ----------
    config : GnnConfig

    Members
    -------
    i : In(stream({operation, address, addend}))
        CLEAR writes zeros; ADD adds the `lanes` s4 addends; DRAIN hands the word over at `o` and
        writes zeros.
    o : Out(stream([lanes], signed psum_width))
        Drained words in order.

    **Latency**: an operation taken in cycle t reads in t and writes in t + 1, when a drained word
    is at `o`. One operation a cycle, except while a drained word waits at `o`.

    **Source**: contracts, section 1, A1.
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, config: GnnConfig) -> None:
        self.config = config
        lanes = config.aggregation.lanes
        self.word = data.ArrayLayout(signed(config.aggregation.psum_width), lanes)
        self.operation = data.StructLayout(
            {
                "operation": PsumOperation,
                "address": range(config.aggregation.depth),
                "addend": data.ArrayLayout(signed(Q_WIDTH), lanes),
            }
        )
        super().__init__(
            {"i": In(stream.Signature(self.operation)), "o": Out(stream.Signature(self.word))}
        )

    def elaborate(self, platform) -> Module:
        """Stage 0 reads; stage 1 adds, hands over and writes."""
        m = Module()
        depth = self.config.aggregation.depth
        m.submodules.memory = memory = Memory(shape=self.word, depth=depth, init=[])
        write = memory.write_port()
        read = memory.read_port()
        s1_valid = Signal()
        s1 = Signal(self.operation)
        advance = Signal()
        is_drain = Signal()
        s1_forward = Signal()
        s1_forwarded = Signal(self.word)
        word = Signal(self.word)
        m.d.comb += [
            is_drain.eq(s1_valid & (s1.operation == PsumOperation.DRAIN)),
            advance.eq(~is_drain | self.o.ready),
            self.i.ready.eq(advance),
            read.addr.eq(self.i.payload.address),
            read.en.eq(self.i.valid & advance),
            self.o.valid.eq(is_drain),
            word.eq(Mux(s1_forward, s1_forwarded.as_value(), Value.cast(read.data))),
            self.o.payload.eq(word),
            write.addr.eq(s1.address),
            write.en.eq(s1_valid & advance),
        ]
        with m.If(s1.operation == PsumOperation.ADD):
            m.d.comb += [
                write.data[lane].eq(word[lane] + s1.addend[lane])
                for lane in range(self.config.aggregation.lanes)
            ]
        with m.If(advance):
            m.d.sync += [
                s1_valid.eq(self.i.valid),
                s1.eq(self.i.payload),
                s1_forward.eq(write.en & (write.addr == self.i.payload.address)),
                s1_forwarded.eq(write.data),
            ]
        return m
