"""Rounding shift of the contract as gates."""

from amaranth import *

__all__ = ["round_half_away"]


def round_half_away(value: Value, shift: Value) -> Value:
    """Return ``rha(value, shift)``: shift right, round half away from zero.

    For every shift >= 0, ``rha(x, n) = (((2x - [x < 0]) >> n) + 1) >> 1`` with floor shifts: the
    bit below the point is kept, and the 1 subtracted from a negative value turns its ties away from
    zero. So one arithmetic shifter serves all shifts, 0 included.

    Parameters
    ----------
    value : Value, signed
    shift : Value, unsigned

    Returns
    -------
    Value
        Signed, as wide as `value`; a magnitude never grows.

    Raises
    ------
    TypeError
        If `value` is not signed.
    """
    if not value.shape().signed:
        raise TypeError(f"value must be signed, not {value.shape()!r}")
    width = len(value)
    halves = ((value << 1) - (value < 0)) >> shift
    return ((halves + 1) >> 1)[:width].as_signed()
