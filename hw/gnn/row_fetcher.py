"""q rows for the scatter-add unit: from memory by a list of runs, or straight from combination."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from hw.beat_slicer import BeatSlicer
from hw.dma import ReadRequest
from hw.gnn.config import GnnConfig
from hw.gnn.format import SOURCE
from hw.gnn.words import layout

__all__ = ["RowFetcher"]


class RowFetcher(wiring.Component):
    """Offer the q rows of a command in order, up to `row_fifo_depth` ahead.

    Parameters
    ----------
    config : GnnConfig

    Members
    -------
    i_rows : In(stream(row_width))
        Rows of the combination engine, taken while `streaming`.
    i_sources : In(stream(axi_data_width))
        Beats of the source list, 64-bit words SOURCE.
    o_request : Out(stream(ReadRequest))
        One read request a word.
    i_beats : In(stream(axi_data_width))
        What these requests yield.
    o : Out(stream(row_width))
        Rows.
    start : In(1)
        Strobe: a new list of `source_words` words; drops the padding of the list before.
    source_words, row_beats : In
        Words of the list (read with `start`) and beats a row (constant while rows are fetched).
    streaming : In(1)
        Rows come from `i_rows`; it must not change while rows are under way.
    enable : In(1)
        Requests are made.

    **Latency**: a source word offered in cycle t makes its request in t, one a cycle. Row r enters
    the FIFO, with its last beat if it comes from memory, in
    ``in[r] = max(in[r-1] + step, out[r - row_fifo_depth] + 1)`` while beats or rows wait, `step`
    being `row_beats` or, in a stream, 1; `out` is the cycle in which a row leaves. It is offered
    from ``in[r] + 1`` on.
    """

    i_rows: stream.Interface
    i_sources: stream.Interface
    o_request: stream.Interface
    i_beats: stream.Interface
    o: stream.Interface
    start: Signal
    source_words: Signal
    row_beats: Signal
    streaming: Signal
    enable: Signal

    def __init__(self, config: GnnConfig) -> None:
        self.config = config
        beat_width = config.memory.axi_data_width
        self.row_beats_max = -(-config.row_width // beat_width)
        super().__init__(
            {
                "i_rows": In(stream.Signature(config.row_width)),
                "i_sources": In(stream.Signature(beat_width)),
                "o_request": Out(stream.Signature(ReadRequest(config.memory.axi_addr_width))),
                "i_beats": In(stream.Signature(beat_width)),
                "o": Out(stream.Signature(config.row_width)),
                "start": In(1),
                "source_words": In(32),
                "row_beats": In(range(self.row_beats_max + 1)),
                "streaming": In(1),
                "enable": In(1),
            }
        )

    def elaborate(self, platform) -> Module:
        """One FIFO behind both origins."""
        m = Module()
        m.submodules.fifo = fifo = SyncFIFO(
            width=self.config.row_width, depth=self.config.aggregation.row_fifo_depth
        )
        m.d.comb += [
            self.o.valid.eq(fifo.r_rdy),
            self.o.payload.eq(fifo.r_data),
            fifo.r_en.eq(self.o.ready),
        ]
        self._request(m)
        row, complete = self._gather(m, fifo.w_rdy)
        with m.If(self.streaming):
            m.d.comb += [
                fifo.w_data.eq(self.i_rows.payload),
                fifo.w_en.eq(self.i_rows.valid),
                self.i_rows.ready.eq(fifo.w_rdy),
            ]
        with m.Else():
            m.d.comb += [fifo.w_data.eq(row), fifo.w_en.eq(complete)]
        return m

    def _request(self, m: Module) -> None:
        """Turn source words into requests while any are left."""
        m.submodules.slicer = slicer = BeatSlicer(self.config.memory.axi_data_width, SOURCE.width)
        wiring.connect(m, wiring.flipped(self.i_sources), slicer.i)
        source = data.View(layout(SOURCE), slicer.o.payload)
        left = Signal(32)
        active = Signal()
        m.d.comb += [
            slicer.clear.eq(self.start),
            active.eq(self.enable & (left != 0)),
            self.o_request.valid.eq(slicer.o.valid & active),
            slicer.o.ready.eq(self.o_request.ready & active),
            self.o_request.payload.address.eq(source.address),
            self.o_request.payload.beats.eq(source.beats),
        ]
        with m.If(self.start):
            m.d.sync += left.eq(self.source_words)
        with m.Elif(self.o_request.valid & self.o_request.ready):
            m.d.sync += left.eq(left - 1)

    def _gather(self, m: Module, room: Signal) -> tuple[Value, Signal]:
        """Return a row made of the beats held and the one at hand, and whether it is complete."""
        beat_width = self.config.memory.axi_data_width
        held = Signal(data.ArrayLayout(beat_width, self.row_beats_max))
        row = Signal(data.ArrayLayout(beat_width, self.row_beats_max))
        index = Signal(range(self.row_beats_max))
        closing = Signal()
        complete = Signal()
        m.d.comb += [
            row.eq(held),
            row[index].eq(self.i_beats.payload),
            closing.eq(index + 1 == self.row_beats),
            complete.eq(self.i_beats.valid & closing),
            self.i_beats.ready.eq(~closing | room),
        ]
        with m.If(self.i_beats.valid & self.i_beats.ready):
            m.d.sync += index.eq(Mux(closing, 0, index + 1))
            m.d.sync += Value.cast(held).eq(Mux(closing, 0, Value.cast(row)))
        return Value.cast(row), complete
