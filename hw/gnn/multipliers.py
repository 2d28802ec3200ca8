"""Real scales of a layer as the integers of C2 and A2 (contract, section 1).

Both steps have a node factor and a column factor. A power of two is moved from one to the other:
the more of it the node factor keeps, the more fraction bits stand between the two roundings. The
largest that all words hold is taken, so the rounding between the steps costs next to nothing and
what is left is the mantissas' own error, at most 2^-12 each and 2^-13.5 on average. (Moving a
share that is no power of two, to get better mantissas on the whole, was tried on trained Cora and
CiteSeer: no clear gain, since few near-ties decide.)

- C2: ``m_u ~ c_u * s_u * 2^h``, ``n_j ~ beta_j / alpha_j * 2^-h``;
- A2: ``m'_v ~ c_v * 2^h``, ``n'_j ~ alpha_j * 2^g`` (s16), ``b_j ~ bias_j * 2^(g+h)``, so Z has the
  scale 2^-(g+h), and ``m''_v ~ 2^-(g+h) / s'_v``.

Here s are the steps of the features, beta of the weights, alpha of the 4-bit operand, c the
normalisation. A node's m'' makes up for the error of its m', so that what comes from the
neighbours carries one mantissa's error of these two (the bias carries both).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hw.gnn.ranges import require_signed
from quant.rounding import half_away, multiplier, multiplier_value, rha

__all__ = ["AggregateFactors", "CombineFactors", "aggregate_factors", "combine_factors"]

Integers = NDArray[np.int64]
Reals = NDArray[np.float64]

PRODUCT_WIDTH = 48
"""Bits of the products of C2 and of Z."""

N_MAX = (1 << 15) - 1
"""Largest n' (s16)."""

B_MAX = (1 << 31) - 1
"""Largest bias (s32)."""


C2_LOSS = 24
"""Choices of h: a product of 48 bits leaves the node step's result 36, so this costs nothing."""

N_LOSS = 3
"""Bits that n' may lose before Y does: its 15 bits are then as good as a mantissa's 12."""

A2_LOSS = 8
"""Choices of g + h: with the last, Y still has 7 fraction bits where c is 1."""


@dataclass(frozen=True)
class CombineFactors:
    """Node factors `m`, `e` [rows] and column factors `n`, `f` [columns] of C2."""

    m: Integers
    e: Integers
    n: Integers
    f: Integers


@dataclass(frozen=True)
class AggregateFactors:
    """Node factors [rows] and column factors [columns] of A2.

    `log2_scale` is g + h: Z is the real value times 2^log2_scale. `m_next` and `e_next` are zero
    in a last layer and at nodes of width 0.
    """

    m: Integers
    e: Integers
    m_next: Integers
    e_next: Integers
    n: Integers
    r: Integers
    b: Integers
    log2_scale: int


Factors = TypeVar("Factors")


def _first(attempt: Callable[[int], Factors], choices: int) -> Factors:
    """Return the first of ``attempt(0..choices-1)`` that is not refused, else the first refusal."""
    refusal: ValueError | None = None
    for choice in range(choices):
        try:
            return attempt(choice)
        except ValueError as error:
            refusal = refusal or error
    assert refusal is not None
    raise refusal


def _exponent(real: Reals) -> int:
    """Return the h for which the largest of `real` times 2^h has a multiplier with shift 0."""
    top = real.max(initial=0.0)
    if not top:
        return 0
    fraction, exponent = np.frexp(top)
    return int(multiplier(fraction)[1]) - int(exponent)


