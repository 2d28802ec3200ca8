"""BeatSlicer against a Python integer that holds all beats."""

from random import Random
from typing import Any

import pytest

from hw.beat_slicer import BeatSlicer
from sim.bench import GRID, check

SHAPES = [(64, 16), (64, 64), (64, 256), (512, 64), (64, 8)]


def _words(beats: list[int], beat_width: int, word_width: int) -> list[int]:
    stream = sum(beat << n * beat_width for n, beat in enumerate(beats))
    mask = (1 << word_width) - 1
    return [stream >> at & mask for at in range(0, len(beats) * beat_width, word_width)]


class ClearAfter:
    """Raise `clear` in the cycle after the n-th handshake of a stream."""

    name = "clear"
    finished = True

    def __init__(self, dut: BeatSlicer, count: int) -> None:
        self._dut, self._left = dut, count

    def signals(self) -> tuple[Any, Any]:
        """Return the handshake."""
        return self._dut.o.valid, self._dut.o.ready

    def start(self, ctx: Any) -> None:
        """Do nothing."""

    def step(self, ctx: Any, cycle: int, values: Any) -> bool:
        """Count down."""
        taken = all(values)
        self._left -= taken
        ctx.set(self._dut.clear, int(taken and self._left == 0))
        return False


@pytest.mark.parametrize(("idle", "stall"), GRID)
@pytest.mark.parametrize(("beat_width", "word_width"), SHAPES)
def test_words_in_order(beat_width, word_width, idle, stall):
    rng = Random(3)
    beats = [rng.getrandbits(beat_width) for _ in range(24)]
    expected = _words(beats, beat_width, word_width)
    dut = BeatSlicer(beat_width, word_width)
    check(dut, {"i": beats}, {"o": expected}, idle=idle, stall=stall)


@pytest.mark.parametrize(("beat_width", "word_width"), SHAPES)
def test_a_word_in_the_cycle_of_its_last_bit(beat_width, word_width):
    beats = list(range(8))
    expected = _words(beats, beat_width, word_width)
    result = check(BeatSlicer(beat_width, word_width), {"i": beats}, {"o": expected})
    each = max(1, word_width // beat_width)
    assert result.given["o"] == [n * each + each - 1 for n in range(len(expected))]
    a_beat = max(1, beat_width // word_width)
    assert result.taken["i"] == [n * a_beat + a_beat - 1 for n in range(len(beats))]


@pytest.mark.parametrize(("beat_width", "word_width"), [(64, 16), (512, 64)])
@pytest.mark.parametrize("taken", [1, 3, 4, 8, 9])
def test_clear_drops_the_rest_of_the_beat(beat_width, word_width, taken):
    rng = Random(4)
    ratio = beat_width // word_width
    beats = [rng.getrandbits(beat_width) for _ in range(5)]
    words = _words(beats, beat_width, word_width)
    rest = -(-taken // ratio) * ratio
    dut = BeatSlicer(beat_width, word_width)
    expected = words[:taken] + words[rest:]
    check(dut, {"i": beats}, {"o": expected}, extra=[ClearAfter(dut, taken)])
