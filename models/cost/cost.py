"""Cost of a piece of work: cycles, counts, energy and area, addable, with a breakdown by part."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from models.cost.tables import Band

__all__ = ["Cost"]

_ZERO = Band(0.0, 0.0, 0.0)


def _merge(a: Mapping[str, Band], b: Mapping[str, Band]) -> dict[str, Band]:
    return {
        key: a.get(key, _ZERO).plus(b.get(key, _ZERO))
        for key in [*a, *(k for k in b if k not in a)]
    }


@dataclass(frozen=True)
class Cost:
    """Cycles, counts, energy and area.

    Parameters
    ----------
    cycles : int
        Cycles in sequence; work that overlaps is combined before it becomes a Cost.
    counts : mapping of str to int
        Accesses and operations by name.
    energy_pj : mapping of str to Band, pJ
        Energy by part, low, nominal and high.
    area_um2 : mapping of str to Band, um2
        Area by part. Adding two Costs adds areas, so give it in one of them only.
    """

    cycles: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    energy_pj: Mapping[str, Band] = field(default_factory=dict)
    area_um2: Mapping[str, Band] = field(default_factory=dict)

    def __add__(self, other: "Cost") -> "Cost":
        """Return the cost of doing one after the other."""
        counts = {
            key: self.counts.get(key, 0) + other.counts.get(key, 0)
            for key in [*self.counts, *(k for k in other.counts if k not in self.counts)]
        }
        return Cost(
            self.cycles + other.cycles,
            counts,
            _merge(self.energy_pj, other.energy_pj),
            _merge(self.area_um2, other.area_um2),
        )

    @property
    def total_energy_pj(self) -> Band:
        """Sum over the parts, pJ."""
        return _total(self.energy_pj)

    @property
    def total_area_um2(self) -> Band:
        """Sum over the parts, um2."""
        return _total(self.area_um2)


def _total(parts: Mapping[str, Band]) -> Band:
    total = _ZERO
    for value in parts.values():
        total = total.plus(value)
    return total
