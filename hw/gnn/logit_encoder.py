"""From words of logits to one 64-bit word a logit."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.gnn.config import GnnConfig
from hw.gnn.post_processor import LogitWord

__all__ = ["LOGIT_WORD_WIDTH", "LogitEncoder"]

LOGIT_WORD_WIDTH = 64
"""Bits of a logit in memory (`hw.gnn.format`, Logits)."""


class LogitEncoder(wiring.Component):
    """Give the logits of the first `columns` columns of each row, sign-extended to 64 bits.

    Parameters
    ----------
    config : GnnConfig

    Members
    -------
    i : In(stream(LogitWord))
        Rows one after another, ``ceil(columns / lanes)`` words each.
    o : Out(stream({bits, width, last}))
        Gives for a `BitPacker`, one a logit; `last` with the very last.
    columns : In
        Constant while words are inside.

    **Latency**: 0; a word is held at `i` while its logits leave, one a cycle, so a row takes
    `columns` cycles while words wait and `o` does not stall.
    """

    i: stream.Interface
    o: stream.Interface
    columns: Signal

    def __init__(self, config: GnnConfig) -> None:
        self.config = config
        give = data.StructLayout(
            {"bits": LOGIT_WORD_WIDTH, "width": range(LOGIT_WORD_WIDTH + 1), "last": 1}
        )
        super().__init__(
            {
                "i": In(stream.Signature(LogitWord(config))),
                "o": Out(stream.Signature(give)),
                "columns": In(range(config.combination.columns_max + 1)),
            }
        )

    def elaborate(self, platform) -> Module:
        """Count columns; its low bits name the lane."""
        m = Module()
        lanes = self.config.aggregation.lanes
        column = Signal(range(self.config.combination.columns_max))
        lane = Signal(range(lanes))
        row_end = Signal()
        m.d.comb += [
            lane.eq(column),
            row_end.eq(column + 1 == self.columns),
            self.o.valid.eq(self.i.valid),
            self.o.payload.bits.eq(self.i.payload.z[lane]),
            self.o.payload.width.eq(LOGIT_WORD_WIDTH),
            self.o.payload.last.eq(self.i.payload.last & row_end),
            self.i.ready.eq(self.o.ready & (row_end | (lane == lanes - 1))),
        ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += column.eq(Mux(row_end, 0, column + 1))
        return m
