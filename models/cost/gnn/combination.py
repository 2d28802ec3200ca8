"""Time of the combination engine: a max-plus recurrence over groups and rows.

Every term is a depth or a rule that `hw.gnn.combination` and its units state in their docstrings;
nothing is fitted. One step is one group or one word, so the result is a recurrence and not a
closed form: rows of different width and fill hide behind one another only as far as the
queues between the stages allow.
"""

from collections import deque

import numpy as np

from hw.gnn.config import GnnConfig
from models.cost.gnn.groups import Groups

__all__ = ["CombinationTimer"]

REQUANTIZER_STAGES = 5
READ_AFTER_LAST = 3
"""Cycles from the last plane of a row to the read of its first psum word."""

PSUM_ROWS = 2


class CombinationTimer:
    """Follow the rows of one COMBINE command.

    Parameters
    ----------
    config : GnnConfig
    groups : Groups
    widths : ndarray [rows], int64
        Magnitude width of each row.
    tiles : int
    begin : int, cycle
        Earliest cycle of the first decoder step.
    """

    def __init__(
        self, config: GnnConfig, groups: Groups, widths: np.ndarray, tiles: int, begin: int
    ) -> None:
        self._tiles = tiles
        self._depth = config.combination.group_fifo_depth
        work = np.where(groups.filled, widths[groups.row] * tiles, 1)
        self._groups = deque(
            zip(
                groups.row.tolist(),
                groups.gap.tolist(),
                groups.span.tolist(),
                np.maximum(work, 1).tolist(),
                groups.filled.tolist(),
                strict=True,
            )
        )
        self._token = begin
        self._pushed = begin
        self._row = -1
        self._ends = deque([begin] * self._depth, maxlen=self._depth)
        self._row_taken = deque([begin] * PSUM_ROWS, maxlen=PSUM_ROWS)
        self._enters = deque([begin] * REQUANTIZER_STAGES, maxlen=REQUANTIZER_STAGES)
        self._left = begin
        self._entered = begin
        self._handed = begin
        self.starved = 0
        self.stalled = 0

    def row(self) -> int:
        """Return the cycle in which the next row is offered."""
        end = self._accumulate()
        return self._requantize(end)

    def hand(self, cycle: int) -> None:
        """Say that the row offered last was taken in `cycle`."""
        self._handed = cycle

    def _accumulate(self) -> int:
        """Return the cycle of the last plane of the next row."""
        row = self._groups[0][0]
        free = self._row_taken[0] + 1
        end = self._ends[-1]
        while self._groups and self._groups[0][0] == row:
            _, gap, span, work, filled = self._groups.popleft()
            pushed = self._push(row, gap, span)
            begin = max(pushed + 1, end + 1, free)
            present = max(pushed + 1, end + 1)
            self.starved += max(0, present - max(end + 1, free))
            self.stalled += begin - present
            end = begin + work - 1
            self._ends.append(end)
        return end

    def _push(self, row: int, gap: int, span: int) -> int:
        """Return the cycle in which the group at hand is pushed into the queue.

        A row's group is pushed when its successor's first token is taken; the last one in the
        cycle after its last token.
        """
        room = self._ends[0] + 1
        first = max(self._token + gap, self._pushed)
        last = first + span
        self._token = last
        follows = bool(self._groups) and self._groups[0][0] == row
        pushed = max(last + (self._groups[0][1] if follows else 1), room)
        self._pushed = pushed
        return pushed

    def _requantize(self, end: int) -> int:
        """Return the cycle in which the row is offered, its words read from `end` on."""
        offer = max(end + READ_AFTER_LAST + 1, self._entered + 1)
        for tile in range(self._tiles):
            enter = max(offer, self._enters[0])
            leave = max(enter + REQUANTIZER_STAGES, self._left + 1)
            if tile == 0:
                leave = max(leave, self._handed)
            self._enters.append(leave)
            self._left = leave
            self._entered = enter
            offer = enter + 1
        self._row_taken.append(self._entered)
        return self._left + 1
