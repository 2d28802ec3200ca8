"""BitPacker against a Python integer that holds the whole bit stream."""

from random import Random

import pytest

from hw.bit_packer import BitPacker
from sim.bench import GRID, check

SHAPES = [(64, 17), (256, 24), (64, 64), (8, 1)]


def _tokens(gives: list[dict[str, int]], beat_width: int) -> list[dict[str, int]]:
    """Pack in integers: a beat as soon as it is full, the rest and the end at `last`."""
    tokens, word, held = [], 0, 0
    for give in gives:
        word |= (give["bits"] & (1 << give["width"]) - 1) << held
        held += give["width"]
        ended = False
        while held >= beat_width or (give["last"] and not ended):
            ended = bool(give["last"]) and held <= beat_width
            data = word & (1 << beat_width) - 1
            tokens.append({"data": data, "valid": int(held > 0), "last": int(ended)})
            word >>= beat_width
            held = max(held - beat_width, 0)
    return tokens


def _region(widths: list[int], rng: Random) -> list[dict[str, int]]:
    # Ones above `width` must not reach the beat.
    gives = [{"bits": rng.getrandbits(64), "width": w, "last": 0} for w in widths]
    gives[-1]["last"] = 1
    return gives


def _stimulus(beat_width: int, give_max: int, rng: Random) -> list[dict[str, int]]:
    """Corners: nothing, one bit, exactly a beat, a spill of one bit; then random regions."""
    full = [give_max] * (beat_width // give_max)
    rest = beat_width - sum(full)
    exact = [*full, rest] if rest else full
    regions = [[0], [0, 0], [1], exact, [*exact, 0], [*exact, 1], [1, *exact], [1, 0]]
    for _ in range(6):
        regions.append([rng.randint(0, give_max) for _ in range(rng.randint(1, 40))])
    mask = (1 << give_max) - 1
    gives = [give for widths in regions for give in _region(widths, rng)]
    return [{**give, "bits": give["bits"] & mask} for give in gives]


@pytest.mark.parametrize(("idle", "stall"), GRID)
@pytest.mark.parametrize(("beat_width", "give_max"), SHAPES)
def test_packs_every_bit_in_order(beat_width, give_max, idle, stall):
    gives = _stimulus(beat_width, give_max, Random(1))
    dut = BitPacker(beat_width, give_max)
    check(dut, {"i": gives}, {"o": _tokens(gives, beat_width)}, idle=idle, stall=stall)


@pytest.mark.parametrize(("beat_width", "give_max"), SHAPES)
def test_one_give_a_cycle_and_one_more_for_a_spill(beat_width, give_max):
    gives = _stimulus(beat_width, give_max, Random(2))
    dut = BitPacker(beat_width, give_max)
    result = check(dut, {"i": gives}, {"o": _tokens(gives, beat_width)})
    expected, cycle, held, tokens = [], 0, 0, []
    for give in gives:
        expected.append(cycle)
        held += give["width"]
        if held >= beat_width or give["last"]:
            tokens.append(cycle + 1)
            spill = give["last"] and held > beat_width
            if spill:
                cycle += 1
                tokens.append(cycle + 1)
            held = 0 if give["last"] else held - beat_width
        cycle += 1
    assert result.taken["i"] == expected
    assert result.given["o"] == tokens


def test_give_max_out_of_range():
    with pytest.raises(ValueError, match=r"^give_max must be in 1\.\.64, not 0$"):
        BitPacker(64, 0)
