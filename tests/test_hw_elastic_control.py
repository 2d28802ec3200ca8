"""ElasticControl with a register a stage, against the rule of a queue of `stages` places."""

from random import Random

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.elastic_control import ElasticControl
from sim.bench import GRID, check


class Pipeline(wiring.Component):
    """Registers that hand a payload on."""

    i: stream.Interface
    o: stream.Interface

    def __init__(self, stages: int) -> None:
        self._stages = stages
        super().__init__({"i": In(stream.Signature(16)), "o": Out(stream.Signature(16))})

    def elaborate(self, platform: object) -> Module:
        """Load each stage by its strobe."""
        m = Module()
        m.submodules.control = control = ElasticControl(self._stages)
        m.d.comb += [
            control.i_valid.eq(self.i.valid),
            self.i.ready.eq(control.i_ready),
            self.o.valid.eq(control.o_valid),
            control.o_ready.eq(self.o.ready),
        ]
        value = self.i.payload
        for stage in range(self._stages):
            register = Signal(16, name=f"s{stage + 1}")
            with m.If(control.load[stage]):
                m.d.sync += register.eq(value)
            value = register
        m.d.comb += self.o.payload.eq(value)
        return m


@pytest.mark.parametrize(("idle", "stall"), [*GRID, (0.0, 0.8)])
@pytest.mark.parametrize("stages", [1, 2, 5])
def test_is_a_queue_of_as_many_places(stages, idle, stall):
    values = Random(1).sample(range(1 << 16), 60)
    dut = Pipeline(stages)
    result = check(dut, {"i": values}, {"o": values}, idle=idle, stall=stall)
    enter, leave = result.taken["i"], result.given["o"]
    assert all(b - a >= stages for a, b in zip(enter, leave, strict=True))
    if not stall:
        assert leave == [cycle + stages for cycle in enter]
    if not idle:
        places = [0] * stages + leave
        rule = [0]
        for n in range(1, len(values)):
            rule.append(max(rule[-1] + 1, places[n]))
        assert enter == rule
