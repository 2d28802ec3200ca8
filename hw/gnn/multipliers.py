"""Real scales of a layer as the integers of C2 and A2 (contract, section 1).

Both steps have a node factor and a column factor. A power of two is moved from one to the other:
the more of it the node factor keeps, the more fraction bits stand between the two roundings. The
largest that all words hold is taken, so the rounding between the steps costs next to nothing and
what is left is the mantissas' own error, at most 2^-12 each and 2^-13.5 on average.

- C2: ``m_u ~ c_u * s_u * 2^h``, ``n_j ~ beta_j / alpha_j * 2^-h``;
- A2: ``m'_v ~ c_v * 2^h``, ``n'_j ~ alpha_j * 2^g`` (s16), ``b_j ~ bias_j * 2^(g+h)``, so Z has the
  scale 2^-(g+h), and ``m''_v ~ 2^-(g+h) / s'_v``.

with s the steps of the features, beta of the weights, alpha of the 4-bit operand, c the
normalisation.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hw.gnn.ranges import require_signed
from quant.rounding import half_away, multiplier, rha

__all__ = ["AggregateFactors", "CombineFactors", "aggregate_factors", "combine_factors"]

Integers = NDArray[np.int64]
Reals = NDArray[np.float64]

PRODUCT_WIDTH = 48
"""Bits of the products of C2 and of Z."""

N_MAX = (1 << 15) - 1
"""Largest n' (s16)."""

B_MAX = (1 << 31) - 1
"""Largest bias (s32)."""


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


def _largest(attempt: Callable[[int], Factors], start: int, tries: int = 48) -> Factors:
    """Return ``attempt(h)`` of the largest h from `start` downwards that is not refused."""
    refusal: ValueError | None = None
    for h in range(start, start - tries, -1):
        try:
            return attempt(h)
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

    def attempt(h: int) -> CombineFactors:
        m, e = multiplier(np.ldexp(node, h), f"node factor of layer {layer} x 2^{h}")
        n, f = multiplier(np.ldexp(column, -h), f"column factor of layer {layer} x 2^{-h}")
        where, rule = f"of layer {layer}", "the 48-bit product"
        require_signed(f"P x m {where}", psum_bound * m, PRODUCT_WIDTH, rule)
        top = rha(psum_bound * m, e)
        require_signed(f"P x m x n {where}", top * n.max(initial=0), PRODUCT_WIDTH, rule)
        return CombineFactors(m, e, n, f)

    return _largest(attempt, _exponent(node))


def _column_scale(alpha: Reals, layer: int) -> tuple[Integers, int]:
    """Return n' and g: alpha times 2^g, the largest that s16 holds."""
    g = 15 - int(np.frexp(alpha.max())[1])
    n = half_away(np.ldexp(alpha, g))
    if n.max() > N_MAX:
        g -= 1
        n = half_away(np.ldexp(alpha, g))
    if not n.all():
        j = int(n.argmin())
        raise ValueError(
            f"step of column {j} of layer {layer} must be at least 2^-16 of the largest "
            f"({alpha.max():g}), not {alpha[j]:g}"
        )
    return n.astype(np.int64), g


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
    n, g = _column_scale(alpha, layer)
    next_real = np.zeros_like(node) if next_step is None else 1.0 / next_step

    def attempt(h: int) -> AggregateFactors:
        m, e = multiplier(np.ldexp(node, h), f"c of layer {layer} x 2^{h}")
        b = half_away(np.ldexp(bias, g + h))
        if np.abs(b).max() > B_MAX:
            raise ValueError(
                f"bias of layer {layer} must be below {B_MAX * 2.0 ** -(g + h):g} "
                f"(32 bits in the scale of Z), not {np.abs(bias).max():g}"
            )
        z_bound = rha(acc_bound * m, e) * n.max() + int(np.abs(b).max())
        require_signed(f"Z of layer {layer}", z_bound, PRODUCT_WIDTH, "the accumulator")
        scaled = np.ldexp(next_real, -(g + h))
        m_next, e_next = multiplier(scaled, f"1 / step after layer {layer} x 2^{-(g + h)}")
        integers = (m, e, m_next, e_next, n, np.zeros_like(n), b.astype(np.int64))
        return AggregateFactors(*integers, log2_scale=g + h)

    return _largest(attempt, _exponent(node))