def combine_factors(node: Reals, column: Reals, psum_bound: Integers, layer: int) -> CombineFactors:
    """Return the integers of C2 for the real factors ``node[u] * column[j]``.

    Parameters
    ----------
    node : ndarray [rows], float
        ``c_u * s_u``; 0 where the row's operands are 0 anyway.
    column : ndarray [columns], float
        ``beta_j / alpha_j``.
    psum_bound : ndarray [rows], int64
        Largest |P| of each row.
    layer : int
        Used in messages.

    Raises
    ------
    ValueError
        If no choice of shifts holds all factors and products.
    """
    top_h = _exponent(node)

    def attempt(lost: int) -> CombineFactors:
        h = top_h - lost
        m, e = multiplier(np.ldexp(node, h), f"node factor of layer {layer} x 2^{h}")
        n, f = multiplier(np.ldexp(column, -h), f"column factor of layer {layer} x 2^{-h}")
        where, rule = f"of layer {layer}", "the 48-bit product"
        require_signed(f"P x m {where}", psum_bound * m, PRODUCT_WIDTH, rule)
        top = rha(psum_bound * m, e)
        require_signed(f"P x m x n {where}", top * n.max(initial=0), PRODUCT_WIDTH, rule)
        return CombineFactors(m, e, n, f)

    return _first(attempt, C2_LOSS)


def _column_exponent(alpha: Reals) -> int:
    """Return the largest g for which the largest alpha times 2^g rounds to an s16."""
    g = 15 - int(np.frexp(alpha.max())[1])
    return g - (half_away(np.ldexp(alpha.max(), g)).item() > N_MAX)


def _columns(alpha: Reals, g: int, layer: int) -> Integers:
    """Return n', alpha times 2^g."""
    n = half_away(np.ldexp(alpha, g))
    if not n.all():
        j = int(n.argmin())
        raise ValueError(
            f"step of column {j} of layer {layer} must be at least {2.0 ** -(g + 1):g} "
            f"(the largest is {alpha.max():g}), not {alpha[j]:g}"
        )
    return n.astype(np.int64)


def aggregate_factors(
    node: Reals,
    alpha: Reals,
    bias: Reals,
    next_step: Reals | None,
    acc_bound: Integers,
    layer: int,
) -> AggregateFactors:
    """Return the integers of A2.

    Parameters
    ----------
    node : ndarray [rows], float
        ``c_v``.
    alpha, bias : ndarray [columns], float
        Step of the 4-bit operands and bias, both real.
    next_step : ndarray [rows], float, or None
        ``s'_v``, infinity at nodes of width 0; None in the last layer.
    acc_bound : ndarray [rows], int64
        Largest |acc| of each row.
    layer : int
        Used in messages.

    Raises
    ------
    ValueError
        If no choice of shifts holds all factors, the bias and Z.
    """
    top_g, top_h = _column_exponent(alpha), _exponent(node)
    next_real = np.zeros_like(node) if next_step is None else 1.0 / next_step

    def attempt(lost: int) -> AggregateFactors:
        g, h = top_g - min(lost, N_LOSS), top_h - max(lost - N_LOSS, 0)
        n = _columns(alpha, g, layer)
        m, e = multiplier(np.ldexp(node, h), f"c of layer {layer} x 2^{h}")
        b = half_away(np.ldexp(bias, g + h))
        if np.abs(b).max() > B_MAX:
            raise ValueError(
                f"bias of layer {layer} must be below {B_MAX * 2.0 ** -(g + h):g} "
                f"(32 bits in the scale of Z), not {np.abs(bias).max():g}"
            )
        z_bound = rha(acc_bound * m, e) * n.max() + int(np.abs(b).max())
        require_signed(f"Z of layer {layer}", z_bound, PRODUCT_WIDTH, "the accumulator")
        got = np.ldexp(multiplier_value(m, e), -h)
        off = np.divide(node, got, out=np.ones_like(node), where=got > 0)
        scaled = np.ldexp(next_real * off, -(g + h))
        m_next, e_next = multiplier(scaled, f"1 / step after layer {layer} x 2^{-(g + h)}")
        integers = (m, e, m_next, e_next, n, np.zeros_like(n), b.astype(np.int64))
        return AggregateFactors(*integers, log2_scale=g + h)

    return _first(attempt, A2_LOSS)
