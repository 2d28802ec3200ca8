"""Cost of `hw.gnn.post_processor`."""

from hw.gnn.config import GnnConfig
from models.cost.actions import adder_area, adder_energy, multiplier_area, multiplier_energy
from models.cost.tables import Band
from models.cost.unit import Action, Counters

__all__ = ["PostProcessorCost"]

MANTISSA_WIDTH = 12
FACTOR_WIDTH = 16
Z_WIDTH = 48


class PostProcessorCost:
    """Three multipliers and an adder a column; a logit leaves before the last multiplier."""

    LOGIT_STAGES = 4
    CODE_STAGES = 7

    def __init__(self, config: GnnConfig) -> None:
        a = config.aggregation
        self._lanes = a.lanes
        self._widths = {
            "node product": (a.psum_width, MANTISSA_WIDTH),
            "column product": (a.psum_width + MANTISSA_WIDTH, FACTOR_WIDTH),
            "next product": (Z_WIDTH, MANTISSA_WIDTH),
        }

    def cycles(self, words: int, last_layer: bool) -> int:
        """Return the cycles from the first word's entry until the last one leaves, no stall.

        >>> PostProcessorCost(GnnConfig()).cycles(1, last_layer=True)
        4
        """
        return words - 1 + (self.LOGIT_STAGES if last_layer else self.CODE_STAGES)

    def actions(self, counters: Counters) -> tuple[Action, ...]:
        """Return products and bias additions of all words; the last product runs for logits too."""
        count = counters["psum_drains"] * self._lanes
        products = (
            Action(name, count, multiplier_energy(*widths)) for name, widths in self._widths.items()
        )
        return (*products, Action("bias", count, adder_energy(Z_WIDTH)))

    def area(self) -> Band:
        """Return the area of multipliers and adder, um2."""
        total = adder_area(Z_WIDTH)
        for widths in self._widths.values():
            total = total.plus(multiplier_area(*widths))
        return total.times(self._lanes)
