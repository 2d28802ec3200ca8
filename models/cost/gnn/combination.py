"""Time of the combination engine: a max-plus recurrence over groups and rows.

Every term is a depth or a rule that `hw.gnn.combination` and its units state in their docstrings;
nothing is fitted. One step is one group or one word, so the result is a recurrence and not a
closed form: rows of different width and fill hide behind one another only as far as the
queues between the stages allow.
"""

from collections import deque

import numpy as np

from hw.gnn.config import GnnConfig
from models.cost.gnn.bit_serial_array import BitSerialArrayCost
from models.cost.gnn.groups import Groups
from models.cost.gnn.requantizer import RequantizerCost

__all__ = ["CombinationTimer"]


class CombinationTimer:
    """Follow the rows of one COMBINE command.

    Parameters
    ----------
    config : GnnConfig
    groups : Groups
    widths : ndarray [rows], int64
        Magnitude width of each row.
    tiles : int
    go : int, cycle
        In which the command's wait is over.
    decode : int, cycle
        From which on a decoder step may be made.
    stored : int, cycle
        From which on stored values can be decoded.
    """

    def __init__(
        self,
        config: GnnConfig,
        groups: Groups,
        widths: np.ndarray,
        tiles: int,
        go: int,
        decode: int,
        stored: int,
    ) -> None:
        self._tiles = tiles
        depth = config.combination.group_fifo_depth
        work = BitSerialArrayCost(config).cycles(widths[groups.row], tiles, groups.filled)
        self._groups = deque(
            zip(
                groups.row.tolist(),
                groups.gap.tolist(),
                groups.span.tolist(),
                work.tolist(),
                groups.stored.tolist(),
                strict=True,
            )
        )
        self._stored = stored
        self._token = decode
        self._pushed = decode
        self._ends = deque([go] * depth, maxlen=depth)
        self._row_taken = deque([go] * BitSerialArrayCost.PSUM_ROWS)
        self._leaves = deque([go] * RequantizerCost.STAGES)
        self._entered = go
        self._handed = go
        self.starved = 0
        self.stalled = 0

    def row(self) -> int:
        """Return the cycle in which the next row is offered."""
        return self._requantize(self._accumulate())

    def hand(self, cycle: int) -> None:
        """Say that the row offered last was taken in `cycle`."""
        self._handed = cycle

    def _accumulate(self) -> int:
        """Return the cycle of the last plane of the next row.

        A group starts in the cycle after it was pushed, after the group before it ended, and after
        the row before the last one was read out.
        """
        row = self._groups[0][0]
        free = self._row_taken[0] + 1
        end = self._ends[-1]
        while self._groups and self._groups[0][0] == row:
            _, gap, span, work, stored = self._groups.popleft()
            pushed = self._push(row, gap, span, stored)
            present = max(pushed, end) + 1
            begin = max(present, free)
            self.starved += max(0, present - max(end + 1, free))
            self.stalled += begin - present
            end = begin + work - 1
            self._ends.append(end)
        return end

    def _push(self, row: int, gap: int, span: int, stored: bool) -> int:
        """Return the cycle in which the group at hand is pushed into the queue.

        A group is pushed when its successor's first token is taken; the last one of a row in the
        cycle after its last token.
        """
        before = max(self._token, self._stored) if stored else self._token
        self._token = max(before + gap, self._pushed) + span
        follows = bool(self._groups) and self._groups[0][0] == row
        room = self._ends[0] + 1
        self._pushed = max(self._token + (self._groups[0][1] if follows else 1), room)
        return self._pushed

    def _requantize(self, end: int) -> int:
        """Return the cycle in which the row is offered, its words read from `end` on."""
        offer = max(end + BitSerialArrayCost.READ_AFTER_LAST, self._entered) + 1
        for tile in range(self._tiles):
            self._entered = max(offer, self._leaves[0])
            leave = max(self._entered + RequantizerCost.STAGES, self._leaves[-1] + 1)
            if tile == 0:
                leave = max(leave, self._handed)
            self._leaves.popleft()
            self._leaves.append(leave)
            offer = self._entered + 1
        self._row_taken.popleft()
        self._row_taken.append(self._entered)
        return self._leaves[-1] + 1
