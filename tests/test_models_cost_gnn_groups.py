"""Groups against a decoder that goes through the rows token by token."""

import numpy as np
import pytest

from hw.gnn.config import CombinationConfig, GnnConfig
from hw.gnn.format import Format
from models.cost.gnn.groups import form_groups
from models.cost.gnn.statistics import group_counts


def _config(lanes: int) -> GnnConfig:
    return GnnConfig(combination=CombinationConfig(lanes=lanes))


def _steps(layout: Format, reduction: int, width: int, row: list[int]) -> list[tuple[bool, int]]:
    """Return for each decoder step of a row: it gives a token; its value, or -1."""
    if width == 0 or (layout == Format.INDEX and not row):
        return [(True, -1)]
    if layout == Format.INDEX:
        return [(True, k) for k in row]
    steps: list[tuple[bool, int]] = []
    for first in range(0, reduction, 16):
        members = [k for k in row if first <= k < first + 16]
        ends = first + 16 >= reduction and not members
        steps += [(ends, -1), *((True, k) for k in members)]
    return steps


def _brute(layout: Format, reduction: int, lanes: int, width: list[int], rows: list[list[int]]):
    """Walk through all steps with a set of lanes in hand."""
    groups: list[dict] = []
    now = token_before = 0
    for number, (w, row) in enumerate(zip(width, rows, strict=True)):
        taken: set[int] = set()
        opened = False
        for gives, value in _steps(layout, reduction, w, row):
            now += 1
            if not gives:
                continue
            if not opened or (value >= 0 and value % lanes in taken):
                opened = True
                taken = set()
                groups.append({"row": number, "gap": now - token_before, "first": now})
                groups[-1] |= {"filled": value >= 0, "stored": w > 0 and bool(row)}
                if layout == Format.BITMAP:
                    groups[-1]["stored"] = w > 0
            if value >= 0:
                taken.add(value % lanes)
            groups[-1]["span"] = now - groups[-1]["first"]
            token_before = now
    return groups


def _rows(layout: Format, reduction: int, seed: int) -> tuple[list[int], list[list[int]]]:
    rng = np.random.default_rng(seed)
    width = rng.integers(0, 4, 40).tolist()
    rows = []
    for w in width:
        density = rng.choice([0.0, 0.05, 0.3, 1.0])
        row = np.flatnonzero(rng.random(reduction) < density) if w else np.array([], int)
        rows.append((rng.permutation(row) if layout == Format.INDEX else row).tolist())
    return width, rows


@pytest.mark.parametrize("layout", Format)
@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
@pytest.mark.parametrize("reduction", [1, 15, 16, 17, 50])
def test_groups_step_by_step(layout: Format, lanes: int, reduction: int):
    width, rows = _rows(layout, reduction, seed=lanes + reduction)
    groups = form_groups(
        _config(lanes),
        layout,
        reduction,
        np.array(width),
        np.array([len(row) for row in rows]),
        np.array([k for row in rows for k in row], int),
    )
    expected = _brute(layout, reduction, lanes, width, rows)
    for name in ("row", "gap", "span", "filled", "stored"):
        assert getattr(groups, name).tolist() == [group[name] for group in expected], name


@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
def test_counts_agree_with_the_groups(lanes: int):
    _, rows = _rows(Format.INDEX, 40, seed=lanes)
    counts = np.array([len(row) for row in rows])
    index = np.array([k for row in rows for k in row], int)
    groups = form_groups(_config(lanes), Format.INDEX, 40, np.ones(40, int), counts, index)
    counted, conflicts = group_counts(np.concatenate(([0], np.cumsum(counts))), index, lanes)
    assert counted.tolist() == np.bincount(groups.row[groups.filled], minlength=40).tolist()
    by_hand = []
    for row in rows:
        taken: set[int] = set()
        early = 0
        for k in row:
            if k % lanes in taken:
                early += len(taken) < lanes
                taken = set()
            taken.add(k % lanes)
        by_hand.append(early)
    assert conflicts.tolist() == by_hand


def test_by_hand():
    # Two lanes, a bitmap of two chunks. Row 0, width 2: {0, 1} are one group, 18 takes lane 0.
    # Steps: bitmap, 0, 1, bitmap, 18. Row 1, width 0: one step. Row 2, width 1: both bitmaps.
    groups = form_groups(
        _config(2), Format.BITMAP, 20, np.array([2, 0, 1]), np.array([3, 0, 0]),
        np.array([0, 1, 18]),
    )  # fmt: skip
    assert groups.row.tolist() == [0, 0, 1, 2]
    assert groups.gap.tolist() == [2, 2, 1, 2]
    assert groups.span.tolist() == [1, 0, 0, 0]
    assert groups.filled.tolist() == [True, True, False, False]
    assert groups.stored.tolist() == [True, True, False, True]
