"""``bitwright list``: engines, presets and data sets, and where each set was found."""

import os
from dataclasses import asdict, dataclass
from pathlib import Path

from .configs import ENGINES
from .output import JsonOption, print_json, print_table

__all__ = ["DataSet", "Inventory", "inventory", "run"]

_ABSENT = {
    "folder": "not found: BITWRIGHT_DATA names the folder",
    "download": "fetched on request from Python only",
}

_FOLDER_SETS = ("cora", "citeseer", "pubmed")


@dataclass(frozen=True)
class DataSet:
    """A data set: its name, its tier ("built-in", "folder" or "download") and where it lies."""

    name: str
    tier: str
    found: str | None


@dataclass(frozen=True)
class Inventory:
    """What there is to choose from."""

    presets: dict[str, tuple[str, ...]]
    data: tuple[DataSet, ...]


def inventory() -> Inventory:
    """Return engines with their presets, and all data sets with their tier."""
    # Loaded here, since the other verbs do not need the readers of data sets.
    from quant.gnn.datasets import DATA_VARIABLE
    from quant.gnn.download import DOWNLOADS
    from quant.gnn.generate import PRESETS

    sets = [DataSet(name, "built-in", "generated") for name in PRESETS]
    root = os.environ.get(DATA_VARIABLE)
    for name in _FOLDER_SETS:
        folder = Path(root, name) if root else None
        found = str(folder) if folder and folder.is_dir() else None
        sets.append(DataSet(name, "folder", found))
    sets += [DataSet(name, "download", None) for name in DOWNLOADS]
    return Inventory({engine: tuple(presets) for engine, presets in ENGINES.items()}, tuple(sets))


def run(as_json: JsonOption = False) -> None:
    """Show engines, presets, and data sets with their tier."""
    found = inventory()
    if as_json:
        print_json(asdict(found))
        return
    rows = [(engine, ", ".join(presets)) for engine, presets in found.presets.items()]
    print_table("engines", ("engine", "presets"), rows)
    rows = [(data.name, data.tier, data.found or _ABSENT[data.tier]) for data in found.data]
    print_table("data sets", ("name", "tier", "where"), rows)
