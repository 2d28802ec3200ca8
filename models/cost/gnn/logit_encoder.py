"""Cycles of `hw.gnn.logit_encoder`."""

from hw.gnn.config import GnnConfig

__all__ = ["LogitEncoderCost"]


class LogitEncoderCost:
    """One logit a cycle; a word waits while its logits leave."""

    def __init__(self, config: GnnConfig) -> None:
        self._lanes = config.aggregation.lanes

    def cycles(self, columns: int, rows: int) -> int:
        """Return the cycles of all logits.

        >>> LogitEncoderCost(GnnConfig()).cycles(7, 3)
        21
        """
        return columns * rows

    def words(self, columns: int, rows: int) -> int:
        """Return the words that bring them."""
        return rows * -(-columns // self._lanes)
