"""A2 against Python's own integers and fractions."""

import doctest
import random
import re
from fractions import Fraction

import pytest

import models.golden.gnn.post_processor
from models.golden.gnn.post_processor import post_process


def shifted(x: int, n: int) -> int:
    """Divide by 2^n, half away from zero."""
    real = Fraction(abs(x), 1 << n)
    whole = int(real) + (real - int(real) >= Fraction(1, 2))
    return -whole if x < 0 else whole


def exact(case: tuple[int, ...], *, signed: bool, last: bool) -> int:
    """Compute A2 one value at a time."""
    acc, m, e, n, r, b, q_self, m_next, e_next, width = case
    z = shifted(acc * m, e) * n + r * q_self + b
    if last:
        return z
    high = (1 << width) - 1
    code = shifted((z if signed else max(z, 0)) * m_next, e_next)
    return max(-high if signed else 0, min(high, code))


def vectors() -> list[tuple[int, ...]]:
    """Return corners of each field and random values that reach every code."""
    chance = random.Random(4)
    extremes = [(acc, m, e, n, r, b, q, 4095, e_next, width)
                for acc in (-32768, -1, 0, 32767) for m, e in ((0, 0), (4095, 0), (2048, 12))
                for n, r in ((-32768, 32767), (32767, -32768)) for b in (-(1 << 31), 0, 1)
                for q in (-7, 7) for e_next, width in ((0, 8), (63, 8), (40, 0))]  # fmt: skip
    drawn = []
    for _ in range(3000):
        acc = chance.randrange(-4000, 4000)
        top = 26 + max(abs(acc), 1).bit_length() - chance.randrange(9)
        drawn.append((acc, chance.randrange(2048, 4096), chance.randrange(6),
                      chance.randrange(-32768, 32768), chance.randrange(-9, 9),
                      chance.randrange(-(1 << 20), 1 << 20), chance.randrange(-7, 8),
                      chance.randrange(2048, 4096), top, chance.randrange(8)))  # fmt: skip
    return extremes + drawn


def test_doctests() -> None:
    assert doctest.testmod(models.golden.gnn.post_processor).failed == 0


@pytest.mark.parametrize(("signed", "last"), [(False, False), (True, False), (False, True)])
def test_equals_fractions(signed: bool, last: bool) -> None:
    cases = vectors()
    got = post_process(*zip(*cases, strict=True), signed_next=signed, last=last)
    assert got.tolist() == [exact(case, signed=signed, last=last) for case in cases]
    if not last:
        assert got.max() == 255
        assert got.min() == (-255 if signed else 0)


def test_refuses_a_z_of_more_than_48_bits() -> None:
    message = "Z must be in -140737488355328..140737488355327 (48 bits), not 140737488355328"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        post_process(1 << 33, 1 << 14, 0, 1, 0, 0, last=True)
