"""q rows into beats for memory."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.dma import WriteToken
from hw.gnn.config import GnnConfig

__all__ = ["RowWriter"]


class RowWriter(wiring.Component):
    """Cut each row into `row_beats` beats, lowest columns first.

    Members
    -------
    row_beats : In(32)
        Beats of a row, at least 1; beats beyond the row's columns are 0.
    last_row : In(1)
        The row that is offered at `i` is the last of the request.
    i : In(stream of row_width bits)
    o : Out(stream of WriteToken)

    **Latency**: a row's first beat is offered in the cycle after the row was taken, then a beat a
    cycle; the next row is taken with the last beat at the earliest.
    """

    row_beats: Signal
    last_row: Signal
    i: stream.Interface
    o: stream.Interface

    def __init__(self, config: GnnConfig) -> None:
        self._config = config
        super().__init__(
            {
                "row_beats": In(32),
                "last_row": In(1),
                "i": In(stream.Signature(config.row_width)),
                "o": Out(stream.Signature(WriteToken(config.memory.axi_data_width))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Shift the row out."""
        m = Module()
        width = self._config.memory.axi_data_width
        row = Signal(self._config.row_width)
        beat = Signal(32)
        last_row = Signal()
        beat_ends = Signal()
        m.d.comb += [
            beat_ends.eq(beat + 1 == self.row_beats),
            self.o.payload.data.eq(row),
            self.o.payload.valid.eq(1),
            self.o.payload.last.eq(beat_ends & last_row),
            self.i.ready.eq(~self.o.valid | self.o.ready & beat_ends),
        ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += [row.eq(row >> width), beat.eq(beat + 1), self.o.valid.eq(~beat_ends)]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [row.eq(self.i.payload), beat.eq(0), last_row.eq(self.last_row)]
            m.d.sync += self.o.valid.eq(1)
        return m
