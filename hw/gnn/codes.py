"""Non-zero feature codes of a layer's input and the two formats in which they are stored."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hw.gnn.format import BITMAP_CHUNK
from hw.gnn.image import Bytes, pack_fields

__all__ = ["Codes", "bitmap_segment", "index_segment"]

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Codes:
    """Non-zero codes by row, then by index.

    Parameters
    ----------
    row, index, value : ndarray [values], int64
    width : ndarray [rows], int64
        Magnitude bits of each row; a row of width 0 has no values.
    signed : bool
        Whether a sign bit stands above the magnitude.
    reduction : int
        Features of a row.
    """

    row: Integers
    index: Integers
    value: Integers
    width: Integers
    signed: bool
    reduction: int

    @classmethod
    def from_matrix(
        cls, matrix: csr_array, width: Integers, *, signed: bool, reduction: int
    ) -> Self:
        """Read the codes out of a sparse matrix [rows, reduction] without stored zeros."""
        counts = np.diff(matrix.indptr)
        row = np.repeat(np.arange(len(counts)), counts)
        index, value = matrix.indices.astype(np.int64), matrix.data.astype(np.int64)
        return cls(row, index, value, width, signed, reduction)._sorted()

    def renumbered(self, row_of: Integers) -> Self:
        """Return the same codes where each row r is row ``row_of[r]``."""
        width = np.empty_like(self.width)
        width[row_of] = self.width
        row = row_of[self.row]
        codes = type(self)(row, self.index, self.value, width, self.signed, self.reduction)
        return codes._sorted()

    def _sorted(self) -> Self:
        order = np.lexsort((self.index, self.row))
        fields = (self.row[order], self.index[order], self.value[order])
        return type(self)(*fields, self.width, self.signed, self.reduction)

    @property
    def count(self) -> Integers:
        """Values of each row."""
        return np.bincount(self.row, minlength=len(self.width))

    @property
    def stored(self) -> Integers:
        """Bits of each value."""
        return self.width[self.row] + self.signed

    @property
    def word(self) -> Integers:
        """Each value as magnitude with the sign above."""
        return np.abs(self.value) | (self.value < 0).astype(np.int64) << self.width[self.row]


def index_segment(codes: Codes, index_width: int, lanes: int) -> tuple[Bytes, int]:
    """Return the index lists of all rows and their bits.

    The values of a row stand in the order that fills all lanes of the array: first each lane's
    first value, then each lane's second, so that a row takes as few groups as it can.
    """
    lane = codes.index % lanes
    by_lane = np.lexsort((codes.index, lane, codes.row))
    run = codes.row[by_lane] * lanes + lane[by_lane]
    rank = np.empty(len(run), np.int64)
    rank[by_lane] = np.arange(len(run)) - np.searchsorted(run, run)
    order = np.lexsort((lane, rank, codes.row))
    values = np.stack((codes.index, codes.word), axis=1)[order]
    widths = np.stack((np.full(len(order), index_width), codes.stored), axis=1)[order]
    return pack_fields(values.reshape(-1), widths.reshape(-1)), int(widths.sum())


def bitmap_segment(codes: Codes) -> tuple[Bytes, int]:
    """Return the bitmaps and codes of all rows and their bits."""
    chunks = -(-codes.reduction // BITMAP_CHUNK)
    chunk = codes.row * chunks + codes.index // BITMAP_CHUNK
    bitmap = np.zeros(len(codes.width) * chunks, np.int64)
    np.add.at(bitmap, chunk, np.int64(1) << codes.index % BITMAP_CHUNK)
    kept = np.flatnonzero(np.repeat(codes.width > 0, chunks))
    order = np.argsort(np.concatenate((kept, chunk)), kind="stable")
    values = np.concatenate((bitmap[kept], codes.word))[order]
    widths = np.concatenate((np.full(len(kept), BITMAP_CHUNK), codes.stored))[order]
    return pack_fields(values, widths), int(widths.sum())
