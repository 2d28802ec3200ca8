"""The edge stream: counts and destinations to addresses, ahead of the scatter-add unit."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.bit_unpacker import BitUnpacker
from hw.gnn.config import GnnConfig
from hw.gnn.scatter_add import EdgeToken

__all__ = ["EdgeDecoder"]

FIELD_WIDTH = 16
"""Bits of a count and of a destination (`hw.gnn.format`, Edges)."""


class EdgeDecoder(wiring.Component):
    """Make one token of each destination: ``address = destination x tiles``.

    A record's count is taken together with the last destination of the record before it (32 bits
    in one take), or alone where the record before it is empty; so it costs no cycle. The product is
    a 16-bit by `tiles` multiplier between two registers.

    Parameters
    ----------
    config : GnnConfig

    Members
    -------
    i : In(stream(axi_data_width))
        Beats of the edge region.
    o : Out(stream(EdgeToken))
    start : In(1)
        Strobe: take a new region; drops the padding of the region before.
    records, tiles : In
        Records in the region and psum words a row; constant from `start` on.

    **Latency**: let the first beat be taken in cycle t. The first count is taken in t + 1, the
    first token is made in t + 2 and offered in t + 4. From then on one token a cycle while beats
    arrive and `o` is ready: n tokens of a record with n >= 1 destinations, one of an empty record.
    Two tokens wait in the registers behind the take.
    """

    i: stream.Interface
    o: stream.Interface
    start: Signal
    records: Signal
    tiles: Signal

    def __init__(self, config: GnnConfig) -> None:
        self.config = config
        tiles_max = config.combination.columns_max // config.aggregation.lanes
        super().__init__(
            {
                "i": In(stream.Signature(config.memory.axi_data_width)),
                "o": Out(stream.Signature(EdgeToken(config))),
                "start": In(1),
                "records": In(32),
                "tiles": In(range(tiles_max + 1)),
            }
        )

    def elaborate(self, platform) -> Module:
        """Take, then hold the destination, then hold the product."""
        m = Module()
        m.submodules.unpacker = unpacker = BitUnpacker(
            self.config.memory.axi_data_width, 2 * FIELD_WIDTH
        )
        wiring.connect(m, wiring.flipped(self.i), unpacker.i)
        m.d.comb += unpacker.clear.eq(self.start)
        s1_valid = Signal()
        s1_destination = Signal(FIELD_WIDTH)
        s1_flags = Signal(3)
        s1_room = Signal()
        s2_room = Signal()
        token = Signal()
        flags = Signal(3)
        self._take(m, unpacker, s1_room, token, flags)
        m.d.comb += [
            s2_room.eq(~self.o.valid | self.o.ready),
            s1_room.eq(~s1_valid | s2_room),
        ]
        with m.If(s1_room):
            m.d.sync += [
                s1_valid.eq(token),
                s1_destination.eq(unpacker.o.payload),
                s1_flags.eq(flags),
            ]
        with m.If(s2_room):
            m.d.sync += [
                self.o.valid.eq(s1_valid),
                self.o.payload.address.eq(s1_destination * self.tiles),
                Cat(self.o.payload.empty, self.o.payload.last, self.o.payload.final).eq(s1_flags),
            ]
        return m

    def _take(
        self, m: Module, unpacker: BitUnpacker, room: Signal, token: Signal, flags: Signal
    ) -> None:
        """Choose the fields of the next take from the state alone, and follow the records."""
        waiting = Signal(32)  # records whose count is still to be taken
        inside = Signal()  # a record is open, with `left` destinations to be taken
        left = Signal(FIELD_WIDTH)
        destination = Signal()
        closing = Signal()
        count = Signal()
        step = Signal()
        m.d.comb += [
            destination.eq(inside & (left != 0)),
            closing.eq(~inside | (left <= 1)),
            count.eq(closing & (waiting != 0)),
            unpacker.width.eq(Mux(destination & count, 2, destination | count) * FIELD_WIDTH),
            unpacker.o.ready.eq((inside & room) | (~inside & count)),
            step.eq(unpacker.o.valid & unpacker.o.ready),
            token.eq(step & inside),
            flags.eq(Cat(~destination, closing, closing & ~count)),
        ]
        with m.If(step):
            m.d.sync += left.eq(left - 1)
            with m.If(closing):
                m.d.sync += [
                    inside.eq(count),
                    left.eq(Mux(destination, unpacker.o.payload[FIELD_WIDTH:], unpacker.o.payload)),
                ]
            m.d.sync += waiting.eq(waiting - count)
        with m.If(self.start):
            m.d.sync += waiting.eq(self.records)
