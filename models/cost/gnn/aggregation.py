"""Time of the aggregation engine: scatter as a recurrence over rows, drain in closed form.

Every term is a depth or a rule that `hw.gnn.aggregation` and its units state in their docstrings.
"""

from collections import deque

import numpy as np

from hw.gnn.config import GnnConfig
from hw.gnn.format import BITMAP_CHUNK

__all__ = ["ScatterTimer", "code_drain_cycles", "logit_drain_cycles"]

LOGIT_LATENCY = 6
"""From the end of scatter to the first word at the logit encoder."""

CODE_LATENCY = 9
"""From the end of scatter to the first word at the feature encoder."""


class ScatterTimer:
    """Follow the source rows of one AGGREGATE command.

    Parameters
    ----------
    config : GnnConfig
    edges : ndarray [source_rows], int64
        Destinations of each row.
    tiles : int
        Psum words a row.
    begin : int, cycle
        Last cycle before scatter is enabled.
    first_edge : int, cycle
        Last cycle before the first edge is there.
    """

    def __init__(
        self, config: GnnConfig, edges: np.ndarray, tiles: int, begin: int, first_edge: int
    ) -> None:
        self._work = deque(np.maximum(edges * tiles, 1).tolist())
        self._enabled = begin
        self.end = max(begin, first_edge)
        depth = config.aggregation.row_fifo_depth
        self._taken = deque([-1] * depth, maxlen=depth)
        self.starved = self.end - begin

    def hand(self, offered: int) -> int:
        """Take the next row, offered in cycle `offered`; return the cycle of its handshake."""
        handed = max(offered, self._taken[0] + 1)
        begin = max(self.end, handed)
        self.starved += begin - self.end
        self.end = begin + self._work.popleft()
        self._taken.append(self.end)
        return handed


def code_drain_cycles(
    config: GnnConfig, columns: int, widths: np.ndarray, nonzero: np.ndarray
) -> tuple[int, int]:
    """Return the cycles from the end of scatter to the last give, and the stalled ones among them.

    Parameters
    ----------
    config : GnnConfig
    columns : int
    widths : ndarray [rows], int64
        Magnitude width of each row in the next layer.
    nonzero : ndarray [rows, chunks], int64
        Codes of each chunk that are not 0.
    """
    lanes = config.aggregation.lanes
    words = -(-columns // lanes)
    chunks = -(-columns // BITMAP_CHUNK)
    full = BITMAP_CHUNK // lanes
    fill = np.full(chunks, full)
    fill[-1] = words - full * (chunks - 1)
    gives = np.where(widths[:, None] > 0, 1 + nonzero, 0).ravel()
    fills = np.tile(fill, len(widths))
    steps = np.maximum(gives[:-1], fills[1:])
    last_word = CODE_LATENCY + int(fills[0]) - 1 + int(steps.sum())
    final = int(gives[-1]) + 1
    return last_word + final, int((steps - fills[1:]).sum())


def logit_drain_cycles(config: GnnConfig, columns: int, rows: int) -> tuple[int, int]:
    """Return the cycles from the end of scatter to the last logit, and the stalled ones."""
    words = -(-columns // config.aggregation.lanes)
    return LOGIT_LATENCY + rows * columns - 1, rows * (columns - words)
