"""The rounding shift in gates against `quant.rounding.rha`."""

from random import Random

import pytest
from amaranth import *
from amaranth.sim import Simulator

from hw.rounding import round_half_away
from quant.rounding import rha


@pytest.mark.parametrize("width", [4, 28, 60])
def test_equals_the_integer_function(width):
    low, high = -(1 << width - 1), (1 << width - 1) - 1
    rng = Random(width)
    corners = [0, 1, -1, 2, -2, 3, -3, 4, -4, 6, -6, low, low + 1, high, high - 1]
    shifts = [0, 1, 2, 3, width - 2, width - 1, width, 63]
    cases = [(x, n) for x in corners for n in shifts]
    cases += [
        (rng.randint(low, high) >> rng.randrange(width), rng.randrange(64)) for _ in range(300)
    ]
    value, shift = Signal(signed(width)), Signal(6)
    result = Signal(signed(width))
    m = Module()
    m.d.comb += result.eq(round_half_away(value, shift))

    async def bench(ctx):
        for x, n in cases:
            ctx.set(value, x)
            ctx.set(shift, n)
            assert ctx.get(result) == rha(x, n), f"rha({x}, {n})"

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()


def test_an_unsigned_value_is_refused():
    with pytest.raises(TypeError, match=r"^value must be signed, not unsigned\(4\)$"):
        round_half_away(Signal(4), Signal(6))
