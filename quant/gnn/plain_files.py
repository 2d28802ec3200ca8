"""Data sets as plain arrays in one ``.npz``: read without pickle."""

from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import scipy.sparse as sp

from .graph_data import GraphData, Tier

__all__ = ["read_npz"]

ARRAYS = (
    "edge_index", "x_indptr", "x_indices", "x_data", "x_shape",
    "y", "train_idx", "val_idx", "test_idx", "num_classes",
)  # fmt: skip


def read_npz(path: Path) -> GraphData:
    """Read a data set from `path`, an archive with the arrays of `ARRAYS`.

    Features are a CSR matrix in four arrays; further arrays are ignored.

    Raises
    ------
    ValueError
        If the archive is truncated or foreign, lacks an array, or breaks a rule of `GraphData`.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            missing = [name for name in ARRAYS if name not in archive]
            if missing:
                raise ValueError(f"{path}: the array {missing[0]!r} is missing")
            arrays = {name: archive[name] for name in ARRAYS}
    except (BadZipFile, EOFError, OSError) as error:
        raise ValueError(f"{path} is not a complete npz archive") from error
    return GraphData(
        name=path.stem,
        tier=Tier.FOLDER,
        features=_features(path, arrays),
        edge_index=arrays["edge_index"],
        labels=arrays["y"],
        train_idx=arrays["train_idx"],
        val_idx=arrays["val_idx"],
        test_idx=arrays["test_idx"],
        classes=int(arrays["num_classes"]),
        provenance=f"plain arrays of {path.name}",
    )


def _features(path: Path, arrays: dict[str, np.ndarray]) -> sp.csr_array:
    rows, columns = (int(size) for size in arrays["x_shape"])
    indptr, indices = arrays["x_indptr"], arrays["x_indices"]
    if indptr.shape != (rows + 1,) or np.any(np.diff(indptr) < 0) or indptr[0] != 0:
        raise ValueError(f"{path}: x_indptr must rise from 0 in {rows + 1} entries")
    if indptr[-1] != indices.size or indices.size != arrays["x_data"].size:
        raise ValueError(f"{path}: x_data and x_indices must have {indptr[-1]} entries")
    if indices.size and not 0 <= indices.min() <= indices.max() < columns:
        raise ValueError(f"{path}: x_indices must be in 0..{columns - 1}, not {indices.max()}")
    values = arrays["x_data"].astype(np.float32)
    return sp.csr_array((values, indices, indptr), shape=(rows, columns))
