"""RoundRobin against the rule in Python, over every pair of last choice and wishes."""

import pytest
from amaranth.sim import Simulator

from hw.round_robin import RoundRobin


@pytest.mark.parametrize("requesters", [1, 3, 4])
def test_the_next_above_the_last(requesters):
    dut = RoundRobin(requesters)

    async def bench(ctx):
        last = requesters - 1
        for start in range(requesters):
            for wanted in range(1, 1 << requesters):
                for choose, wish in ((1, 1 << start), (0, wanted), (0, wanted)):
                    ctx.set(dut.wanted, wish)
                    ctx.set(dut.choose, choose)
                    order = [(last + step) % requesters for step in range(1, requesters + 1)]
                    expected = next(index for index in order if wish >> index & 1)
                    assert ctx.get(dut.chosen) == expected
                    await ctx.tick()
                    last = expected if choose else last

    simulator = Simulator(dut)
    simulator.add_clock(1e-8)
    simulator.add_testbench(bench)
    simulator.run()
