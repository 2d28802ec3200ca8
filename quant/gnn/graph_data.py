"""One graph with features, labels and a split: what every data tier gives and training reads."""

from dataclasses import dataclass
from enum import StrEnum
from typing import cast

import numpy as np
import scipy.sparse as sp

__all__ = ["GraphData", "Tier"]


class Tier(StrEnum):
    """Where a data set comes from; named in every result."""

    BUILT_IN = "built-in"
    FOLDER = "folder"
    DOWNLOAD = "download"


@dataclass(frozen=True, eq=False)
class GraphData:
    """A node-classification data set.

    Parameters
    ----------
    name : str
        Name of the set, also the name of a BitGraph made from it.
    tier : Tier
    features : csr_array [nodes, reduction], float32
        Without stored zeros, indices sorted.
    edge_index : ndarray [2, edges], int64
        Row 0 source, row 1 target; an undirected edge stands twice. Duplicates and self edges
        are kept and count as often as they stand; the model's own self loops are not in it.
    labels : ndarray [nodes], int64
        0 .. classes - 1, or -1 for a node without label.
    train_idx, val_idx, test_idx : ndarray, int64
        Disjoint sets of labelled nodes.
    classes : int
    provenance : str
        One line that says how the numbers were obtained.

    Raises
    ------
    ValueError
        If a rule above does not hold.
    """

    name: str
    tier: Tier
    features: sp.csr_array
    edge_index: np.ndarray
    labels: np.ndarray
    train_idx: np.ndarray
    val_idx: np.ndarray
    test_idx: np.ndarray
    classes: int
    provenance: str

    def __post_init__(self) -> None:
        features = sp.csr_array(self.features, dtype=np.float32, copy=True)
        features.sum_duplicates()
        features.eliminate_zeros()
        object.__setattr__(self, "features", features)
        for field in ("edge_index", "labels", "train_idx", "val_idx", "test_idx"):
            object.__setattr__(self, field, _integers(self.name, field, getattr(self, field)))
        _check_features(self)
        _check_edges(self)
        _check_labels(self)
        _check_split(self)

    @property
    def nodes(self) -> int:
        """Nodes of the graph."""
        return cast(tuple[int, int], self.features.shape)[0]

    @property
    def reduction(self) -> int:
        """Features of a node."""
        return cast(tuple[int, int], self.features.shape)[1]

    @property
    def binary(self) -> bool:
        """Whether every stored feature is 1, so that the first layer's codes need no learning."""
        return bool(np.all(self.features.data == 1))

    def degrees(self) -> np.ndarray:
        """Count the edges that end in each node, duplicates counted, int64 [nodes]."""
        return np.bincount(self.edge_index[1], minlength=self.nodes)


def _integers(name: str, field: str, values: np.ndarray) -> np.ndarray:
    array = np.asarray(values)
    if array.size and not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"{name}: {field} must hold integers, not {array.dtype}")
    return np.ascontiguousarray(array, dtype=np.int64)


def _check_features(data: GraphData) -> None:
    if data.nodes == 0:
        raise ValueError(f"{data.name}: the graph must have at least one node, not 0")
    if data.reduction == 0:
        raise ValueError(f"{data.name}: features must have at least one column, not 0")
    bad = np.flatnonzero(~np.isfinite(data.features.data))
    if bad.size:
        row = int(np.searchsorted(data.features.indptr, bad[0], side="right")) - 1
        value = data.features.data[bad[0]]
        raise ValueError(f"{data.name}: features of node {row} must be finite, not {value}")


def _check_edges(data: GraphData) -> None:
    if data.edge_index.ndim != 2 or data.edge_index.shape[0] != 2:
        shape = data.edge_index.shape
        raise ValueError(f"{data.name}: edge_index must have the shape (2, edges), not {shape}")
    wrong = np.flatnonzero((data.edge_index < 0) | (data.edge_index >= data.nodes))
    if wrong.size:
        row, column = divmod(int(wrong[0]), data.edge_index.shape[1])
        value = data.edge_index[row, column]
        raise ValueError(
            f"{data.name}: edge_index[{row}, {column}] must be in 0..{data.nodes - 1}, not {value}"
        )


def _check_labels(data: GraphData) -> None:
    if data.labels.shape != (data.nodes,):
        raise ValueError(
            f"{data.name}: labels must have the shape ({data.nodes},), not {data.labels.shape}"
        )
    wrong = np.flatnonzero((data.labels < -1) | (data.labels >= data.classes))
    if wrong.size:
        raise ValueError(
            f"{data.name}: labels[{wrong[0]}] must be in -1..{data.classes - 1}, "
            f"not {data.labels[wrong[0]]}"
        )


def _check_split(data: GraphData) -> None:
    seen = np.zeros(data.nodes, np.int64)
    for field in ("train_idx", "val_idx", "test_idx"):
        index = getattr(data, field)
        if index.ndim != 1 or index.size == 0:
            raise ValueError(f"{data.name}: {field} must hold at least one node, not 0")
        wrong = index[(index < 0) | (index >= data.nodes)]
        if wrong.size:
            raise ValueError(
                f"{data.name}: {field} must hold nodes in 0..{data.nodes - 1}, not {wrong[0]}"
            )
        unlabelled = index[data.labels[index] < 0]
        if unlabelled.size:
            raise ValueError(f"{data.name}: {field} must hold labelled nodes, not {unlabelled[0]}")
        np.add.at(seen, index, 1)
    twice = np.flatnonzero(seen > 1)
    if twice.size:
        raise ValueError(f"{data.name}: node {twice[0]} must stand in one part of the split once")
