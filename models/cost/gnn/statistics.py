"""Statistics of (graph, partition, widths, values): computed once, then priced for any config.

A row's time and events depend on its magnitude width, on how many non-zero values it has, and on
how those values fall into the weight banks. The hidden layers' values are known only after
execution, so the statistics are made from the codes that the golden model found.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

__all__ = ["LayerStatistics", "group_counts", "layer_statistics"]


@dataclass(frozen=True)
class LayerStatistics:
    """One layer's input features, row by row.

    Parameters
    ----------
    widths : ndarray [rows], int64
        Magnitude width B of each row.
    values : ndarray [rows], int64
        Non-zero values of each row.
    groups : ndarray [rows], int64
        Groups that the values form at `lanes` banks; 0 for a row without values.
    lanes : int
        Banks for which `groups` holds.
    """

    widths: np.ndarray
    values: np.ndarray
    groups: np.ndarray
    lanes: int


def group_counts(indptr: np.ndarray, indices: np.ndarray, lanes: int) -> np.ndarray:
    """Return how many groups each row forms when values are taken in order.

    A value k needs bank k mod lanes; a group closes when the bank of the next value is taken.

    Parameters
    ----------
    indptr : ndarray [rows + 1], int64
    indices : ndarray [values], int64
        Feature index of each value, in the order in which the decoder yields them.
    lanes : int

    >>> group_counts(np.array([0, 4, 4]), np.array([0, 1, 3, 2]), 2)
    array([2, 0])
    """
    counts = np.diff(indptr)
    taken = np.zeros((len(counts), lanes), bool)
    groups = (counts > 0).astype(np.int64)
    order = np.argsort(-counts, kind="stable")
    falling = -counts[order]
    for step in range(int(counts.max(initial=0))):
        rows = order[: np.searchsorted(falling, -step)]
        banks = indices[indptr[rows] + step] % lanes
        conflict = taken[rows, banks]
        taken[rows[conflict]] = False
        groups[rows[conflict]] += 1
        taken[rows, banks] = True
    return groups


class Pattern(Protocol):
    """Widths and value positions of a layer's input, row after row (`golden.gnn.decode.Features`)."""

    @property
    def width(self) -> np.ndarray:
        """Magnitude width of each row."""
        ...

    @property
    def count(self) -> np.ndarray:
        """Non-zero values of each row."""
        ...

    @property
    def index(self) -> np.ndarray:
        """Feature index of each value, in stored order."""
        ...


def layer_statistics(pattern: Pattern, lanes: int) -> LayerStatistics:
    """Return the statistics of one layer from the pattern of its non-zero codes."""
    counts = pattern.count.astype(np.int64)
    indptr = np.concatenate(([0], np.cumsum(counts)))
    return LayerStatistics(
        widths=pattern.width.astype(np.int64),
        values=counts,
        groups=group_counts(indptr, pattern.index, lanes),
        lanes=lanes,
    )
