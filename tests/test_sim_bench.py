"""The harness sees each way of breaking a stream, and says where."""

import pytest
from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from sim.bench import DeadlockError, StreamRuleError, check


class Register(wiring.Component):
    """One register of a stream; `fault` breaks it."""

    i: stream.Interface
    o: stream.Interface

    def __init__(self, fault: str) -> None:
        self.fault = fault
        signature = stream.Signature(8)
        super().__init__({"i": In(signature), "o": Out(signature)})

    def elaborate(self, platform) -> Module:
        """Keep one value until it is taken, or not."""
        m = Module()
        free = ~self.o.valid | self.o.ready
        m.d.comb += self.i.ready.eq(1 if self.fault == "change" else free)
        with m.If(self.o.ready | (self.fault == "withdraw")):
            m.d.sync += self.o.valid.eq(self.o.valid & (self.fault == "repeat"))
        with m.If(self.i.valid & self.i.ready & (self.fault != "swallow")):
            m.d.sync += [self.o.valid.eq(1), self.o.payload.eq(self.i.payload)]
        return m


CASES = {
    "withdraw": (StreamRuleError, r"^o: payload withdrawn in cycle \d+$"),
    "change": (StreamRuleError, r"^o: payload changed in cycle \d+ from 0x\w+ to 0x\w+$"),
    "repeat": (StreamRuleError, r"^o: output 3 too many in cycle \d+: 0x3$"),
    "swallow": (DeadlockError, r"^no progress after cycle 2; waiting for o$"),
}


@pytest.mark.parametrize("fault", CASES)
def test_a_broken_stream_is_seen(fault):
    error, message = CASES[fault]
    stall = 0.0 if fault in ("repeat", "swallow") else 0.7
    with pytest.raises(error, match=message):
        check(Register(fault), {"i": [1, 2, 3]}, {"o": [1, 2, 3]}, stall=stall)


def test_a_wrong_value_is_seen():
    with pytest.raises(
        StreamRuleError, match=r"^o: output 1 in cycle 2 must be 0x4 \(4\), not 0x2 \(2\)$"
    ):
        check(Register(""), {"i": [1, 2, 3]}, {"o": [1, 4, 3]})


def test_cycles_of_every_handshake():
    result = check(Register(""), {"i": [1, 2, 3]}, {"o": [1, 2, 3]})
    assert (result.taken, result.given) == ({"i": [0, 1, 2]}, {"o": [1, 2, 3]})
    assert (result.values, result.cycles) == ({"o": [1, 2, 3]}, 4)
