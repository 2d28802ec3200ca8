"""Fair choice among several that want the same thing."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["RoundRobin"]


class RoundRobin(wiring.Component):
    """Choose the next one above the last chosen that wants to, cyclically.

    Parameters
    ----------
    requesters : int

    Members
    -------
    wanted : In(requesters)
        Who wants to be chosen.
    choose : In(1)
        The choice of this cycle is made use of.
    chosen : Out(range(requesters))
        The choice; whatever, if nobody wants. Requester 0 is first after reset.

    **Latency**: none; `chosen` follows `wanted` in the same cycle.
    """

    wanted: Signal
    choose: Signal
    chosen: Signal

    def __init__(self, requesters: int) -> None:
        self.requesters = requesters
        super().__init__(
            {"wanted": In(requesters), "choose": In(1), "chosen": Out(range(requesters))}
        )

    def elaborate(self, platform) -> Module:
        """For each last choice a priority that starts above it; later assignments win."""
        m = Module()
        last = Signal(range(self.requesters), init=self.requesters - 1)
        with m.Switch(last):
            for index in range(self.requesters):
                with m.Case(index):
                    for step in reversed(range(1, self.requesters + 1)):
                        candidate = (index + step) % self.requesters
                        with m.If(self.wanted[candidate]):
                            m.d.comb += self.chosen.eq(candidate)
        with m.If(self.choose):
            m.d.sync += last.eq(self.chosen)
        return m
