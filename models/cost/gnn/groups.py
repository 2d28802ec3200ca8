"""Decoder steps and groups of a command's rows: what the combination engine's time depends on.

The decoder makes one step a cycle: a value, the bitmap of a chunk, or the end of a row without
values. Steps that end in a value (or in an empty end of row) give a token; tokens form groups.
"""

from dataclasses import dataclass

import numpy as np

from hw.gnn.config import GnnConfig
from hw.gnn.format import BITMAP_CHUNK, Format
from models.cost.gnn.feature_decoder import FeatureDecoderCost
from models.cost.gnn.group_assembler import GroupAssemblerCost

__all__ = ["Groups", "form_groups"]


@dataclass(frozen=True)
class Groups:
    """Groups in order, those of all rows one after another.

    Parameters
    ----------
    row : ndarray [groups], int64
        Row that the group belongs to, from 0; every row has at least one group.
    gap : ndarray [groups], int64
        Steps from the token before the group's first token to that token.
    span : ndarray [groups], int64
        Steps from the group's first token to its last.
    filled : ndarray [groups], bool
        Whether the group holds a value.
    stored : ndarray [groups], bool
        Whether its row stores anything, so that decoding it needs bits from memory.
    """

    row: np.ndarray
    gap: np.ndarray
    span: np.ndarray
    filled: np.ndarray
    stored: np.ndarray


def _tokens(
    decoder: FeatureDecoderCost,
    layout: int,
    width: np.ndarray,
    count: np.ndarray,
    index: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return row, step number and feature index (-1: no value) of each token, in order."""
    rows = np.arange(len(count))
    value_row = np.repeat(rows, count)
    steps = decoder.cycles(width, count)
    within = np.arange(len(index)) - np.repeat(np.cumsum(count) - count, count) + 1
    ends_empty = count == 0
    if layout == Format.BITMAP:
        chunk = index // BITMAP_CHUNK
        within = within + chunk + 1
        ends_empty = np.ones(len(count), bool)
        ends_empty[value_row[chunk == decoder.chunks - 1]] = False
    before = np.cumsum(steps) - steps
    empty_rows = rows[ends_empty]
    row = np.concatenate([value_row, empty_rows])
    step = np.concatenate([before[value_row] + within, (before + steps)[ends_empty]])
    feature = np.concatenate([index, np.full(len(empty_rows), -1)])
    order = np.argsort(step, kind="stable")
    return row[order], step[order], feature[order]


def form_groups(
    config: GnnConfig,
    layout: int,
    reduction: int,
    width: np.ndarray,
    count: np.ndarray,
    index: np.ndarray,
) -> Groups:
    """Return the groups of consecutive rows of a feature segment.

    Parameters
    ----------
    config : GnnConfig
    layout : Format
    reduction : int
    width, count : ndarray [rows], int64
    index : ndarray [values], int64
        Feature index of each value, in stored order.
    """
    decoder = FeatureDecoderCost(layout, reduction)
    row, step, feature = _tokens(decoder, layout, width, count, index)
    first = np.flatnonzero(GroupAssemblerCost(config).opens(row, feature))
    last = np.concatenate([first[1:], [len(row)]]) - 1
    previous = np.concatenate([[0], step[:-1]])
    return Groups(
        row=row[first],
        gap=step[first] - previous[first],
        span=step[last] - step[first],
        filled=feature[first] >= 0,
        stored=decoder.stores(width, count)[row[first]],
    )
