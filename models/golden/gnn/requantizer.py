"""The 4-bit requantizer of the combination engine (step C2 of the contract) in integers."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quant.rounding import check_signed, clip_magnitude, rha

__all__ = ["PRODUCT_WIDTH", "Q_MAX", "requantize"]

Q_MAX = 7
"""Largest magnitude of an aggregation operand (s4 without -8)."""

PRODUCT_WIDTH = 48
"""Bits of both products of C2."""


def requantize(
    p: ArrayLike, m: ArrayLike, e: ArrayLike, n: ArrayLike, f: ArrayLike
) -> NDArray[np.int64]:
    """Return ``q = clip(rha(rha(P * m, e) * n, f), -7, 7)``.

    All arguments broadcast: for rows of a layer `p` is [rows, columns], `m` and `e` are [rows, 1],
    `n` and `f` are [columns].

    Parameters
    ----------
    p : array_like, int64
        Partial sums of the combination.
    m, e : array_like, int
        Mantissa (u12) and shift (u6) of the node.
    n, f : array_like, int
        Mantissa and shift of the column.

    Returns
    -------
    ndarray, int64
        Values in -7..7.

    Raises
    ------
    ValueError
        If a product leaves 48 bits, which lowering must have excluded.

    Examples
    --------
    A tie after the node step (5/2 -> 3, -5/2 -> -3) and a saturation:

    >>> requantize([5, -5, 4000], 2048, 12, 2048, 11).tolist()
    [3, -3, 7]
    """
    p, m, n = (np.asarray(a, np.int64) for a in (p, m, n))
    node = rha(check_signed("P * m", p * m, PRODUCT_WIDTH), e)
    column = rha(check_signed("rha(P * m, e) * n", node * n, PRODUCT_WIDTH), f)
    return clip_magnitude(column, Q_MAX)
