"""Data sets in the raw Planetoid layout: eight files ``ind.<name>.*``, six of them pickles.

The pickles are protocol-2 files of Python 2. They are read with an unpickler that knows only the
few classes that these files name and builds the sparse matrices from plain dictionaries, so that
a foreign pickle is refused and never executed.
"""

import pickle
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from .graph_data import GraphData, Tier

__all__ = ["read_planetoid"]

PARTS = ("x", "y", "tx", "ty", "allx", "ally", "graph")
VALIDATION_NODES = 500


class _Csr:
    """State of a pickled sparse matrix, without SciPy's code."""


def _reconstructor(kind: type, base: type, state: Any) -> Any:
    """Stand in for `copyreg._reconstructor`, for the one old-style class that occurs."""
    if kind is not _Csr or base is not object or state is not None:
        raise pickle.UnpicklingError("unexpected use of copy_reg._reconstructor")
    return _Csr()


_ARRAY = np.empty(0).__reduce__()[0]
_ALLOWED: dict[tuple[str, str], Any] = {
    ("copy_reg", "_reconstructor"): _reconstructor,
    ("copyreg", "_reconstructor"): _reconstructor,
    ("__builtin__", "object"): object,
    ("builtins", "object"): object,
    ("__builtin__", "list"): list,
    ("builtins", "list"): list,
    ("collections", "defaultdict"): defaultdict,
    ("numpy", "dtype"): np.dtype,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy.core.multiarray", "_reconstruct"): _ARRAY,
    ("numpy._core.multiarray", "_reconstruct"): _ARRAY,
    ("scipy.sparse.csr", "csr_matrix"): _Csr,
    ("scipy.sparse._csr", "csr_matrix"): _Csr,
}


class _Unpickler(pickle.Unpickler):
    """Finds the classes of `_ALLOWED` and refuses every other."""

    def find_class(self, module: str, name: str) -> Any:
        try:
            return _ALLOWED[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"{module}.{name} is not allowed") from None


def read_planetoid(folder: Path, name: str) -> GraphData:
    """Read ``ind.<name>.*`` from `folder`, with the standard ("public") split.

    Node order is that of the common loaders: the rows of ``allx``, then the test rows, each put
    at its own index. A node in the range of the test rows that ``test.index`` does not list (15
    in CiteSeer) has no features, no label, and no place in the split. Repeated entries of the
    neighbour lists and self edges are dropped.

    Raises
    ------
    ValueError
        If a file is missing, truncated, names a class that is not allowed, or disagrees with
        another one.
    """
    parts = {part: _read_part(folder / f"ind.{name}.{part}") for part in PARTS}
    test_idx = _read_test_index(folder / f"ind.{name}.test.index")
    first, nodes = parts["allx"].shape[0], int(test_idx.max()) + 1
    if len(test_idx) != parts["tx"].shape[0] or int(test_idx.min()) != first:
        raise ValueError(
            f"{folder}: ind.{name}.test.index must list the {parts['tx'].shape[0]} rows of tx "
            f"from {first}, not {len(test_idx)} rows from {test_idx.min()}"
        )
    train = len(parts["y"])
    return GraphData(
        name=name,
        tier=Tier.FOLDER,
        features=_features(parts, test_idx, nodes),
        edge_index=_edges(folder, parts["graph"], nodes),
        labels=_labels(parts, test_idx, nodes),
        train_idx=np.arange(train),
        val_idx=np.arange(train, train + VALIDATION_NODES),
        test_idx=np.sort(test_idx),
        classes=parts["ally"].shape[1],
        provenance=f"raw Planetoid files ind.{name}.*",
    )


def _read_part(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            value = _Unpickler(file, encoding="latin1").load()
    except FileNotFoundError:
        raise ValueError(f"{path.parent}: the file {path.name} is missing") from None
    except (pickle.UnpicklingError, EOFError, ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is not a Planetoid pickle: {error}") from error
    if isinstance(value, _Csr):
        state = vars(value)
        shape = state["_shape"] if "_shape" in state else state["shape"]
        return sp.csr_array((state["data"], state["indices"], state["indptr"]), shape=shape)
    return value


def _read_test_index(path: Path) -> np.ndarray:
    try:
        return np.array([int(line) for line in path.read_text().split()], np.int64)
    except FileNotFoundError:
        raise ValueError(f"{path.parent}: the file {path.name} is missing") from None


def _features(parts: dict[str, Any], test_idx: np.ndarray, nodes: int) -> sp.csr_array:
    first = parts["allx"].shape[0]
    place = sp.csr_array(
        (np.ones(len(test_idx), np.float32), (test_idx - first, np.arange(len(test_idx)))),
        shape=(nodes - first, len(test_idx)),
    )
    return sp.csr_array(sp.vstack([parts["allx"], place @ parts["tx"]]))


def _labels(parts: dict[str, Any], test_idx: np.ndarray, nodes: int) -> np.ndarray:
    one_hot = np.zeros((nodes, parts["ally"].shape[1]), np.int64)
    one_hot[: len(parts["ally"])] = parts["ally"]
    one_hot[test_idx] = parts["ty"]
    return np.where(one_hot.any(1), one_hot.argmax(1), -1)


def _edges(folder: Path, graph: dict[int, list[int]], nodes: int) -> np.ndarray:
    pairs = [(int(u), int(v)) for u, neighbours in graph.items() for v in neighbours]
    edges = np.array(pairs, np.int64).reshape(-1, 2)
    if edges.size and not 0 <= edges.min() <= edges.max() < nodes:
        raise ValueError(f"{folder}: graph must name nodes in 0..{nodes - 1}, not {edges.max()}")
    both = np.concatenate([edges, edges[:, ::-1]])
    return np.unique(both[both[:, 0] != both[:, 1]], axis=0).T
