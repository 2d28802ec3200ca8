"""adder_tree against Python's sum, and its depth."""

from random import Random

import pytest
from amaranth.hdl import Module, Signal, signed
from amaranth.sim import Simulator

from hw.adder_tree import adder_tree


@pytest.mark.parametrize("count", [1, 2, 3, 7, 16])
def test_sums_extremes_and_random_values(count):
    rng = Random(count)
    terms = [Signal(signed(5), name=f"term{n}") for n in range(count)]
    total = adder_tree(terms)
    cases = [[-16] * count, [15] * count]
    cases += [[rng.randint(-16, 15) for _ in range(count)] for _ in range(20)]

    async def bench(ctx):
        for case in cases:
            for term, value in zip(terms, case, strict=True):
                ctx.set(term, value)
            assert ctx.get(total) == sum(case)

    simulator = Simulator(Module())
    simulator.add_testbench(bench)
    simulator.run()


@pytest.mark.parametrize(("count", "levels"), [(1, 0), (2, 1), (3, 2), (16, 4), (64, 6)])
def test_each_level_adds_one_bit(count, levels):
    assert len(adder_tree([Signal(signed(5)) for _ in range(count)])) == 5 + levels
