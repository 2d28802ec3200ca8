"""A feature segment into non-zero values, one a cycle."""

from typing import Any

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.gnn.combine_layouts import index_width_max, take_max, token_layout
from hw.gnn.config import CODE_WIDTH_MAX, GnnConfig
from hw.gnn.format import BITMAP_CHUNK, COMBINE_NODE, Format
from hw.gnn.words import layout

__all__ = ["FeatureDecoder"]

CHUNK_INDEX_WIDTH = (BITMAP_CHUNK - 1).bit_length()


class FeatureDecoder(wiring.Component):
    """Take rows of a feature segment (`hw.gnn.format`) and name each value's index and code.

    Members
    -------
    i_nodes : In(stream of COMBINE_NODE)
        A row's node word; it is taken with the row's last step.
    take : Out(range(take_max + 1))
        Bits of the next take.
    i_bits : In(stream of take_max bits)
        A `BitUnpacker` whose `width` is `take`.
    format, signed, index_width, last_chunk : In
        From the command; `last_chunk` is the number of the last bitmap chunk of a row.
    o : Out(stream of token_layout)

    **Latency**: one step a cycle; a token appears the cycle after its step, and a step waits until
    the token before it has been or is being taken. Steps of a row: 1 if it stores no values (B = 0,
    or an empty index list); else INDEX: one a value; BITMAP: one a chunk (its bitmap) and one a
    value. A bitmap gives no token, but for an empty last one, which ends the row.
    """

    i_nodes: stream.Interface
    take: Signal
    i_bits: stream.Interface
    format: Signal
    signed: Signal
    index_width: Signal
    last_chunk: Signal
    o: stream.Interface

    def __init__(self, config: GnnConfig) -> None:
        self._index_width_max = index_width_max(config)
        most = take_max(config)
        super().__init__(
            {
                "i_nodes": In(stream.Signature(layout(COMBINE_NODE))),
                "take": Out(range(most + 1)),
                "i_bits": In(stream.Signature(most)),
                "format": In(1),
                "signed": In(1),
                "index_width": In(range(self._index_width_max + 1)),
                "last_chunk": In(self.chunk_width(config)),
                "o": Out(stream.Signature(token_layout(config))),
            }
        )

    @staticmethod
    def chunk_width(config: GnnConfig) -> int:
        """Return the bits of a chunk's number."""
        return max(1, index_width_max(config) - CHUNK_INDEX_WIDTH)

    def elaborate(self, platform: object) -> Module:
        """Decide the step from node word and state; register what it decodes."""
        m = Module()
        step = Signal()
        empty = Signal()
        mapping = Signal()
        token: Any = Signal(self.o.payload.shape())
        gives = Signal()
        room = ~self.o.valid | self.o.ready
        node = self.i_nodes.payload
        by_bitmap = self.format == Format.BITMAP
        m.d.comb += [
            empty.eq((node.width == 0) | (~by_bitmap & (node.count == 0))),
            step.eq(self.i_nodes.valid & (empty | self.i_bits.valid) & room),
            self.i_bits.ready.eq(self.i_nodes.valid & ~empty & room),
            self.i_nodes.ready.eq(step & token.last),
            gives.eq(~mapping | token.last),
            token.row.width.eq(node.width),
            token.row.m.eq(node.m),
            token.row.e.eq(node.e),
        ]
        with m.If(empty):
            m.d.comb += token.last.eq(1)
        with m.Elif(by_bitmap):
            self._bitmap(m, step, mapping, token)
        with m.Else():
            self._index(m, step, token)
        with m.If(room):
            m.d.sync += self.o.valid.eq(step & gives)
        with m.If(step & gives):
            m.d.sync += self.o.payload.eq(token)
        return m

    def _index(self, m: Module, step: Signal, token: Any) -> None:
        """Take an index and its code; `position` counts the row's entries."""
        position = Signal(16)
        node, bits = self.i_nodes.payload, self.i_bits.payload
        m.d.comb += [
            self.take.eq(self.index_width + node.width + self.signed),
            token.index.eq(bits & (1 << self.index_width) - 1),
            token.last.eq(position + 1 == node.count),
        ]
        self._code(m, token, bits >> self.index_width)
        with m.If(step):
            m.d.sync += position.eq(Mux(token.last, 0, position + 1))

    def _bitmap(self, m: Module, step: Signal, mapping: Signal, token: Any) -> None:
        """Take a chunk's bitmap, then the code of its lowest set bit until none is left."""
        bitmap = Signal(BITMAP_CHUNK)
        rest = Signal(BITMAP_CHUNK)
        chunk = Signal(self.last_chunk.shape())
        low = Signal(CHUNK_INDEX_WIDTH)
        node, bits = self.i_nodes.payload, self.i_bits.payload
        m.d.comb += [
            mapping.eq(bitmap == 0),
            token.last.eq((chunk == self.last_chunk) & ~rest.any()),
        ]
        for bit in reversed(range(BITMAP_CHUNK)):
            with m.If(bitmap[bit]):
                m.d.comb += low.eq(bit)
        with m.If(mapping):
            m.d.comb += [self.take.eq(BITMAP_CHUNK), rest.eq(bits)]
        with m.Else():
            m.d.comb += [self.take.eq(node.width + self.signed), rest.eq(bitmap & (bitmap - 1))]
            m.d.comb += token.index.eq(Cat(low, chunk))
            self._code(m, token, bits)
        with m.If(step):
            m.d.sync += bitmap.eq(rest)
            with m.If(~rest.any()):
                m.d.sync += chunk.eq(Mux(token.last, 0, chunk + 1))

    def _code(self, m: Module, token: Any, code: Value) -> None:
        width = self.i_nodes.payload.width
        m.d.comb += [
            token.value.eq(1),
            token.magnitude.eq(code & ((1 << width) - 1)[:CODE_WIDTH_MAX]),
            token.sign.eq(self.signed & code.bit_select(width, 1)),
        ]
