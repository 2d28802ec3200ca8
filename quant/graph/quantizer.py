"""Quantizers: from real numbers to integer codes, exactly as QONNX's `Quant` defines them.

`code = clip(round(x / scale + zero_point), low, high)`, `value = (code - zero_point) * scale`.
Two limits differ from the executor of QONNX 1.0.0, which takes scalar widths only: here a width may
be an array (one per channel, or one per graph node), and a signed width of 1 in such an array has
the range that the formula gives, which is 0 only (a graph node without magnitude bits), not -1
and 1. A scalar signed width of 1 is refused, since the two would disagree.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import overload

import numpy as np
from scipy import sparse

from ..rounding import half_away

__all__ = [
    "MAX_WIDTH",
    "Quantizer",
    "Rounding",
    "at_stored_values",
    "dequantize",
    "dimensions",
    "quantize",
    "round_to_integer",
]

MAX_WIDTH = 8


class Rounding(StrEnum):
    """The rounding modes of QONNX; `ROUND` and `HALF_EVEN` are one."""

    ROUND = "ROUND"
    HALF_EVEN = "HALF_EVEN"
    CEIL = "CEIL"
    FLOOR = "FLOOR"
    UP = "UP"
    DOWN = "DOWN"
    HALF_UP = "HALF_UP"
    HALF_DOWN = "HALF_DOWN"


def _half_toward(x: np.ndarray) -> np.ndarray:
    """Round to nearest, ties toward zero."""
    whole = np.floor(np.abs(x))
    return np.copysign(whole + (np.abs(x) - whole > 0.5), x)


def _away(x: np.ndarray) -> np.ndarray:
    """Round away from zero."""
    return np.copysign(np.ceil(np.abs(x)), x)


ROUND: dict[Rounding, Callable[[np.ndarray], np.ndarray]] = {
    Rounding.ROUND: np.rint,
    Rounding.HALF_EVEN: np.rint,
    Rounding.CEIL: np.ceil,
    Rounding.FLOOR: np.floor,
    Rounding.UP: _away,
    Rounding.DOWN: np.trunc,
    Rounding.HALF_UP: half_away,
    Rounding.HALF_DOWN: _half_toward,
}


def round_to_integer(x: np.ndarray, rounding: Rounding = Rounding.HALF_UP) -> np.ndarray:
    """Round float64 values to integers, still as float64.

    >>> round_to_integer(np.array([2.5, -2.5, 0.49999999999999994]))
    array([ 3., -3.,  0.])
    """
    return ROUND[rounding](np.asarray(x, np.float64)) + 0.0


@dataclass(frozen=True, eq=False)
class Quantizer:
    """Scale, zero point, width and signedness of a tensor's codes.

    Parameters
    ----------
    scale : ndarray, float64
        Shape () per tensor, (1, C) per channel, (N, 1) per graph node; positive and finite.
    width : ndarray, int64
        Bits of a code, its sign included, 0 to 8; shaped like `scale` or any of these forms.
    zero_point : ndarray, int64
    signed, narrow : bool
        `narrow` drops the lowest signed code (-8 at 4 bits), or the highest unsigned one.
    rounding : Rounding

    Raises
    ------
    ValueError
        If a value is out of range; the message names field, place and value.
    """

    scale: np.ndarray
    width: np.ndarray
    zero_point: np.ndarray
    signed: bool
    narrow: bool
    rounding: Rounding = Rounding.HALF_UP

    def __post_init__(self) -> None:
        """Convert and check the fields."""
        scale = np.asarray(self.scale, np.float64)
        _refuse("scale", scale, ~np.isfinite(scale) | (scale <= 0), "finite and positive")
        width = np.asarray(self.width)
        lowest = int(self.signed or self.narrow)
        good = (width == np.rint(width)) & (width >= lowest) & (width <= MAX_WIDTH)
        kind = "signed" if self.signed else "narrow unsigned" if self.narrow else "unsigned"
        _refuse("width", width, ~good, f"an integer from {lowest} to {MAX_WIDTH} ({kind})")
        if self.signed and width.ndim == 0 and width == 1:
            raise ValueError("width must not be 1 for a signed tensor: QONNX reads it as -1 and 1")
        zero_point = np.asarray(self.zero_point)
        _refuse("zero_point", zero_point, zero_point != np.rint(zero_point), "an integer")
        object.__setattr__(self, "scale", scale)
        object.__setattr__(self, "width", width.astype(np.int64))
        object.__setattr__(self, "zero_point", zero_point.astype(np.int64))
        object.__setattr__(self, "rounding", Rounding(self.rounding))

    def range(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the lowest and the highest code, shaped like `width`.

        >>> width = np.array([[1], [4]])
        >>> low, high = Quantizer(np.array(0.1), width, np.array(0), True, True).range()
        >>> low.ravel(), high.ravel()
        (array([ 0, -7]), array([0, 7]))
        """
        if self.signed:
            high = (np.int64(1) << (self.width - 1)) - 1
            return (-high if self.narrow else -high - 1), high
        high = (np.int64(1) << self.width) - 1 - int(self.narrow)
        return np.zeros_like(self.width), high

    def magnitude_width(self) -> np.ndarray:
        """Return the bits of a code without its sign: what a bit-serial unit takes cycles for."""
        return self.width - int(self.signed)

    def __eq__(self, other: object) -> bool:
        """Whether all fields are the same, shapes included."""
        if not isinstance(other, Quantizer):
            return NotImplemented
        if (self.signed, self.narrow, self.rounding) != (
            other.signed,
            other.narrow,
            other.rounding,
        ):
            return False
        pairs = ((getattr(self, n), getattr(other, n)) for n in ("scale", "width", "zero_point"))
        return all(a.shape == b.shape and np.array_equal(a, b) for a, b in pairs)


