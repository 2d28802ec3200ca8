"""Cost of `hw.gnn.bit_serial_array`: lanes, partial sums in flip-flops, weight banks."""

from math import log2

import numpy as np

from hw.gnn.config import Q_WIDTH, GnnConfig
from models.cost.actions import (
    adder_energy,
    and_energy,
    multiplier_area,
    register_area,
    register_energy,
    sram_area,
    sram_read_energy,
    sram_write_energy,
)
from models.cost.tables import Band
from models.cost.unit import Action, Counters

__all__ = ["BitSerialArrayCost"]

PSUM_ROWS = 2


class BitSerialArrayCost:
    """An active lane of a plane gates a 4-bit weight and adds it in the tree of its column.

    The mean width of the tree's adders is 4 + log2(lanes) / 2; every plane accumulates once a
    column. A bank is read once a value and tile.
    """

    PSUM_ROWS = PSUM_ROWS
    READ_AFTER_LAST = 3
    """Cycles from the last plane of a row to the read of its first psum word."""

    def __init__(self, config: GnnConfig) -> None:
        self._config = config.combination
        self._bank_bytes = self._config.weight_buffer_bytes // self._config.lanes

    def cycles(self, width: np.ndarray, tiles: int, filled: np.ndarray) -> np.ndarray:
        """Return the cycles of each group: its planes in each tile, or one if it is empty.

        Parameters
        ----------
        width : ndarray [groups], int64
            Magnitude width of the group's row.
        tiles : int
        filled : ndarray [groups], bool
            Whether the group holds a value.

        >>> BitSerialArrayCost(GnnConfig()).cycles(np.array([3, 2]), 4, np.array([True, False]))
        array([12,  1])
        """
        return np.where(filled & (width > 0), width * tiles, 1)

    def actions(self, counters: Counters) -> tuple[Action, ...]:
        """Return what lanes, accumulators and banks did."""
        c = self._config
        lane = and_energy(Q_WIDTH)
        if c.lanes > 1:
            tree = (Q_WIDTH + log2(c.lanes) / 2) * (c.lanes - 1) / c.lanes
            lane = lane.plus(adder_energy(1).times(tree))
        accumulate = adder_energy(c.psum_width).plus(register_energy(c.psum_width))
        read = sram_read_energy(self._bank_bytes, c.word_width)
        write = sram_write_energy(self._bank_bytes, c.word_width)
        return (
            Action("lane", counters["combine_bit_ops"] * c.cols, lane),
            Action("accumulate", counters["combine_planes"] * c.cols, accumulate),
            Action("bank read", counters["weight_reads"], read),
            Action("bank write", counters["weight_writes"], write),
        )

    def area(self) -> Band:
        """Return the area of lanes, psum rows and banks, um2."""
        c = self._config
        lanes = multiplier_area(1, Q_WIDTH).times(c.lanes * c.cols)
        rows = register_area(PSUM_ROWS * c.columns_max * c.psum_width)
        return lanes.plus(rows).plus(sram_area(self._bank_bytes).times(c.lanes))
