"""Scatter of q rows to their destinations: one word of partial sums a cycle."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.gnn.config import Q_WIDTH, GnnConfig

__all__ = ["EdgeToken", "ScatterAdd"]


class EdgeToken(data.StructLayout):
    """One destination of the q row at hand, or the whole record of a row that has none.

    `address` is the destination's first psum word; `empty` says that there is none; `last` ends
    the row's record; `final` ends the last record of the command.
    """

    def __init__(self, config: GnnConfig) -> None:
        super().__init__(
            {"address": range(config.aggregation.depth), "empty": 1, "last": 1, "final": 1}
        )


class ScatterAdd(wiring.Component):
    """Walk the `tiles` words of each destination of each q row.

    Parameters
    ----------
    config : GnnConfig

    Members
    -------
    i_row : In(stream(row_width))
        q rows, operand j in bits 4j+3..4j.
    i_edge : In(stream(EdgeToken))
        The records of these rows, in the same order.
    o : Out(stream({address, addend}))
        Word ``address + tile`` and what is to be added to it.
    tiles : In
        Psum words a row, at least 1; constant while `enable`.
    enable : In(1)
        Nothing is taken or offered without it.
    row_done, final : Out(1)
        Strobes: a row was consumed; it was the last of the command.
    starved : Out(1)
        Enabled, but a row or an edge is missing.

    **Latency**: 0; all outputs follow the inputs within the cycle. A row with n destinations
    takes ``max(n x tiles, 1)`` cycles; there is no bubble between tiles, destinations and rows
    while both inputs wait and `o` is ready.
    """

    i_row: stream.Interface
    i_edge: stream.Interface
    o: stream.Interface
    tiles: Signal
    enable: Signal
    row_done: Signal
    final: Signal
    starved: Signal

    def __init__(self, config: GnnConfig) -> None:
        self.config = config
        lanes = config.aggregation.lanes
        self.tiles_max = config.combination.columns_max // lanes
        update = data.StructLayout(
            {
                "address": range(config.aggregation.depth),
                "addend": data.ArrayLayout(signed(Q_WIDTH), lanes),
            }
        )
        super().__init__(
            {
                "i_row": In(stream.Signature(config.row_width)),
                "i_edge": In(stream.Signature(EdgeToken(config))),
                "o": Out(stream.Signature(update)),
                "tiles": In(range(self.tiles_max + 1)),
                "enable": In(1),
                "row_done": Out(1),
                "final": Out(1),
                "starved": Out(1),
            }
        )

    def elaborate(self, platform) -> Module:
        """Count tiles; the edge goes with its last tile, the row with its last edge."""
        m = Module()
        edge = self.i_edge.payload
        tile = Signal(range(self.tiles_max))
        present = Signal()
        finish = Signal()
        m.d.comb += [
            present.eq(self.enable & self.i_row.valid & self.i_edge.valid),
            self.starved.eq(self.enable & ~present),
            self.o.valid.eq(present & ~edge.empty),
            self.o.payload.address.eq(edge.address + tile),
            Value.cast(self.o.payload.addend).eq(
                self.i_row.payload.word_select(tile, Q_WIDTH * self.config.aggregation.lanes)
            ),
            finish.eq(present & (edge.empty | (self.o.ready & (tile + 1 == self.tiles)))),
            self.i_edge.ready.eq(finish),
            self.row_done.eq(finish & edge.last),
            self.i_row.ready.eq(self.row_done),
            self.final.eq(finish & edge.final),
        ]
        with m.If(finish):
            m.d.sync += tile.eq(0)
        with m.Elif(self.o.valid & self.o.ready):
            m.d.sync += tile.eq(tile + 1)
        return m
