"""Valid bits and load strobes of a pipeline whose stages close up on bubbles."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["ElasticControl"]


class ElasticControl(wiring.Component):
    """Control of `stages` registers in a row; the data path stands beside it.

    Parameters
    ----------
    stages : int

    Members
    -------
    i_valid, i_ready : In(1), Out(1)
        Handshake in front of stage 1.
    o_valid, o_ready : Out(1), In(1)
        Handshake behind the last stage, whose registers are the payload.
    load : Out(stages)
        Bit k: stage k + 1 takes what is in front of it at the end of this cycle.

    **Latency**: `stages` cycles, one item a cycle. A stage takes an item if it is empty or its own
    item moves on, so the pipeline is a queue of `stages` places: item n enters no earlier than the
    cycle in which item n - `stages` leaves.
    """

    i_valid: Signal
    i_ready: Signal
    o_valid: Signal
    o_ready: Signal
    load: Signal

    def __init__(self, stages: int) -> None:
        self._stages = stages
        super().__init__(
            {
                "i_valid": In(1),
                "i_ready": Out(1),
                "o_valid": Out(1),
                "o_ready": In(1),
                "load": Out(stages),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Walk from the last stage to the first: room behind is needed to move."""
        m = Module()
        valids = [Signal(name=f"s{k + 1}_valid") for k in range(self._stages)]
        rooms = [Signal(name=f"s{k + 1}_room") for k in range(self._stages)]
        before = [self.i_valid, *valids]
        behind = [*rooms[1:], self.o_ready]
        for k, (valid, room) in enumerate(zip(valids, rooms, strict=True)):
            m.d.comb += room.eq(~valid | behind[k])
            m.d.comb += self.load[k].eq(before[k] & room)
            with m.If(room):
                m.d.sync += valid.eq(before[k])
        m.d.comb += self.i_ready.eq(rooms[0])
        m.d.comb += self.o_valid.eq(valids[-1])
        return m
