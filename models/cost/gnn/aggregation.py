"""Time of the aggregation engine: scatter as a recurrence over rows, drain in closed form.

Every term is a depth or a rule that `hw.gnn.aggregation` and its units state in their docstrings.
"""

from collections import deque
from dataclasses import dataclass

import numpy as np

from hw.gnn.config import GnnConfig
from hw.gnn.format import BITMAP_CHUNK
from models.cost.gnn.feature_encoder import FeatureEncoderCost
from models.cost.gnn.logit_encoder import LogitEncoderCost
from models.cost.gnn.memory import WriteTimer
from models.cost.gnn.post_processor import PostProcessorCost
from models.cost.gnn.psum_buffer import PsumBufferCost
from models.cost.gnn.scatter_add import ScatterAddCost

__all__ = ["DrainTime", "ScatterTimer", "code_drain", "logit_drain"]

LOGIT_WIDTH = 64

DRAIN_LATENCY = 1 + PsumBufferCost.READ_CYCLES
"""From the end of scatter to the first word at the post-processor (`hw.gnn.drain`)."""

LOGIT_LATENCY = DRAIN_LATENCY + PostProcessorCost.LOGIT_STAGES
CODE_LATENCY = DRAIN_LATENCY + PostProcessorCost.CODE_STAGES

PACKER_LATENCY = 1
"""From the give that completes a beat to the beat's offer (`hw.bit_packer`)."""


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
        self._work = deque(ScatterAddCost(config).cycles(edges, tiles).tolist())
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


@dataclass(frozen=True)
class DrainTime:
    """The way out of a part's results, in cycles after the end of scatter.

    Parameters
    ----------
    tokens : ndarray [beats], int64
        When each beat is offered to the write port.
    last : int
        When the end of the data is offered, with the last beat or without one.
    stalled : int
        Cycles in which the encoder holds the post-processor.
    """

    tokens: np.ndarray
    last: int
    stalled: int


def code_drain(
    config: GnnConfig, columns: int, widths: np.ndarray, stored: np.ndarray, nonzero: np.ndarray
) -> DrainTime:
    """Return when the feature segment of a part leaves.

    Parameters
    ----------
    config : GnnConfig
    columns : int
    widths, stored : ndarray [rows], int64
        Magnitude width of each row in the next layer, and bits that a code takes in memory.
    nonzero : ndarray [rows, chunks], int64
        Codes of each chunk that are not 0.
    """
    encoding = FeatureEncoderCost(config).cycles(columns, widths, nonzero)
    bits = np.where(widths[:, None] > 0, BITMAP_CHUNK + nonzero * stored[:, None], 0).ravel()
    ends = np.cumsum(bits)
    beat_width = config.memory.axi_data_width
    limits = np.arange(1, ends[-1] // beat_width + 1) * beat_width
    chunk = np.searchsorted(ends, limits)
    codes = np.maximum(limits - (ends - bits)[chunk] - BITMAP_CHUNK, 0)
    each = np.maximum(np.repeat(stored, nonzero.shape[1]), 1)[chunk]
    tokens = encoding.taken[chunk] + 1 + -(-codes // each)
    if ends[-1] % beat_width:
        tokens = np.append(tokens, encoding.last)
    offset = CODE_LATENCY + PACKER_LATENCY
    return DrainTime(tokens + offset, encoding.last + offset, encoding.stalled)


def logit_drain(
    config: GnnConfig, columns: int, rows: int, begin: int, write: WriteTimer
) -> tuple[int, int]:
    """Return the cycle in which the last logit's beat is taken, and the stalled cycles.

    One logit a cycle (`hw.gnn.logit_encoder`); a beat that is not taken holds the next one.

    Parameters
    ----------
    config : GnnConfig
    columns, rows : int
    begin : int, cycle
        End of scatter.
    write : WriteTimer
    """
    each = config.memory.axi_data_width // LOGIT_WIDTH
    given = begin + LOGIT_LATENCY - 1
    taken = given
    encoder = LogitEncoderCost(config)
    left = encoder.cycles(columns, rows)
    while left:
        given = max(given + 1, taken) + min(left, each) - 1
        taken = write.take(given + PACKER_LATENCY)
        left -= min(left, each)
    return taken, given - (begin + LOGIT_LATENCY) + 1 - encoder.words(columns, rows)
