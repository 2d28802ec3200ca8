"""The whole of Cora on the gates of `tiny`: both layers, all 2,708 nodes, real data."""

from dataclasses import replace
from pathlib import Path

import pytest

from hw.gnn.config import PRESETS
from quant.gnn.datasets import load
from quant.gnn.quantize import quantize
from quant.gnn.recipe import RECIPES
from quant.graph.model import BitGraph
from sim.gnn import sim
from sim.memory import IDEAL, MemoryOptions

pytestmark = [pytest.mark.rtl, pytest.mark.slow]

EPOCHS = 40
"""Enough for widths and accuracy like those of a full training, in seconds."""


@pytest.fixture(scope="module")
def cora(data_set) -> BitGraph:
    import torch

    torch.set_num_threads(1)
    recipe = replace(RECIPES["cora"], epochs=EPOCHS)
    graph = quantize(load(data_set("cora")), recipe=recipe, with_float=False).graph
    assert graph is not None
    return graph


@pytest.mark.parametrize(
    "memory", [IDEAL, MemoryOptions(stall=0.3, seed=5)], ids=["ideal", "stalls"]
)
@pytest.mark.parametrize("part_rows", [None, 700], ids=["one part", "several parts"])
def test_three_witnesses_agree(
    cora: BitGraph, part_rows: int | None, memory: MemoryOptions, tmp_path: Path
) -> None:
    report = sim(cora, PRESETS["tiny"], memory=memory, part_rows=part_rows, run_dir=tmp_path)
    assert (report.graph["nodes"], report.graph["features"]) == (2708, 1433)
    assert report.parts == (1 if part_rows is None else 4)
    assert report.data_tier == "folder"
    assert report.divergence is None
    assert report.outputs_equal
    assert report.events_equal
    assert report.passed, f"cycles {report.time_error_percent:+.2f} %"
    splits = {row.split: row for row in report.accuracy}
    assert [splits[name].nodes for name in ("train", "val", "test")] == [140, 500, 1000]
    for row in report.accuracy:
        assert row.rtl == row.golden
    assert splits["test"].rtl > 0.7