def _refuse(field: str, values: np.ndarray, bad: np.ndarray, rule: str) -> None:
    """Raise for the first value where `bad` is set."""
    if not np.any(bad):
        return
    where = np.argwhere(bad)[0].tolist()
    place = f"{field}{where}" if where else field
    raise ValueError(f"{place} must be {rule}, not {values[tuple(where)]}")


@overload
def quantize(x: np.ndarray, quantizer: Quantizer) -> np.ndarray: ...
@overload
def quantize(x: sparse.csr_array, quantizer: Quantizer) -> sparse.csr_array: ...
def quantize(x: np.ndarray | sparse.csr_array, quantizer: Quantizer):
    """Turn real numbers into codes: `clip(round(x / scale + zero_point), low, high)`.

    Parameters
    ----------
    x : ndarray or csr_array
        A sparse array needs a zero point of 0.
    quantizer : Quantizer

    Returns
    -------
    ndarray or csr_array, int64
        The codes. A sparse result stores no zeros.

    >>> step = Quantizer(np.array(0.1), np.array(3), np.array(0), True, True)
    >>> quantize(np.array([-1, -0.01, 0.25, 0.5]), step)
    array([-3,  0,  3,  3])
    """
    if not isinstance(x, sparse.csr_array):
        low, high = quantizer.range()
        parts = (quantizer.scale, quantizer.zero_point, low, high)
        return _codes(np.asarray(x), *parts, quantizer.rounding)
    if np.any(quantizer.zero_point):
        raise ValueError("zero_point must be 0 for a sparse tensor")
    low, high = quantizer.range()
    scale, low, high = (at_stored_values(part, x) for part in (quantizer.scale, low, high))
    codes = _codes(x.data, scale, np.int64(0), low, high, quantizer.rounding)
    result = sparse.csr_array((codes, x.indices, x.indptr), shape=x.shape, copy=True)
    result.eliminate_zeros()
    return result


def _codes(
    x: np.ndarray,
    scale: np.ndarray,
    zero_point: np.ndarray | np.int64,
    low: np.ndarray,
    high: np.ndarray,
    rounding: Rounding,
) -> np.ndarray:
    """Round and clip dense values."""
    scaled = round_to_integer(np.asarray(x, np.float64) / scale + zero_point, rounding)
    return np.clip(scaled, low, high).astype(np.int64)


def dimensions(x: np.ndarray | sparse.csr_array) -> tuple[int, int]:
    """Return rows and columns of a matrix."""
    shape = x.shape
    assert shape is not None
    return int(shape[0]), int(shape[1])


def at_stored_values(part: np.ndarray, x: sparse.csr_array) -> np.ndarray:
    """Return `part`, which broadcasts to `x`, at each stored value of `x`."""
    stored = x.tocoo()
    return np.broadcast_to(part, dimensions(x))[stored.row, stored.col]


@overload
def dequantize(codes: np.ndarray, quantizer: Quantizer) -> np.ndarray: ...
@overload
def dequantize(codes: sparse.csr_array, quantizer: Quantizer) -> sparse.csr_array: ...
def dequantize(codes: np.ndarray | sparse.csr_array, quantizer: Quantizer):
    """Turn codes into the float64 values that they stand for: `(code - zero_point) * scale`."""
    if isinstance(codes, sparse.csr_array):
        values = codes.data * at_stored_values(quantizer.scale, codes)
        return sparse.csr_array((values, codes.indices, codes.indptr), shape=codes.shape)
    return (codes - quantizer.zero_point) * quantizer.scale
