"""Groups that `hw.gnn.group_assembler` forms."""

import numpy as np

from hw.gnn.config import GnnConfig

__all__ = ["GroupAssemblerCost"]


class GroupAssemblerCost:
    """One token a cycle; a group closes with its row, or when the next value's lane is taken."""

    def __init__(self, config: GnnConfig) -> None:
        self._lanes = config.combination.lanes

    def cycles(self, tokens: int) -> int:
        """Return the cycles of tokens in a row: one each.

        >>> GroupAssemblerCost(GnnConfig()).cycles(3)
        3
        """
        return tokens

    def opens(self, row: np.ndarray, feature: np.ndarray) -> np.ndarray:
        """Return which tokens open a group.

        Parameters
        ----------
        row, feature : ndarray [tokens], int64
            Row of each token, and its feature index or -1 if it only ends its row.

        >>> GroupAssemblerCost(GnnConfig()).opens(np.zeros(4, int), np.array([0, 3, 1, -1]))
        array([ True, False,  True, False])
        """
        opens = np.empty(len(row), bool)
        taken, before = 0, -1
        for at, (r, k) in enumerate(zip(row.tolist(), feature.tolist(), strict=True)):
            lane = 1 << k % self._lanes if k >= 0 else 0
            opens[at] = r != before or bool(taken & lane)
            taken = lane if opens[at] else taken | lane
            before = r
        return opens
