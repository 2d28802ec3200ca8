"""What every engine's config is made of."""

from pydantic import BaseModel, ConfigDict

__all__ = ["Frozen", "require_power_of_two"]


def require_power_of_two(value: int, field: str, low: int, high: int) -> None:
    """Refuse a value that is no power of two in `low` to `high`.

    Raises
    ------
    ValueError
        Naming the field, the value and the rule.
    """
    if value < low or value > high or value & (value - 1):
        raise ValueError(f"{field} must be a power of two in {low}..{high}, not {value}")


class Frozen(BaseModel):
    """A model that cannot be changed, knows no field beyond its own and converts no value."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
