"""Cost of `hw.gnn.requantizer`."""

from hw.gnn.config import GnnConfig
from models.cost.actions import multiplier_area, multiplier_energy
from models.cost.tables import Band
from models.cost.unit import Action, Counters

__all__ = ["RequantizerCost"]

MANTISSA_WIDTH = 12


class RequantizerCost:
    """Two multipliers a column, five stages."""

    STAGES = 5

    def __init__(self, config: GnnConfig) -> None:
        c = config.combination
        self._cols = c.cols
        self._widths = (
            (c.psum_width, MANTISSA_WIDTH),
            (
                c.psum_width + MANTISSA_WIDTH,
                MANTISSA_WIDTH,
            ),
        )

    def cycles(self, words: int) -> int:
        """Return the cycles from the first word's entry until the last one leaves, no stall.

        >>> RequantizerCost(GnnConfig()).cycles(1)
        5
        """
        return words - 1 + self.STAGES

    def actions(self, counters: Counters) -> tuple[Action, ...]:
        """Return both products of each column of each word."""
        count = counters["requantize_words"] * self._cols
        names = ("node product", "column product")
        return tuple(
            Action(name, count, multiplier_energy(*widths))
            for name, widths in zip(names, self._widths, strict=True)
        )

    def area(self) -> Band:
        """Return the area of the multipliers, um2."""
        first, second = (multiplier_area(*widths) for widths in self._widths)
        return first.plus(second).times(self._cols)
