"""Cycles of `hw.gnn.feature_encoder`."""

from dataclasses import dataclass

import numpy as np

from hw.gnn.config import GnnConfig
from hw.gnn.format import BITMAP_CHUNK

__all__ = ["Encoding", "FeatureEncoderCost"]


@dataclass(frozen=True)
class Encoding:
    """Cycles after the one in which the first word is offered.

    Parameters
    ----------
    taken, gives : ndarray [chunks], int64
        Cycle in which a chunk's last word is taken, and its gives, which follow from the next
        cycle on.
    stalled : int
        Cycles in which a word waits.
    """

    taken: np.ndarray
    gives: np.ndarray
    stalled: int

    @property
    def last(self) -> int:
        """Cycle of the empty give at the very end."""
        return int(self.taken[-1] + self.gives[-1]) + 1


class FeatureEncoderCost:
    """A chunk is written as its bitmap and its codes while the next one is collected."""

    def __init__(self, config: GnnConfig) -> None:
        self._lanes = config.aggregation.lanes

    def cycles(self, columns: int, widths: np.ndarray, nonzero: np.ndarray) -> Encoding:
        """Return when chunks are taken: a[c] = a[c-1] + max(gives of c-1, words of c).

        Parameters
        ----------
        columns : int
        widths : ndarray [rows], int64
            Magnitude width of each row; a row of width 0 gives nothing.
        nonzero : ndarray [rows, chunks], int64
            Codes of each chunk that are not 0.

        >>> encoder = FeatureEncoderCost(GnnConfig())
        >>> encoder.cycles(20, np.array([2]), np.array([[9, 4]])).taken
        array([ 3, 13])
        """
        full = BITMAP_CHUNK // self._lanes
        words = np.full(nonzero.shape[1], full)
        words[-1] = -(-columns // self._lanes) - full * (len(words) - 1)
        words = np.tile(words, len(widths))
        gives = np.where(widths[:, None] > 0, 1 + nonzero, 0).ravel()
        steps = np.maximum(gives[:-1], words[1:])
        taken = words[0] - 1 + np.concatenate(([0], np.cumsum(steps)))
        return Encoding(taken, gives, int((steps - words[1:]).sum()))
