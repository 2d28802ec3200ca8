"""The post-processor of the aggregation engine (step A2 of the contract) in integers."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quant.rounding import check_signed, rha

__all__ = ["Z_WIDTH", "affine", "next_code", "post_process"]

Z_WIDTH = 48
"""Bits of Z, which is the logit of a last layer."""


def affine(
    acc: ArrayLike,
    m: ArrayLike,
    e: ArrayLike,
    n: ArrayLike,
    r: ArrayLike,
    b: ArrayLike,
    q_self: ArrayLike,
) -> NDArray[np.int64]:
    """Return ``Z = rha(acc * m', e') * n' + r * q_self + b``, checked to fit 48 bits.

    Examples
    --------
    >>> affine(-3, 2048, 12, 10, 0, 7, 0).item()  # rha(-1.5) = -2
    -13
    """
    acc, m, n, r, b, q_self = (np.asarray(a, np.int64) for a in (acc, m, n, r, b, q_self))
    return check_signed("Z", rha(acc * m, e) * n + r * q_self + b, Z_WIDTH)


def next_code(
    z: ArrayLike, m: ArrayLike, e: ArrayLike, width: ArrayLike, *, signed: bool
) -> NDArray[np.int64]:
    """Return the next layer's code: ReLU and unsigned clip, or the symmetric signed clip.

    The product of a 48-bit Z with a 12-bit mantissa always fits its 64 bits.

    Examples
    --------
    A tie, the ReLU and a saturation at two bits; then the same, signed:

    >>> next_code([3, -3, 90], 2048, 12, 2, signed=False).tolist()
    [2, 0, 3]
    >>> next_code([3, -3, -90], 2048, 12, 2, signed=True).tolist()
    [2, -2, -3]
    """
    z, m, width = (np.asarray(a, np.int64) for a in (z, m, width))
    high = (np.int64(1) << width) - 1
    low = -high if signed else np.zeros_like(high)
    return np.clip(rha((z if signed else np.maximum(z, 0)) * m, e), low, high)


def post_process(
    acc: ArrayLike,
    m: ArrayLike,
    e: ArrayLike,
    n: ArrayLike,
    r: ArrayLike,
    b: ArrayLike,
    q_self: ArrayLike = 0,
    m_next: ArrayLike = 0,
    e_next: ArrayLike = 0,
    width_next: ArrayLike = 0,
    signed_next: bool = False,
    last: bool = False,
) -> NDArray[np.int64]:
    """Return the logits Z of a last layer, else the codes x' of the next one.

    All array arguments broadcast: for rows of a layer `acc` is [rows, columns], the node factors
    are [rows, 1], the column factors are [columns].

    Parameters
    ----------
    acc : array_like, int64
        Sums over the neighbours.
    m, e, m_next, e_next, width_next : array_like, int
        The node's multipliers m', e' and m'', e'' and its width B'.
    n, r, b : array_like, int
        The column's factor n' (s16), self factor r (s16) and bias b (s32).
    q_self : array_like, int
        The node's own operands; without effect where `r` is 0.
    signed_next : bool
        Whether the next layer's codes carry a sign (then there is no ReLU).
    last : bool
        Whether this is the last layer.

    Returns
    -------
    ndarray, int64

    Raises
    ------
    ValueError
        If Z leaves 48 bits, which lowering must have excluded.

    Examples
    --------
    >>> post_process(3, 2048, 12, 10, 0, 7, last=True).item()
    27
    >>> post_process(3, 2048, 12, 10, 0, 7, 0, 2048, 14, 8).item()  # 27 / 8 = 3.375
    3
    """
    z = affine(acc, m, e, n, r, b, q_self)
    if last:
        return z
    return next_code(z, m_next, e_next, width_next, signed=signed_next)
