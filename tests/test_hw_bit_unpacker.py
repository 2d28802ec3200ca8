"""BitUnpacker against a Python integer that holds the whole bit stream."""

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from amaranth.sim import Simulator

from hw.bit_unpacker import BitUnpacker
from sim.bench import GRID, check

SHAPES = [(64, 17), (256, 24), (64, 64), (8, 1)]


class Follow:
    """Set a port to `values[n]` after the n-th handshake of a stream."""

    finished = True
    name = "follow"

    def __init__(self, signal: Any, port: Any, values: list[int]) -> None:
        self._signal, self._port, self._values = signal, port, values
        self._index = 0

    def signals(self) -> Sequence[Any]:
        """Return the handshake."""
        return self._port.valid, self._port.ready

    def start(self, ctx: Any) -> None:
        """Set the first value."""
        ctx.set(self._signal, self._values[0])

    def step(self, ctx: Any, cycle: int, values: Sequence[int]) -> bool:
        """Set the next value after a handshake."""
        if all(values) and self._index + 1 < len(self._values):
            self._index += 1
            ctx.set(self._signal, self._values[self._index])
        return False


def _beats(width: int, count: int, rng: Random) -> list[int]:
    return [(1 << width) - 1, 0, *(rng.getrandbits(width) for _ in range(count))]


def _cut(beats: list[int], beat_width: int, widths: list[int]) -> list[int]:
    word = sum(beat << i * beat_width for i, beat in enumerate(beats))
    values = []
    for width in widths:
        values.append(word & (1 << width) - 1)
        word >>= width
    return values


def _widths(total: int, take_max: int, rng: Random) -> list[int]:
    """Corner widths first, then random ones, that end exactly at `total` bits."""
    widths = [0, take_max, 1, take_max, 0, 0]
    left = total - sum(widths)
    while left:
        width = min(left, rng.choice([take_max, rng.randint(0, take_max)]))
        widths.append(width)
        left -= width
    return widths


@pytest.mark.parametrize(("idle", "stall"), GRID)
@pytest.mark.parametrize(("beat_width", "take_max"), SHAPES)
def test_takes_every_bit_in_order(beat_width, take_max, idle, stall):
    rng = Random(1)
    beats = _beats(beat_width, 12, rng)
    widths = _widths(beat_width * len(beats), take_max, rng)
    expected = _cut(beats, beat_width, widths)
    dut = BitUnpacker(beat_width, take_max)
    # Nothing is left at the end, so a take of one bit stops the run on past the last.
    follow = Follow(dut.width, dut.o, [*widths, 1])
    check(dut, {"i": beats}, {"o": expected}, idle=idle, stall=stall, extra=[follow])


@pytest.mark.parametrize(("beat_width", "take_max"), SHAPES)
def test_one_take_a_cycle(beat_width, take_max):
    rng = Random(2)
    beats = _beats(beat_width, 12, rng)
    widths = [take_max] * (beat_width * len(beats) // take_max)
    dut = BitUnpacker(beat_width, take_max)
    follow = Follow(dut.width, dut.o, [*widths, take_max])
    result = check(dut, {"i": beats}, {"o": _cut(beats, beat_width, widths)}, extra=[follow])
    first = result.given["o"][0]
    assert first == result.taken["i"][0] + 1
    assert result.given["o"] == list(range(first, first + len(widths)))


@pytest.mark.parametrize("beat_width", [64, 256])
def test_clear_drops_the_padding_and_takes_no_beat(beat_width):
    """Clear comes with the last take of a region while the next region's beat waits."""
    dut = BitUnpacker(beat_width, 16)
    first, second = _beats(beat_width, 2, Random(3))[2:]

    async def bench(ctx):
        ctx.set(dut.width, 16)
        ctx.set(dut.i.payload, first)
        ctx.set(dut.i.valid, 1)
        await ctx.tick()
        ctx.set(dut.i.valid, 0)
        ctx.set(dut.o.ready, 1)
        for _ in range(beat_width // 16 - 1):
            await ctx.tick()
        ctx.set(dut.width, 8)
        ctx.set(dut.i.payload, second)
        ctx.set(dut.i.valid, 1)
        assert ctx.get(dut.i.ready) == 1
        ctx.set(dut.clear, 1)
        assert ctx.get(dut.o.payload) == first >> beat_width - 16 & 0xFF
        assert (ctx.get(dut.o.valid), ctx.get(dut.i.ready)) == (1, 0)
        await ctx.tick()
        ctx.set(dut.clear, 0)
        assert (ctx.get(dut.o.valid), ctx.get(dut.i.ready)) == (0, 1)
        await ctx.tick()
        assert (ctx.get(dut.o.valid), ctx.get(dut.o.payload)) == (1, second & 0xFF)

    simulator = Simulator(dut)
    simulator.add_clock(1e-8)
    simulator.add_testbench(bench)
    simulator.run()


def test_take_max_out_of_range():
    with pytest.raises(ValueError, match=r"^take_max must be in 1\.\.64, not 65$"):
        BitUnpacker(64, 65)
