"""Requantized words into whole q rows."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.gnn.combine_layouts import q_word_layout
from hw.gnn.config import GnnConfig

__all__ = ["RowAssembler"]


class RowAssembler(wiring.Component):
    """Put the `tiles` words of a row side by side; columns that no word covers are 0.

    Members
    -------
    i : In(stream of q_word_layout)
    o : Out(stream of row_width bits)
        Column j in bits 4j+3..4j.

    **Latency**: a word a cycle; a row is offered in the cycle after its last word was taken. The
    next row's first word is taken no earlier than the cycle in which the row is.
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, config: GnnConfig) -> None:
        self._config = config
        super().__init__(
            {
                "i": In(stream.Signature(q_word_layout(config))),
                "o": Out(stream.Signature(config.row_width)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Clear the row with its first word."""
        m = Module()
        c = self._config.combination
        row = Signal(data.ArrayLayout(c.word_width, c.tiles_max))
        first = Signal(init=1)
        word = self.i.payload
        m.d.comb += [
            self.o.payload.eq(row),
            self.i.ready.eq(~self.o.valid | self.o.ready),
        ]
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [self.o.valid.eq(word.last), first.eq(word.last)]
            for tile in range(c.tiles_max):
                with m.If(word.tile == tile):
                    m.d.sync += row[tile].eq(word.q)
                with m.Elif(first):
                    m.d.sync += row[tile].eq(0)
        return m
