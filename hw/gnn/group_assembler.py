"""Values of a row into groups that the weight banks can serve at once."""

from typing import Any

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hw.gnn.combine_layouts import group_layout, token_layout
from hw.gnn.config import GnnConfig

__all__ = ["GroupAssembler"]


class GroupAssembler(wiring.Component):
    """Put value k into lane k mod lanes, at address k div lanes of that lane's weight bank.

    A group closes at the end of its row, or when the next value's lane is taken. A row without
    values gives one empty group, which carries the row's end.

    Members
    -------
    i : In(stream of token_layout)
    o : Out(stream of group_layout)
    conflict : Out(1)
        Strobe: a group is closed with a lane free, since the lane of its row's next value is taken.

    **Latency**: one token a cycle. The last group of a row is offered in the cycle after its last
    token was taken; any other group in the cycle in which its successor's first value is offered,
    and that value is taken when the group is.
    """

    i: stream.Interface
    o: stream.Interface
    conflict: Signal

    def __init__(self, config: GnnConfig) -> None:
        self._config = config
        super().__init__(
            {
                "i": In(stream.Signature(token_layout(config))),
                "o": Out(stream.Signature(group_layout(config))),
                "conflict": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Keep one group under construction; `building.last` says that it is complete."""
        m = Module()
        building = Signal(group_layout(self._config))
        token = self.i.payload
        lane_width = exact_log2(self._config.combination.lanes)
        lane = token.index[:lane_width]
        valid = Cat(value.valid for value in building.values)
        collides = Signal()
        closes = Signal()
        takes = Signal()
        m.d.comb += [
            collides.eq(self.i.valid & token.value & valid.bit_select(lane, 1)),
            closes.eq(building.last | collides),
            self.o.valid.eq(closes),
            self.o.payload.eq(building),
            self.i.ready.eq(~closes | self.o.ready),
            takes.eq(self.i.valid & self.i.ready),
            self.conflict.eq(takes & collides & ~building.last & ~valid.all()),
        ]
        with m.If(closes & self.o.ready):
            m.d.sync += building.last.eq(0)
            for value in building.values:
                m.d.sync += value.valid.eq(0)
        with m.If(takes):
            m.d.sync += [building.last.eq(token.last), building.row.eq(token.row)]
            with m.If(token.value):
                self._place(m, building.values, lane)
        return m

    def _place(self, m: Module, values: Any, lane: Value) -> None:
        token = self.i.payload
        for n, value in enumerate(values):
            with m.If(lane == n):
                m.d.sync += [
                    value.valid.eq(1),
                    value.address.eq(token.index[len(lane) :]),
                    value.magnitude.eq(token.magnitude),
                    value.sign.eq(token.sign),
                ]
