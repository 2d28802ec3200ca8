"""Rounding half away from zero, and the multiplier that stands for a real factor.

Every rounding of the project is one of these functions: `half_away` on real numbers (training,
float models), `rha` on integers (golden models; the gates do the same), `multiplier` where a
lowering turns a real factor into integers.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "MANTISSA_WIDTH",
    "SHIFT_MAX",
    "check_signed",
    "clip_magnitude",
    "half_away",
    "multiplier",
    "multiplier_value",
    "rha",
]

MANTISSA_WIDTH = 12
"""Bits of a multiplier's mantissa: 2048..4095, or 0 for the factor 0."""

SHIFT_MAX = 63
"""Largest shift of a multiplier (u6)."""


def half_away(x: ArrayLike) -> NDArray[np.float64]:
    """Round real numbers to whole ones, ``sign(x) * floor(|x| + 1/2)``, without its one flaw.

    The sum ``|x| + 1/2`` itself rounds for the largest number below 1/2; the fraction of `x` is
    exact, so it is compared instead.

    Parameters
    ----------
    x : array_like, float

    Returns
    -------
    ndarray, float64
        Whole numbers; ties go away from zero.

    Examples
    --------
    >>> half_away([-2.5, -0.5, 0.49999999999999994, 0.5, 1.5]).tolist()
    [-3.0, -1.0, 0.0, 1.0, 2.0]
    """
    magnitude = np.abs(np.asarray(x, np.float64))
    whole = np.floor(magnitude)
    return np.copysign(whole + (magnitude - whole >= 0.5), x) + 0.0


def rha(x: ArrayLike, n: ArrayLike) -> NDArray[np.int64]:
    """Shift right by `n`, rounding half away from zero: ``sign(x) * ((|x| + 2^(n-1)) >> n)``.

    Exact for every int64: the magnitude is unsigned, at most 2^63, and 2^(n-1) at most 2^62.

    Parameters
    ----------
    x : array_like, int64
    n : array_like, int
        Shift, 0..63; 0 leaves `x` as it is. Broadcast against `x`.

    Returns
    -------
    ndarray, int64

    Raises
    ------
    TypeError
        If `x` or `n` are not integers.
    ValueError
        If a shift is outside 0..63, or an unsigned `x` does not fit int64.

    Examples
    --------
    Ties of both signs, and no shift:

    >>> rha([5, -5, 6, -6, 7], [1, 1, 2, 2, 0]).tolist()
    [3, -3, 2, -2, 7]
    """
    value, shift = np.asarray(x), np.asarray(n)
    for name, array in (("x", value), ("n", shift)):
        if array.size and array.dtype.kind not in "iu":
            raise TypeError(f"{name} must be integers, not {array.dtype}")
    if shift.size and (shift.min() < 0 or shift.max() > SHIFT_MAX):
        raise ValueError(f"n must be in 0..{SHIFT_MAX}, not {shift.min()}..{shift.max()}")
    if value.dtype == np.uint64 and value.size and value.max() > np.iinfo(np.int64).max:
        raise ValueError(f"x must fit int64, not {value.max()}")
    value, shift = np.broadcast_arrays(value.astype(np.int64), shift.astype(np.uint64))
    flat, n_flat = value.reshape(-1), shift.reshape(-1)  # arrays wrap silently, scalars warn
    bits = flat.astype(np.uint64)
    magnitude = np.where(flat < 0, np.invert(bits) + np.uint64(1), bits)
    half = np.where(n_flat > 0, np.uint64(1) << np.maximum(n_flat, 1) - np.uint64(1), 0)
    rounded = ((magnitude + half.astype(np.uint64)) >> n_flat).view(np.int64)
    return np.where(flat < 0, -rounded, rounded).reshape(value.shape)


def clip_magnitude(x: ArrayLike, limit: ArrayLike) -> NDArray[np.int64]:
    """Saturate at ``-limit..limit``, the symmetric clip of all signed codes.

    Examples
    --------
    >>> clip_magnitude([-9, -7, 8], 7).tolist()
    [-7, -7, 7]
    """
    bound = np.asarray(limit, np.int64)
    return np.clip(np.asarray(x, np.int64), -bound, bound)


def check_signed(name: str, x: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    """Return `x` if all its values fit `width` bits of two's complement.

    Raises
    ------
    ValueError
        If one does not.

    Examples
    --------
    >>> check_signed("acc", np.array([7, 8]), 4)
    Traceback (most recent call last):
        ...
    ValueError: acc must be in -8..7 (4 bits), not 8
    """
    low, high = -(1 << width - 1), (1 << width - 1) - 1
    if x.size and not (low <= x.min() and x.max() <= high):
        worst = x.min() if x.min() < low else x.max()
        raise ValueError(f"{name} must be in {low}..{high} ({width} bits), not {worst}")
    return x


def multiplier(
    real: ArrayLike, name: str = "real", *, shift_max: int = SHIFT_MAX
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return mantissa and shift of ``real ~ mantissa * 2^-shift``, the nearest there is.

    The relative error is at most 2^-12 (half a unit of a mantissa of 2048).

    Parameters
    ----------
    real : array_like, float
        Finite and not negative; 0 gives (0, 0).
    name : str
        Used in messages.
    shift_max : int
        Largest shift that the caller's word holds.

    Returns
    -------
    mantissa : ndarray, int64
        2048..4095, or 0.
    shift : ndarray, int64
        0..shift_max.

    Raises
    ------
    ValueError
        If a value is negative, not finite, or outside what the words hold.

    Examples
    --------
    A mantissa that rounds up to 4096 becomes 2048 with one shift less:

    >>> [a.tolist() for a in multiplier([1.0, 0.75, 0.99999, 0.0])]
    [[2048, 3072, 2048, 0], [11, 12, 11, 0]]
    """
    value = np.asarray(real, np.float64)
    wrong = ~(np.isfinite(value) & (value >= 0))
    if wrong.any():
        raise ValueError(f"{name} must be finite and not negative, not {value[wrong][0]:g}")
    fraction, exponent = np.frexp(value)
    top = 1 << MANTISSA_WIDTH
    mantissa = half_away(fraction * top).astype(np.int64)
    shift = MANTISSA_WIDTH - exponent.astype(np.int64)
    carry = mantissa == top
    mantissa, shift = np.where(carry, top // 2, mantissa), np.where(carry, shift - 1, shift)
    shift = np.where(mantissa == 0, 0, shift)
    bad = (shift < 0) | (shift > shift_max)
    if bad.any():
        raise ValueError(
            f"{name} must be 0 or in 2^{MANTISSA_WIDTH - 1 - shift_max}..{top - 1} "
            f"(shift in 0..{shift_max}), not {value[bad][0]:g}"
        )
    return mantissa, shift


def multiplier_value(mantissa: ArrayLike, shift: ArrayLike) -> NDArray[np.float64]:
    """Return the real number that a multiplier stands for, ``mantissa * 2^-shift``, exactly.

    Examples
    --------
    >>> multiplier_value(3072, 12).item()
    0.75
    """
    return np.ldexp(np.asarray(mantissa, np.float64), -np.asarray(shift, np.int64))
