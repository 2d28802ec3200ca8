"""Every unit has its row in the registry, its faces exist and its cycle rule is used."""

import inspect
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from hw.gnn.config import GnnConfig
from models.cost.gnn.energy import priced_units
from sim.units import UNITS, Unit

ROOT = Path(__file__).resolve().parents[1]

WITHOUT_A_ROW = {
    # Plumbing: tested against plain lists and rules.
    "accelerator": "the whole",
    "aggregation": "the engine",
    "combination": "the engine",
    "combination_datapath": "the engine's units in a row",
    "command_log": "plumbing",
    "drain": "plumbing",
    "psum_rows": "inside the bit-serial array",
    "register_file": "plumbing",
    "row_assembler": "plumbing",
    "row_fetcher": "plumbing",
    "row_writer": "plumbing",
    "segment_writer": "plumbing",
    "sequencer": "plumbing",
    "weight_loader": "plumbing",
}


def _load(dotted: str) -> Any:
    module, _, name = dotted.rpartition(".")
    return getattr(import_module(module), name)


def _components() -> set[str]:
    """Return the modules of the graph engine that define an Amaranth component."""
    files = (ROOT / "hw" / "gnn").glob("*.py")
    return {file.stem for file in files if "(wiring.Component)" in file.read_text()}


def test_every_component_has_a_row_or_a_reason():
    rows = {unit.name for unit in UNITS}
    assert len(rows) == len(UNITS)
    assert _components() == rows | set(WITHOUT_A_ROW)
    assert not rows & set(WITHOUT_A_ROW)


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_the_faces_exist(unit: Unit):
    assert _load(unit.component)(GnnConfig()) is not None
    assert unit.golden is None or callable(_load(unit.golden))
    assert callable(_load(unit.cost).cycles)
    assert (ROOT / unit.stimulus).is_file()
    assert unit.component.rpartition(".")[0] == f"hw.gnn.{unit.name}"
    assert unit.cost.rpartition(".")[0] == f"models.cost.gnn.{unit.name}"


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_the_cost_is_part_of_the_engines_time(unit: Unit):
    cost = unit.cost.rpartition(".")[2]
    source = inspect.getsource(import_module(unit.used_by))
    assert f"import {cost}\n" in source
    assert source.count(cost) > 1


def test_priced_units_are_rows_or_the_fifos():
    costs = {name: type(unit).__name__ for name, unit in priced_units(GnnConfig()).items()}
    assert costs.pop("stream_fifos") == "StreamFifosCost"
    rows = {unit.name: unit.cost.rpartition(".")[2] for unit in UNITS}
    assert costs.items() <= rows.items()
