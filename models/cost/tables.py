"""Energy and area per action, each with unit, node, voltage and source, as low, nominal, high."""

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import NamedTuple

__all__ = ["Band", "Row", "TableError", "band", "load", "row"]

_COLUMNS = ["name", "low", "nominal", "high", "unit", "node_nm", "voltage_v", "source"]


class TableError(ValueError):
    """A row of a table that has no value, unit or source, or that does not exist."""


class Band(NamedTuple):
    """A quantity as low, nominal and high estimate."""

    low: float
    nominal: float
    high: float

    def plus(self, other: "Band") -> "Band":
        """Return the sum, column by column.

        >>> Band(1, 2, 3).plus(Band(1, 1, 1))
        Band(low=2, nominal=3, high=4)
        """
        return Band(*(a + b for a, b in zip(self, other, strict=True)))

    def times(self, factor: "float | Band") -> "Band":
        """Return the product with a number, or column by column with a band.

        >>> Band(1, 2, 3).times(2)
        Band(low=2, nominal=4, high=6)
        """
        factors = factor if isinstance(factor, Band) else (factor,) * 3
        return Band(*(a * b for a, b in zip(self, factors, strict=True)))


@dataclass(frozen=True)
class Row:
    """One row: `band` in `unit`, at `node_nm` and `voltage_v` where they apply, from `source`."""

    name: str
    band: Band
    unit: str
    node_nm: str
    voltage_v: str
    source: str


def parse(lines: list[str]) -> dict[str, Row]:
    """Read the lines of a table.

    Raises
    ------
    TableError
        If a column is missing, a row has no value, unit or source, or low <= nominal <= high fails.
    """
    reader = csv.DictReader(lines)
    if reader.fieldnames != _COLUMNS:
        raise TableError(f"columns must be {', '.join(_COLUMNS)}, not {reader.fieldnames}")
    rows = {}
    for record in reader:
        name = record["name"]
        for field in ("low", "nominal", "high", "unit", "source"):
            if not record[field]:
                raise TableError(f"row {name!r} must have a {field}")
        values = Band(float(record["low"]), float(record["nominal"]), float(record["high"]))
        exponent = name.endswith("_exponent")
        if not exponent and not values.low <= values.nominal <= values.high:
            raise TableError(f"row {name!r} must have low <= nominal <= high, not {tuple(values)}")
        if name in rows:
            raise TableError(f"row {name!r} must stand once")
        rows[name] = Row(
            name, values, record["unit"], record["node_nm"], record["voltage_v"], record["source"]
        )
    return rows


@cache
def load() -> dict[str, Row]:
    """Return the table that ships with the package, by row name."""
    text = files("models.cost").joinpath("data/energy.csv").read_text(encoding="utf-8")
    return parse(text.splitlines())


def row(name: str) -> Row:
    """Return one row.

    Raises
    ------
    TableError
        If it does not exist: a missing estimate is an error, never zero.
    """
    try:
        return load()[name]
    except KeyError:
        raise TableError(f"no row {name!r} in the energy table") from None


def band(name: str) -> Band:
    """Return the band of one row."""
    return row(name).band
