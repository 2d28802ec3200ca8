"""Steps of `hw.gnn.feature_decoder`."""

import numpy as np

from hw.gnn.format import BITMAP_CHUNK, Format

__all__ = ["FeatureDecoderCost"]


class FeatureDecoderCost:
    """One step a cycle: a value, a chunk's bitmap, or the end of a row that stores nothing."""

    def __init__(self, layout: int, reduction: int) -> None:
        self._bitmap = layout == Format.BITMAP
        self.chunks = -(-reduction // BITMAP_CHUNK)

    def stores(self, width: np.ndarray, count: np.ndarray) -> np.ndarray:
        """Return whether a row stores anything, so that decoding it needs bits from memory."""
        return (width > 0) & ((count > 0) | self._bitmap)

    def cycles(self, width: np.ndarray, count: np.ndarray) -> np.ndarray:
        """Return the steps of each row.

        Parameters
        ----------
        width, count : ndarray [rows], int64
            Magnitude width, and values that are not 0.

        >>> FeatureDecoderCost(Format.BITMAP, 20).cycles(np.array([0, 1, 2]), np.array([0, 0, 3]))
        array([1, 2, 5])
        >>> FeatureDecoderCost(Format.INDEX, 20).cycles(np.array([0, 1, 2]), np.array([0, 0, 3]))
        array([1, 1, 3])
        """
        if self._bitmap:
            return np.where(width > 0, self.chunks + count, 1)
        return np.maximum(count, 1)
