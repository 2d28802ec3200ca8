"""Arrays of payloads: from the fields of an Amaranth layout to packed words and back, vectorised.

A payload of any width is a row of 32-bit words, lowest bits first: ``words : ndarray [n, W],
uint32`` with W = ceil(width / 32), as a Verilated model keeps it. As values it is an element of an
array whose dtype follows the layout: a struct is a structured dtype, an array a subarray, a field
of up to 64 bits the integer that holds it, a wider one a row of words of its own.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from amaranth.hdl import Shape
from amaranth.lib import data
from numpy.typing import NDArray

__all__ = ["Leaf", "leaves", "pack", "unpack", "value_dtype", "word_count", "zeros"]

WORD = 32
"""Bits of a word."""

Words = NDArray[np.uint32]


@dataclass(frozen=True)
class Leaf:
    """A field that is an integer: the keys that lead to it, its place and its shape."""

    path: tuple[str | int, ...]
    offset: int
    width: int
    signed: bool

    @property
    def name(self) -> str:
        """The path as it is written in code."""
        return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in self.path)


def word_count(width: int) -> int:
    """Return the words of a payload of `width` bits.

    >>> [word_count(width) for width in (1, 32, 33)]
    [1, 1, 2]
    """
    return -(-width // WORD)


def leaves(shape: Any, offset: int = 0, path: tuple[str | int, ...] = ()) -> Iterator[Leaf]:
    """Yield the integers of which a layout (or a plain shape: itself) is made, lowest first."""
    layout = _layout(shape)
    if layout is None:
        plain = Shape.cast(shape)
        yield Leaf(path, offset, plain.width, plain.signed)
        return
    for key, field in layout:
        yield from leaves(field.shape, offset + field.offset, (*path, key))


def value_dtype(shape: Any) -> np.dtype[Any]:
    """Return the dtype of a payload's values.

    >>> value_dtype(data.StructLayout({"valid": 1, "code": data.ArrayLayout(Shape(9, True), 2)}))
    dtype([('valid', 'u1'), ('code', '<i2', (2,))])
    """
    layout = _layout(shape)
    if layout is None:
        plain = Shape.cast(shape)
        if plain.width > 64:
            return np.dtype((np.uint32, (word_count(plain.width),)))
        size = next(size for size in (1, 2, 4, 8) if plain.width <= 8 * size)
        return np.dtype(f"<{'i' if plain.signed else 'u'}{size}")
    if isinstance(layout, data.ArrayLayout):
        return np.dtype((value_dtype(layout.elem_shape), (layout.length,)))
    return np.dtype([(str(key), value_dtype(field.shape)) for key, field in layout])


def zeros(shape: Any, count: int) -> NDArray[Any]:
    """Return `count` payloads of zeros, to be filled field by field.

    >>> zeros(data.StructLayout({"row": 3, "code": data.ArrayLayout(9, 2)}), 4)["code"].shape
    (4, 2)
    """
    return np.zeros(count, value_dtype(shape))


def pack(shape: Any, values: Any, name: str = "payload") -> Words:
    """Return the words of payloads that are given as values.

    Parameters
    ----------
    shape : ShapeLike
        Layout of the payload, or a plain shape.
    values : array_like [n]
        Of `value_dtype(shape)`, or a mapping from field to array_like [n, ...]; of a plain shape
        integers of any dtype.
    name : str
        Used in messages.

    Returns
    -------
    ndarray [n, W], uint32

    Raises
    ------
    ValueError
        If a value does not fit its field.

    Examples
    --------
    >>> layout = data.StructLayout({"last": 1, "code": Shape(9, True), "tag": 30})
    >>> pack(layout, {"last": [1, 0], "code": [-1, 5], "tag": [0, 1 << 29]}).tolist()
    [[1023, 0], [10, 128]]
    """
    count = _count(values)
    words = np.zeros((count, word_count(Shape.cast(shape).width)), np.uint32)
    for leaf in leaves(shape):
        column = _column(values, leaf)
        if leaf.width > 64:
            _put_wide(words, leaf, column, name)
        else:
            _put(words, leaf.offset, leaf.width, _checked(column, leaf, name))
    return words


def unpack(shape: Any, words: Words) -> NDArray[Any]:
    """Return the values of packed payloads, the inverse of `pack`.

    >>> layout = data.StructLayout({"last": 1, "code": Shape(9, True), "tag": 30})
    >>> unpack(layout, np.array([[1023, 0], [10, 128]], np.uint32)).tolist()
    [(1, -1, 0), (0, 5, 536870912)]
    """
    values = zeros(shape, len(words))
    for leaf in leaves(shape):
        column = _column(values, leaf)
        if leaf.width > 64:
            for at, word in enumerate(range(0, leaf.width, WORD)):
                width = min(WORD, leaf.width - word)
                column[:, at] = _get(words, leaf.offset + word, width)
        else:
            bits = _get(words, leaf.offset, leaf.width)
            unused = np.uint64(64 - leaf.width)
            high = bits << unused if leaf.width else bits
            column[...] = high.view(np.int64) >> unused.view(np.int64) if leaf.signed else bits
    return values


def _layout(shape: Any) -> data.Layout | None:
    try:
        return data.Layout.cast(shape)
    except TypeError:
        return None


def _count(values: Any) -> int:
    while isinstance(values, dict):
        values = next(iter(values.values()))
    return len(values)


def _column(values: Any, leaf: Leaf) -> NDArray[Any]:
    """Return the view of one field of all payloads; array indices come behind the payload's."""
    for key in leaf.path:
        if isinstance(key, int) and not isinstance(values, dict):
            values = np.asarray(values)[:, key]
        else:
            values = values[key]
    return np.asarray(values)


def _checked(column: NDArray[Any], leaf: Leaf, name: str) -> NDArray[np.uint64]:
    """Return the field's bits; a boolean is a bit."""
    if column.dtype.kind not in "iub":
        raise TypeError(f"{name}{leaf.name} must be integers, not {column.dtype}")
    low = -(1 << leaf.width - 1) if leaf.signed else 0
    high = low + (1 << leaf.width) - 1
    if column.size:
        for worst in (int(column.min()), int(column.max())):
            if not low <= worst <= high:
                raise ValueError(f"{name}{leaf.name} must be in {low}..{high}, not {worst}")
    bits = column.astype(np.int64).view(np.uint64) if leaf.signed else column.astype(np.uint64)
    return bits & np.uint64((1 << leaf.width) - 1)


def _put_wide(words: Words, leaf: Leaf, column: NDArray[Any], name: str) -> None:
    for at, word in enumerate(range(0, leaf.width, WORD)):
        width = min(WORD, leaf.width - word)
        part = Leaf((*leaf.path, at), 0, width, False)
        _put(words, leaf.offset + word, width, _checked(column[:, at], part, name))


def _put(words: Words, offset: int, width: int, bits: NDArray[np.uint64]) -> None:
    first, shift = divmod(offset, WORD)
    for at in range(first, word_count(offset + width)):
        moved = WORD * (at - first) - shift
        part = bits << np.uint64(-moved) if moved <= 0 else bits >> np.uint64(moved)
        words[:, at] |= part.astype(np.uint32)


def _get(words: Words, offset: int, width: int) -> NDArray[np.uint64]:
    first, shift = divmod(offset, WORD)
    bits = np.zeros(len(words), np.uint64)
    for at in range(first, word_count(offset + width)):
        moved = WORD * (at - first) - shift
        part = words[:, at].astype(np.uint64)
        bits |= part >> np.uint64(-moved) if moved <= 0 else part << np.uint64(moved)
    return bits & np.uint64((1 << width) - 1)
