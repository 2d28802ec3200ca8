"""Raw Planetoid files: a tiny set in their layout, and pickles that must not be executed."""

import os
import pickle
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from quant.gnn.datasets import load
from quant.gnn.planetoid_files import read_planetoid

TRAIN, KNOWN, TEST = 3, 510, [513, 510, 512]
"""Training nodes, rows of allx, and test.index: 511 is in its range and not listed."""


def one_hot(labels: np.ndarray) -> np.ndarray:
    """Return int32 rows with a single one, as the files have them."""
    return np.eye(3, dtype=np.int32)[labels]


def parts() -> dict[str, Any]:
    """Make the seven pickled objects of a set of 514 nodes and 4 words."""
    rng = np.random.default_rng(0)
    allx = sp.csr_matrix((rng.random((KNOWN, 4)) < 0.5).astype(np.float32))
    graph = defaultdict(list, {v: [] for v in range(KNOWN + 4)})
    graph[0] = [1, 1, 2]
    graph[1] = [0, 0]
    graph[2] = [0, 2]
    graph[513] = [3]
    graph[3] = [513]
    return {
        "x": allx[:TRAIN],
        "y": one_hot(np.arange(TRAIN)),
        "allx": allx,
        "ally": one_hot(np.arange(KNOWN) % 3),
        "tx": sp.csr_matrix(np.eye(3, 4, dtype=np.float32)),
        "ty": one_hot(np.array([2, 0, 1])),
        "graph": graph,
    }


class _OldCsr:
    """Pickled like the sparse matrices of old SciPy: by `copy_reg` and a dictionary."""

    def __init__(self, matrix: sp.csr_matrix) -> None:
        self.state = {
            "data": matrix.data,
            "indices": matrix.indices,
            "indptr": matrix.indptr,
            "_shape": matrix.shape,
            "maxprint": 50,
        }


class _OldPickler(pickle.Pickler):
    """Writes `_OldCsr` under the names of Python 2 and SciPy of that time."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, _OldCsr):
            return _reconstruct, (sp.csr_matrix, object, None), obj.state
        return NotImplemented


def _reconstruct(*_arguments: object) -> None:
    """Stand in the pickle for `copy_reg._reconstructor`."""


def write(folder: Path, old: bool = False) -> Path:
    """Write the eight files of the set ``tiny``."""
    for part, value in parts().items():
        with (folder / f"ind.tiny.{part}").open("wb") as file:
            value = _OldCsr(value) if old and sp.issparse(value) else value
            _OldPickler(file, protocol=3).dump(value)
        if old:
            rename(folder / f"ind.tiny.{part}")
    (folder / "ind.tiny.test.index").write_text("".join(f"{v}\n" for v in TEST))
    return folder


def rename(file: Path) -> None:
    """Put Python 2's module names into a pickle of protocol 3, whose names are plain lines."""
    text = file.read_bytes()
    for new, old in {
        f"c{__name__}\n_reconstruct\n": "ccopy_reg\n_reconstructor\n",
        "cbuiltins\n": "c__builtin__\n",
        "cscipy.sparse._csr\n": "cscipy.sparse.csr\n",
        "cnumpy._core.multiarray\n": "cnumpy.core.multiarray\n",
    }.items():
        text = text.replace(new.encode(), old.encode())
    file.write_bytes(text)


@pytest.mark.parametrize("old", [False, True])
def test_nodes_edges_and_split_of_the_raw_layout(tmp_path: Path, old: bool):
    data = read_planetoid(write(tmp_path, old), "tiny")
    assert data.nodes == 514
    assert data.classes == 3
    # Row i of tx belongs to node TEST[i]; node 511 has neither words nor a label.
    np.testing.assert_array_equal(
        data.features[510:].toarray(), [[0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0], [1, 0, 0, 0]]
    )
    assert data.labels[510:].tolist() == [0, -1, 1, 2]
    # Repeats and the self edge of node 2 are gone; every edge stands in both directions.
    assert data.edge_index.tolist() == [[0, 0, 1, 2, 3, 513], [1, 2, 0, 0, 513, 3]]
    assert data.train_idx.tolist() == [0, 1, 2]
    assert data.val_idx.tolist() == list(range(3, 503))
    assert data.test_idx.tolist() == [510, 512, 513]


def test_the_loader_finds_the_raw_layout(tmp_path: Path):
    (tmp_path / "tiny" / "raw").mkdir(parents=True)
    write(tmp_path / "tiny" / "raw")
    assert load("tiny", root=tmp_path).name == "tiny"


class _Attack:
    """Would make a folder if it were unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.mkdir, (str(self.path),)


def test_a_class_that_is_not_allowed_is_refused_and_not_executed(tmp_path: Path):
    write(tmp_path)
    file, trap = tmp_path / "ind.tiny.graph", tmp_path / "trap"
    file.write_bytes(pickle.dumps(_Attack(trap)))
    place = re.escape(str(file))
    with pytest.raises(
        ValueError, match=rf"^{place} is not a Planetoid pickle: \w+\.mkdir is not allowed$"
    ):
        read_planetoid(tmp_path, "tiny")
    assert not trap.exists()


def test_missing_and_truncated_files_are_refused(tmp_path: Path):
    write(tmp_path)
    file = tmp_path / "ind.tiny.allx"
    file.write_bytes(file.read_bytes()[:60])
    with pytest.raises(ValueError, match=f"^{re.escape(str(file))} is not a Planetoid pickle: "):
        read_planetoid(tmp_path, "tiny")
    file.unlink()
    here = re.escape(str(tmp_path))
    with pytest.raises(ValueError, match=rf"^{here}: the file ind\.tiny\.allx is missing$"):
        read_planetoid(tmp_path, "tiny")


def test_a_test_index_that_does_not_fit_is_refused(tmp_path: Path):
    write(tmp_path)
    (tmp_path / "ind.tiny.test.index").write_text("511\n512\n513\n")
    message = "ind.tiny.test.index must list the 3 rows of tx from 510, not 3 rows from 511"
    with pytest.raises(ValueError, match=f"^{re.escape(f'{tmp_path}: {message}')}$"):
        read_planetoid(tmp_path, "tiny")
