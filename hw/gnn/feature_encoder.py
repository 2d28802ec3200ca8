"""From the codes of the next layer to a bitmap and its non-zero codes."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hw.gnn.config import CODE_WIDTH_MAX, GnnConfig
from hw.gnn.format import BITMAP_CHUNK
from hw.gnn.post_processor import CodeWord

__all__ = ["FeatureEncoder"]

CODE = data.StructLayout({"magnitude": CODE_WIDTH_MAX, "negative": 1})


class FeatureEncoder(wiring.Component):
    """Write each chunk of 16 codes of a row as a bitmap and its codes that are not 0.

    Two buffers: one collects the words of a chunk while the other is written. The last word of a
    chunk goes straight into the buffer that is written, so it waits until the chunk before is out.
    Columns from `columns` on count as zero. A row of width 0 gives nothing.

    Parameters
    ----------
    config : GnnConfig

    Members
    -------
    i : In(stream(CodeWord))
        Rows one after another, ``ceil(columns / lanes)`` words each.
    o : Out(stream({bits, width, last}))
        Gives for a `BitPacker`: 16 bits of bitmap, or B' bits of magnitude with the sign above them
        in a signed layer; at the very end an empty one with `last`.
    columns, signed : In
        Constant while words are inside.
    value : Out(1)
        Strobe: a code was given.

    **Latency**: let ``a[c]`` be the cycle in which the last word of chunk c is taken, ``w[c]`` the
    words of chunk c and ``g[c]`` its gives: 0 in a row of width 0, else 1 + its non-zero codes.
    While words wait and `o` does not stall, ``a[c] = a[c-1] + max(g[c-1], w[c])`` and the gives of
    chunk c leave in ``a[c] + 1 .. a[c] + g[c]``; the final one in ``a[c] + g[c] + 1``.

    **Source**: `hw.gnn.format`, feature segment, BITMAP.
    """

    i: stream.Interface
    o: stream.Interface
    columns: Signal
    signed: Signal
    value: Signal

    def __init__(self, config: GnnConfig) -> None:
        self.config = config
        give = data.StructLayout(
            {"bits": BITMAP_CHUNK, "width": range(BITMAP_CHUNK + 1), "last": 1}
        )
        super().__init__(
            {
                "i": In(stream.Signature(CodeWord(config))),
                "o": Out(stream.Signature(give)),
                "columns": In(range(config.combination.columns_max + 1)),
                "signed": In(1),
                "value": Out(1),
            }
        )

    def elaborate(self, platform) -> Module:
        """Hand a chunk from the collecting to the writing side when that has room."""
        m = Module()
        room = Signal()
        load = Signal()
        chunk = Signal(data.ArrayLayout(CODE, BITMAP_CHUNK))
        self._collect(m, room, load, chunk)
        self._write(m, room, load, chunk)
        return m

    def _collect(self, m: Module, room: Signal, load: Signal, chunk: data.View) -> None:
        """Put words side by side; `chunk` is what is held with the word at hand beside it."""
        lanes = self.config.aggregation.lanes
        held = Signal(data.ArrayLayout(CODE, BITMAP_CHUNK))
        column = Signal(range(self.config.combination.columns_max))
        row_end = Signal()
        closing = Signal()
        word = Signal(data.ArrayLayout(CODE, lanes))
        slots = BITMAP_CHUNK // lanes
        parts = data.ArrayLayout(CODE.size * lanes, slots)
        slot = Signal(range(slots))
        m.d.comb += [
            row_end.eq(column + lanes >= self.columns),
            slot.eq(column >> exact_log2(lanes)),
            closing.eq(row_end | (slot == slots - 1)),
            self.i.ready.eq(~closing | room),
            load.eq(self.i.valid & closing & room),
        ]
        for lane, code in enumerate(self.i.payload.codes):
            with m.If(column + lane < self.columns):
                m.d.comb += word[lane].eq(code)
        m.d.comb += [chunk.eq(held), data.View(parts, Value.cast(chunk))[slot].eq(word)]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += column.eq(Mux(row_end, 0, column + lanes))
            m.d.sync += Value.cast(held).eq(Mux(closing, 0, Value.cast(chunk)))

    def _write(self, m: Module, room: Signal, load: Signal, chunk: data.View) -> None:
        """Give the bitmap, then the codes from the lowest set bit up, then the end."""
        codes = Signal(data.ArrayLayout(CODE, BITMAP_CHUNK))
        left = Signal(BITMAP_CHUNK)  # codes still to be given
        rest = Signal(BITMAP_CHUNK)
        width = Signal(4)
        busy = Signal()
        bitmap = Signal()
        ending = Signal()
        code = Signal(CODE)
        given = Signal()
        m.d.comb += [
            given.eq(self.o.valid & self.o.ready),
            rest.eq(Mux(bitmap, left, left & (left - 1))),
            room.eq((~busy | (given & (rest == 0))) & ~ending),
            self.o.valid.eq(busy | ending),
            self.o.payload.last.eq(~busy),
            self.value.eq(given & busy & ~bitmap),
        ]
        for k in reversed(range(BITMAP_CHUNK)):
            with m.If(left[k]):
                m.d.comb += code.eq(codes[k])
        with m.If(busy & bitmap):
            m.d.comb += [self.o.payload.bits.eq(left), self.o.payload.width.eq(BITMAP_CHUNK)]
        with m.Elif(busy):
            m.d.comb += [
                self.o.payload.bits.eq(code.magnitude | (code.negative << width)),
                self.o.payload.width.eq(width + self.signed),
            ]
        with m.If(given):
            m.d.sync += [bitmap.eq(0), left.eq(rest), busy.eq(busy & (rest != 0))]
            m.d.sync += ending.eq(ending & busy)
        with m.If(load):
            m.d.sync += [
                codes.eq(chunk),
                left.eq(Cat(chunk[k].magnitude != 0 for k in range(BITMAP_CHUNK))),
                width.eq(self.i.payload.width),
                busy.eq(self.i.payload.width != 0),
                bitmap.eq(1),
                ending.eq(self.i.payload.last),
            ]
