"""Cost of `hw.gnn.scatter_add` and of the adders of `hw.gnn.psum_buffer` that it feeds."""

import numpy as np

from hw.gnn.config import GnnConfig
from models.cost.actions import adder_area, adder_energy
from models.cost.tables import Band
from models.cost.unit import Action, Counters

__all__ = ["ScatterAddCost"]


class ScatterAddCost:
    """One addition a column of each word that is updated."""

    def __init__(self, config: GnnConfig) -> None:
        self._config = config.aggregation

    def cycles(self, edges: np.ndarray, tiles: int) -> np.ndarray:
        """Return the cycles of each q row: a word a cycle, and one for a row without edges.

        Parameters
        ----------
        edges : ndarray [rows], int64
            Destinations of each row.
        tiles : int
            Psum words a row.

        >>> ScatterAddCost(GnnConfig()).cycles(np.array([0, 1, 3]), 4)
        array([ 1,  4, 12])
        """
        return np.maximum(edges * tiles, 1)

    def actions(self, counters: Counters) -> tuple[Action, ...]:
        """Return the additions."""
        a = self._config
        return (Action("add", counters["psum_updates"] * a.lanes, adder_energy(a.psum_width)),)

    def area(self) -> Band:
        """Return the area of the adders, um2."""
        return adder_area(self._config.psum_width).times(self._config.lanes)
