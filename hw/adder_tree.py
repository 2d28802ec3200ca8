"""A balanced sum of many values."""

from collections.abc import Sequence

from amaranth.hdl import Value

__all__ = ["adder_tree"]


def adder_tree(terms: Sequence[Value]) -> Value:
    """Return the sum of `terms`, ceil(log2(len(terms))) adders deep.

    Each level adds neighbours, so no carry passes through a chain of adders. The result is wide
    enough for every sum.

    Parameters
    ----------
    terms : sequence of Value
        At least one.
    """
    level = list(terms)
    while len(level) > 1:
        pairs = [a + b for a, b in zip(level[::2], level[1::2], strict=False)]
        level = pairs + level[len(pairs) * 2 :]
    return level[0]
