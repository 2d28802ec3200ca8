"""C2 against Python's own integers and fractions."""

import doctest
import random
import re
from fractions import Fraction

import pytest

import models.golden.gnn.requantizer
from models.golden.gnn.requantizer import requantize

P_TOP = (1 << 23) - 1


def exact(p: int, m: int, e: int, n: int, f: int) -> int:
    """Compute C2 one value at a time."""
    for factor, shift in ((m, e), (n, f)):
        real = Fraction(abs(p) * factor, 1 << shift)
        whole = int(real) + (real - int(real) >= Fraction(1, 2))
        p = -whole if p < 0 else whole
    return max(-7, min(7, p))


def vectors() -> list[tuple[int, int, int, int, int]]:
    """Return corners, ties of both signs, and random values around the range of q."""
    chance = random.Random(3)
    corners = [(p, m, e, n, f) for p in (0, 1, -1, P_TOP, -P_TOP - 1) for m in (0, 2048, 4095)
               for e in (0, 12, 63) for n in (0, 2048, 4095) for f in (0, 12, 63)]  # fmt: skip
    ties = [(sign * odd, 2048, 12, 2048, 11) for odd in range(1, 16, 2) for sign in (1, -1)]
    ties += [(sign * odd, 2048, 11, 2048, 12) for odd in range(1, 16, 2) for sign in (1, -1)]
    drawn = []
    for _ in range(3000):
        p = chance.getrandbits(chance.randrange(1, 24)) * chance.choice((-1, 1))
        total = max(abs(p), 1).bit_length() + 20 + chance.randrange(4)
        e = chance.randrange(min(total, 20))
        drawn.append((p, chance.randrange(2048, 4096), e, chance.randrange(2048, 4096), total - e))
    return corners + ties + drawn


def test_doctests() -> None:
    assert doctest.testmod(models.golden.gnn.requantizer).failed == 0


def test_equals_fractions() -> None:
    cases = vectors()
    got = requantize(*zip(*cases, strict=True))
    assert got.tolist() == [exact(*case) for case in cases]
    assert set(got.tolist()) == set(range(-7, 8))


def test_two_stages_differ_from_one() -> None:
    """1.49 -> 1.5 -> 2: the node's rounding is part of the contract (papers-quant.md 1.12 i)."""
    # 2.96875 = 95/32 rounds to 3 in the node step, then 3/2 to 2; at once 1.484 rounds to 1.
    assert requantize(95, 2048, 16, 2048, 12).item() == 2
    assert exact(95, 2048, 0, 2048, 28) == 1


def test_broadcasts_rows_and_columns() -> None:
    got = requantize([[1, 2], [3, -4]], [[2048], [4096 - 2048]], [[11], [12]], [2048, 4095], 11)
    assert got.tolist() == [[1, 4], [2, -4]]


def test_refuses_a_product_of_more_than_48_bits() -> None:
    message = "P * m must be in -140737488355328..140737488355327 (48 bits), not 281474976710656"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        requantize(1 << 37, 2048, 0, 1, 0)
