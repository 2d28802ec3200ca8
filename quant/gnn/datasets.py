"""Finds a data set by name or folder, in three tiers: built-in, folder, download."""

import os
from dataclasses import replace
from pathlib import Path

from .download import DOWNLOADS, fetch
from .generate import PRESETS, generate
from .graph_data import GraphData, Tier
from .plain_files import read_npz
from .planetoid_files import read_planetoid

__all__ = ["DATA_VARIABLE", "load"]

DATA_VARIABLE = "BITWRIGHT_DATA"
"""Environment variable that names a folder with one folder for each data set."""


def load(
    name: str | Path, root: Path | None = None, seed: int = 0, download: bool = False
) -> GraphData:
    """Load a data set.

    Parameters
    ----------
    name : str or Path
        A generated graph (``cora-like``, ``demo``, ...), the name of a set such as ``cora``, or a
        folder or ``.npz`` file. A folder holds either one ``.npz`` of plain arrays or the raw
        Planetoid files ``ind.<name>.*``.
    root : Path, optional
        Folder in which a named set lies as ``<name>/``; by default what `DATA_VARIABLE` names.
    seed : int
        Of a generated graph; no other set depends on it.
    download : bool
        Fetch a named set that `root` does not hold.

    Raises
    ------
    FileNotFoundError
        If there is no such set; the message says where it was looked for.
    ValueError
        If its files are malformed.
    """
    if isinstance(name, str) and name in PRESETS:
        return generate(name, seed)
    given = Path(name)
    if given.suffix == ".npz" or len(given.parts) > 1 or given.is_dir():
        return _load_path(given)
    root = root or (Path(os.environ[DATA_VARIABLE]) if os.environ.get(DATA_VARIABLE) else None)
    if root is not None and (root / name).is_dir():
        return _load_path(root / name)
    if download:
        return replace(_load_path(fetch(str(name))), tier=Tier.DOWNLOAD)
    raise FileNotFoundError(_missing(str(name), root))


def _load_path(path: Path) -> GraphData:
    if not path.exists():
        raise FileNotFoundError(f"data folder {path} does not exist")
    if path.is_file():
        return read_npz(path)
    graphs = sorted(path.glob("ind.*.graph")) or sorted(path.glob("raw/ind.*.graph"))
    archives = sorted(path.glob("*.npz"))
    if len(archives) == 1:
        return read_npz(archives[0])
    if len(archives) > 1:
        raise ValueError(f"data folder {path} must hold one npz file, not {len(archives)}")
    if len(graphs) == 1:
        return read_planetoid(graphs[0].parent, graphs[0].name.split(".")[1])
    raise FileNotFoundError(f"data folder {path} holds neither an npz file nor ind.*.graph")


def _missing(name: str, root: Path | None) -> str:
    looked = f"{root} has no folder {name}" if root else f"{DATA_VARIABLE} is not set"
    fetchable = ", or allow the download" if name in DOWNLOADS else ""
    return (
        f"data set {name!r} not found: {looked}; set {DATA_VARIABLE} to a folder that holds "
        f"{name}/{name}.npz, name a folder{fetchable}, or use one of {', '.join(PRESETS)}"
    )
