"""Statistics of (graph, partition, widths, values): computed once, then priced for any config.

A row's time and events depend on its magnitude width, on how many non-zero values it has, and on
how those values fall into the weight banks. The hidden layers' values are known only after
execution, so the statistics are made from the codes that the golden model found.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

__all__ = ["LayerStatistics", "Pattern", "group_counts", "layer_statistics", "row_slice"]


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
    conflicts : ndarray [rows], int64
        Groups that closed with a free lane because the next value's bank was taken.
    lanes : int
        Banks for which `groups` holds.
    """

    widths: np.ndarray
    values: np.ndarray
    groups: np.ndarray
    conflicts: np.ndarray
    lanes: int


def group_counts(
    indptr: np.ndarray, indices: np.ndarray, lanes: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return how many groups each row forms, and how many of them a conflict closed.

    Values are taken in order; a value k needs bank k mod lanes; a group closes when the bank of
    the next value is taken. That is a conflict if another lane was still free.

    Parameters
    ----------
    indptr : ndarray [rows + 1], int64
    indices : ndarray [values], int64
        Feature index of each value, in the order in which the decoder yields them.
    lanes : int

    >>> group_counts(np.array([0, 5, 5]), np.array([0, 1, 3, 5, 2]), 2)
    (array([3, 0]), array([1, 0]))
    """
    counts = np.diff(indptr)
    taken = np.zeros((len(counts), lanes), bool)
    groups = (counts > 0).astype(np.int64)
    conflicts = np.zeros_like(groups)
    order = np.argsort(-counts, kind="stable")
    falling = -counts[order]
    for step in range(int(counts.max(initial=0))):
        rows = order[: np.searchsorted(falling, -step)]
        banks = indices[indptr[rows] + step] % lanes
        closed = rows[taken[rows, banks]]
        conflicts[closed] += ~taken[closed].all(axis=1)
        groups[closed] += 1
        taken[closed] = False
        taken[rows, banks] = True
    return groups, conflicts


class Pattern(Protocol):
    """Widths and value positions of a layer's input, as `golden.gnn.decode.Features`."""

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
    groups, conflicts = group_counts(indptr, pattern.index, lanes)
    return LayerStatistics(pattern.width.astype(np.int64), counts, groups, conflicts, lanes)


def row_slice(pattern: Pattern, rows: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return widths, counts and value indices of some consecutive rows."""
    ends = np.concatenate(([0], np.cumsum(pattern.count)))
    values = slice(ends[rows.start], ends[rows.stop])
    return pattern.width[rows], pattern.count[rows], pattern.index[values]
