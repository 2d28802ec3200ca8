"""What the engine writes to memory: feature segments, q rows, logits."""

import numpy as np
from numpy.typing import NDArray

from hw.gnn.format import BITMAP_CHUNK

__all__ = ["bitmap_stream", "put_bits", "q_row_bytes"]

Integers = NDArray[np.int64]


def put_bits(
    offsets: Integers, values: Integers, widths: Integers, total: int
) -> NDArray[np.uint8]:
    """Return `total` bits, in whole bytes, with each value at its bit offset.

    Values have at most 32 bits, do not overlap and fit their widths.

    Examples
    --------
    >>> put_bits(np.array([0, 4]), np.array([4, 0x23]), np.array([4, 8]), 12).tolist()
    [52, 2]
    """
    words = np.zeros(total // 64 + 2, np.uint64)
    value, at = values.astype(np.uint64), (offsets & 63).astype(np.uint64)
    np.bitwise_or.at(words, offsets >> 6, value << at)
    spill = (offsets & 63) + widths > 64
    np.bitwise_or.at(words, (offsets[spill] >> 6) + 1, value[spill] >> (np.uint64(64) - at[spill]))
    return words.view(np.uint8)[: -(-total // 8)].copy()


def bitmap_stream(codes: Integers, width: Integers, *, signed: bool) -> NDArray[np.uint8]:
    """Return the bit stream of a feature segment in BITMAP format, in whole bytes.

    Parameters
    ----------
    codes : ndarray [rows, columns], int64
    width : ndarray [rows], int64
        Magnitude bits; a row of width 0 stores nothing.
    signed : bool
        Whether a sign bit stands above the magnitude.

    Examples
    --------
    Codes 1 and 3 of two bits at columns 0 and 2: the bitmap 5, then 01 and 11, lowest first:

    >>> bitmap_stream(np.array([[1, 0, 3]]), np.array([2]), signed=False).tolist()
    [5, 0, 13]
    """
    kept = width > 0
    chunks = -(-codes.shape[1] // BITMAP_CHUNK)
    padded = np.zeros((kept.sum(), chunks * BITMAP_CHUNK), np.int64)
    padded[:, : codes.shape[1]] = codes[kept]
    cells = padded.reshape(-1, BITMAP_CHUNK)
    magnitude_width = np.repeat(width[kept], chunks)
    stored = magnitude_width + signed
    present = cells != 0
    length = BITMAP_CHUNK + stored * present.sum(axis=1)
    begin = np.cumsum(length) - length
    chunk, bit = np.nonzero(present)
    rank = (np.cumsum(present, axis=1) - 1)[chunk, bit]
    value = cells[chunk, bit]
    code = np.abs(value) | (value < 0).astype(np.int64) << magnitude_width[chunk]
    bitmap = (present << np.arange(BITMAP_CHUNK)).sum(axis=1)
    return put_bits(
        np.concatenate((begin, begin[chunk] + BITMAP_CHUNK + rank * stored[chunk])),
        np.concatenate((bitmap, code)),
        np.concatenate((np.full(len(begin), BITMAP_CHUNK), stored[chunk])),
        int(length.sum()),
    )


def q_row_bytes(q: Integers, row_bytes: int) -> NDArray[np.uint8]:
    """Return q rows as they stand in memory, `row_bytes` a row.

    Examples
    --------
    >>> q_row_bytes(np.array([[1, -1, 7]]), 4).tolist()
    [[241, 7, 0, 0]]
    """
    nibbles = np.zeros((len(q), 2 * row_bytes), np.uint8)
    nibbles[:, : q.shape[1]] = q & 15
    return nibbles[:, 0::2] | np.left_shift(nibbles[:, 1::2], 4, dtype=np.uint8)
