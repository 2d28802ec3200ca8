"""Rounding against exact fractions, and the multipliers against their definition."""

import doctest
import random
import re
from fractions import Fraction

import numpy as np
import pytest

import quant.rounding
from quant.rounding import half_away, multiplier, multiplier_value, rha

CORNERS = [0, 1, 2, 3, 5, (1 << 47) - 1, 1 << 47, (1 << 62) - 1, 1 << 62, (1 << 63) - 1]


def exact(x: int, n: int) -> int:
    """Round ``x / 2^n`` half away from zero with Python's fractions."""
    real = Fraction(abs(x), 1 << n)
    whole = real.numerator // real.denominator
    return (whole + (real - whole >= Fraction(1, 2))) * (-1 if x < 0 else 1)


def test_doctests() -> None:
    assert doctest.testmod(quant.rounding).failed == 0


def test_rha_equals_fractions_at_the_corners() -> None:
    for x in [*CORNERS, *(-c for c in CORNERS), -(1 << 63)]:
        for n in range(64):
            assert rha(x, n).item() == exact(x, n), (x, n)


def test_rha_equals_fractions_at_random_values_and_ties() -> None:
    chance = random.Random(1)
    for _ in range(2000):
        n = chance.randrange(64)
        x = chance.getrandbits(chance.randrange(1, 64)) * chance.choice((-1, 1))
        tie = max(-(1 << 63), min((1 << 63) - 1, (x >> n << n) + (1 << n >> 1)))
        assert rha([x, tie], n).tolist() == [exact(x, n), exact(tie, n)], (x, n)


def test_rha_broadcasts_and_keeps_int64() -> None:
    rounded = rha(np.array([[3], [-3]], np.int32), np.array([0, 1, 2], np.uint8))
    assert rounded.dtype == np.int64
    assert rounded.tolist() == [[3, 2, 1], [-3, -2, -1]]


def test_half_away_equals_fractions() -> None:
    chance = random.Random(2)
    values = [chance.choice((-1, 1)) * chance.randrange(1 << 40) / 2**chance.randrange(60)
              for _ in range(2000)]  # fmt: skip
    values += [0.5, 1.5, 2.5, -0.5, np.nextafter(0.5, 0), np.nextafter(0.5, 1), 2.0**52 + 1]
    for value in values:
        fraction = Fraction(value)
        assert half_away(value) == exact(fraction.numerator, fraction.denominator.bit_length() - 1)
    assert np.signbit(half_away(-0.0)).item() is False


def test_codes_of_the_papers_vectors() -> None:
    """papers-quant.md 1.12: s = 0.1, codes of six values at three magnitudes."""
    x = np.array([-1, -0.01, 0, 0.01, 0.5, 3])
    for limit, codes in ((3, [-3, 0, 0, 0, 3, 3]), (1, [-1, 0, 0, 0, 1, 1]), (0, [0] * 6)):
        assert quant.rounding.clip_magnitude(half_away(x / 0.1), limit).tolist() == codes


@pytest.mark.parametrize("seed", range(3))
def test_multiplier_is_the_nearest(seed: int) -> None:
    chance = random.Random(seed)
    reals = [chance.uniform(1, 2) * 2.0 ** chance.randrange(-50, 11) for _ in range(500)]
    mantissa, shift = multiplier(reals)
    assert ((mantissa >= 2048) & (mantissa <= 4095)).all()
    assert ((shift >= 0) & (shift <= 63)).all()
    error = np.abs(multiplier_value(mantissa, shift) - reals)
    assert (error <= np.ldexp(0.5, -shift)).all()
    assert (error / reals <= 2.0**-12).all()


def test_multiplier_at_its_edges() -> None:
    least, most = 2048 * 2.0**-63, 4095.0
    assert [a.tolist() for a in multiplier([0.0, least, most])] == [[0, 2048, 4095], [0, 63, 0]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rha(1.0, 1), "x must be integers, not float64"),
        (lambda: rha(1, 0.5), "n must be integers, not float64"),
        (lambda: rha([1 << 70], 1), "x must be integers, not object"),
        (lambda: rha(1, -1), "n must be in 0..63, not -1..-1"),
        (lambda: rha(1, [3, 64]), "n must be in 0..63, not 3..64"),
        (lambda: rha(np.uint64(1 << 63), 0), "x must fit int64, not 9223372036854775808"),
        (lambda: multiplier(-1.0, "s"), "s must be finite and not negative, not -1"),
        (lambda: multiplier([1.0, np.nan]), "real must be finite and not negative, not nan"),
        (lambda: multiplier(4096.0), "real must be 0 or in 2^-52..4095 (shift in 0..63), not 4096"),
        (
            lambda: multiplier(2.0**-53, "c"),
            "c must be 0 or in 2^-52..4095 (shift in 0..63), not 1.11022e-16",
        ),
    ],
)
def test_refuses(call, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^{re.escape(message)}$"):
        call()
