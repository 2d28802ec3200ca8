"""Cycles of `hw.gnn.edge_decoder`."""

import numpy as np

from hw.gnn.config import GnnConfig

__all__ = ["EdgeDecoderCost"]


class EdgeDecoderCost:
    """One token a cycle: an edge, or a row without edges."""

    FIRST = 4
    """From the first beat to the first token's offer."""

    def __init__(self, config: GnnConfig) -> None:
        self._config = config

    def cycles(self, edges: np.ndarray) -> int:
        """Return the cycles from the first beat to the last token, no stall.

        Parameters
        ----------
        edges : ndarray [rows], int64
            Destinations of each row.

        >>> EdgeDecoderCost(GnnConfig()).cycles(np.array([2, 0, 1]))
        7
        """
        return self.FIRST + int(np.maximum(edges, 1).sum()) - 1
