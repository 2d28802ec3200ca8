"""What one unit does and what that costs: the common shape of the small cost classes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from models.cost.tables import Band

__all__ = ["Action", "UnitCost", "total_energy"]

Counters = Mapping[str, int]


@dataclass(frozen=True)
class Action:
    """Something that a unit did `count` times, at `energy_pj` each."""

    name: str
    count: int
    energy_pj: Band

    @property
    def total_pj(self) -> Band:
        """Energy of all of them."""
        return self.energy_pj.times(self.count)


class UnitCost(Protocol):
    """A unit that is priced. Its `cycles(...)` takes what its rule depends on."""

    def actions(self, counters: Counters) -> tuple[Action, ...]:
        """Return what the unit did in a run with these event counters."""
        ...

    def area(self) -> Band:
        """Return its area, um2."""
        ...


def total_energy(actions: Iterable[Action]) -> Band:
    """Return the energy of all actions, pJ.

    >>> total_energy([Action("add", 2, Band(1, 2, 3)), Action("read", 1, Band(5, 5, 5))])
    Band(low=7.0, nominal=9.0, high=11.0)
    """
    total = Band(0.0, 0.0, 0.0)
    for action in actions:
        total = total.plus(action.total_pj)
    return total
