"""The edge stream of a part and the list of q rows that it reads."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hw.gnn.format import SOURCE
from hw.gnn.image import Bytes, pack_words
from hw.gnn.ranges import require_at_most

__all__ = ["Scatter", "edge_stream", "part_scatter", "source_words"]

Integers = NDArray[np.int64]

DESTINATIONS_MAX = (1 << 16) - 1
"""Destinations of one record, and beats of one run: both are counted in 16 bits."""


@dataclass(frozen=True)
class Scatter:
    """Where the q rows of a part's sources go.

    Parameters
    ----------
    rows : ndarray [records], int64
        Source row of each record, in the order in which the rows arrive.
    counts : ndarray [records], int64
        Destinations of each record.
    destinations : ndarray [edges], int64
        Row within the part, record after record, ascending within one.
    """

    rows: Integers
    counts: Integers
    destinations: Integers


def part_scatter(
    source: Integers, destination: Integers, begin: int, end: int, *, every_row: bool
) -> Scatter:
    """Return the records of the part that holds rows `begin` to `end`.

    Parameters
    ----------
    source, destination : ndarray [edges], int64
        Edges between rows.
    begin, end : int
    every_row : bool
        Whether every row of the part sends a record, also without edges (rows come from the
        combination engine). Else only rows with an edge into the part do, those inside first.
    """
    inside = (destination >= begin) & (destination < end)
    source, destination = source[inside], destination[inside] - begin
    outer = (source < begin) | (source >= end)
    order = np.lexsort((destination, source, outer))
    source, destination = source[order], destination[order]
    if every_row:
        rows = np.arange(begin, end)
        return Scatter(rows, np.bincount(source - begin, minlength=len(rows)), destination)
    starts = np.flatnonzero(np.diff(source, prepend=-1))
    counts = np.diff(np.append(starts, len(source)))
    return Scatter(source[starts], counts, destination)


def edge_stream(scatter: Scatter, part: int) -> Bytes:
    """Return the stream of u16: per record its count, then its destinations.

    Raises
    ------
    ValueError
        If a record has more destinations than u16 counts.
    """
    most = int(scatter.counts.max(initial=0))
    require_at_most(f"edges of one row into part {part}", most, DESTINATIONS_MAX, "the u16 count")
    counts = scatter.counts
    heads = np.cumsum(counts + 1) - counts - 1
    stream = np.zeros(len(counts) + len(scatter.destinations), "<u2")
    body = np.ones(len(stream), bool)
    body[heads] = False
    stream[heads] = counts
    stream[body] = scatter.destinations
    return stream.view(np.uint8)


def source_words(rows: Integers, address: int, row_bytes: int, row_beats: int) -> Bytes:
    """Return SOURCE words for q rows that start at `address`; consecutive rows are one run."""
    breaks = np.flatnonzero(np.diff(rows) != 1) + 1
    longest = DESTINATIONS_MAX // row_beats
    begins, lengths = [], []
    for run in np.split(rows, breaks):
        for at in range(0, len(run), longest):
            begins.append(int(run[at]))
            lengths.append(min(longest, len(run) - at))
    begin, length = np.array(begins, np.int64), np.array(lengths, np.int64)
    return pack_words(
        SOURCE, len(begin), address=address + begin * row_bytes, beats=length * row_beats
    )
