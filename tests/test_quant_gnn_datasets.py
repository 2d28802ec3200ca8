"""Finding data sets: names, folders, the plain layout, and what is said when there is nothing."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from quant.gnn.datasets import load
from quant.gnn.graph_data import Tier

ARRAYS = {
    "edge_index": np.array([[0, 1], [1, 0]], np.int32),
    "x_indptr": np.array([0, 1, 2, 2, 3], np.int32),
    "x_indices": np.array([0, 1, 0], np.int32),
    "x_data": np.array([1, 1, 1], np.uint8),
    "x_shape": np.array([4, 2], np.int32),
    "y": np.array([0, 1, 0, -1], np.int16),
    "train_idx": np.array([0]),
    "val_idx": np.array([1]),
    "test_idx": np.array([2]),
    "num_classes": np.array(2),
}


def write(folder: Path, **changes: np.ndarray | None) -> Path:
    """Write a plain set ``small`` below `folder`, with some arrays changed or left out."""
    arrays = {k: v for k, v in {**ARRAYS, **changes}.items() if v is not None}
    (folder / "small").mkdir()
    np.savez(folder / "small" / "small.npz", allow_pickle=False, **arrays)
    return folder / "small" / "small.npz"


@pytest.fixture
def no_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the default data folder."""
    monkeypatch.delenv("BITWRIGHT_DATA", raising=False)


def test_a_plain_set_is_found_by_name_folder_and_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = write(tmp_path)
    monkeypatch.setenv("BITWRIGHT_DATA", str(tmp_path))
    for data in (load("small"), load(file.parent), load(file), load("small", root=tmp_path)):
        assert data.name == "small"
        assert data.tier is Tier.FOLDER
        assert data.labels.tolist() == [0, 1, 0, -1]
        np.testing.assert_array_equal(data.features.toarray(), [[1, 0], [0, 1], [0, 0], [1, 0]])
    assert load("small").edge_index.dtype == np.int64


def test_a_generated_graph_is_found_by_name():
    assert load("demo").tier is Tier.BUILT_IN


def test_real_cora_has_its_known_facts(data_set: Callable[[str], Path]):
    # Counts: the table of the Planetoid papers and shared/data/cora/README.md.
    data = load(data_set("cora"))
    assert (data.nodes, data.reduction, data.classes) == (2708, 1433, 7)
    assert data.edge_index.shape == (2, 10556)
    assert data.features.nnz == 49216
    assert data.binary
    assert np.bincount(data.labels).tolist() == [351, 217, 418, 818, 426, 298, 180]
    assert data.degrees().max() == 168
    assert [data.train_idx.size, data.val_idx.size, data.test_idx.size] == [140, 500, 1000]
    assert data.tier is Tier.FOLDER


def test_real_citeseer_has_nodes_without_label_and_without_edges(
    data_set: Callable[[str], Path],
):
    data = load(data_set("citeseer"))
    assert (data.labels == -1).sum() == 15
    assert (data.degrees() == 0).sum() == 48


def test_real_pubmed_has_real_features(data_set: Callable[[str], Path]):
    data = load(data_set("pubmed"))
    assert not data.binary
    assert data.features.nnz == 988031
    assert data.features.data.min() > 0


KNOWN = "cora-like, citeseer-like, pubmed-like, demo"


@pytest.mark.usefixtures("no_root")
def test_missing_set_without_root():
    with pytest.raises(
        FileNotFoundError,
        match=(
            "^data set 'cora' not found: BITWRIGHT_DATA is not set; set BITWRIGHT_DATA to a folder"
            f" that holds cora/cora.npz, name a folder, or use one of {KNOWN}$"
        ),
    ):
        load("cora")


def test_missing_set_below_a_root(tmp_path: Path):
    with pytest.raises(
        FileNotFoundError,
        match=(
            f"^data set 'pubmed' not found: {re.escape(str(tmp_path))} has no folder pubmed; set"
            " BITWRIGHT_DATA to a folder that holds pubmed/pubmed.npz, name a folder, or allow the"
            f" download, or use one of {KNOWN}$"
        ),
    ):
        load("pubmed", root=tmp_path)


def test_missing_and_empty_folders(tmp_path: Path):
    absent = re.escape(str(tmp_path / "absent"))
    with pytest.raises(FileNotFoundError, match=f"^data folder {absent} does not exist$"):
        load(tmp_path / "absent")
    here = re.escape(str(tmp_path))
    with pytest.raises(
        FileNotFoundError,
        match=rf"^data folder {here} holds neither an npz file nor ind\.\*\.graph$",
    ):
        load(tmp_path)
    for name in ("a.npz", "b.npz"):
        (tmp_path / name).touch()
    with pytest.raises(ValueError, match=f"^data folder {here} must hold one npz file, not 2$"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y": None}, "the array 'y' is missing"),
        ({"x_indptr": np.array([0, 1, 2, 3])}, "x_indptr must rise from 0 in 5 entries"),
        ({"x_indptr": np.array([0, 2, 1, 2, 3])}, "x_indptr must rise from 0 in 5 entries"),
        ({"x_data": np.ones(2, np.uint8)}, "x_data and x_indices must have 3 entries"),
        ({"x_indices": np.array([0, 1, 2])}, "x_indices must be in 0..1, not 2"),
    ],
)
def test_malformed_archives_are_refused(
    tmp_path: Path, changes: dict[str, np.ndarray | None], message: str
):
    file = write(tmp_path, **changes)
    with pytest.raises(ValueError, match=f"^{re.escape(f'{file}: {message}')}$"):
        load(file)


def test_truncated_and_pickled_archives_are_refused(tmp_path: Path):
    file = write(tmp_path)
    file.write_bytes(file.read_bytes()[:400])
    with pytest.raises(ValueError, match=f"^{re.escape(str(file))} is not a complete npz archive$"):
        load(file)
