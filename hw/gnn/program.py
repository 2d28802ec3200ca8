"""What one graph engine with one config executes: a memory image and where everything lies in it.

Lowering (`hw.gnn.lower`) makes a Program; golden model, gates and cost model read it. It holds
integers only and no output values. The words inside the image are described in `hw.gnn.format`.
"""

import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Self

import numpy as np

from hw.gnn.config import GnnConfig

__all__ = ["Kind", "Layer", "Program", "Region"]

FILE_VERSION = 1


class Kind(StrEnum):
    """What a region of memory holds; the last three are written by the engine."""

    PROGRAM = "program"
    COMMANDS = "commands"
    WEIGHTS = "weights"
    COMBINE_NODES = "combine_nodes"
    AGGREGATE_NODES = "aggregate_nodes"
    EDGES = "edges"
    SOURCES = "sources"
    INPUT = "input"
    Q_ROWS = "q_rows"
    FEATURES = "features"
    LOGITS = "logits"


OUTPUT_KINDS = (Kind.Q_ROWS, Kind.FEATURES, Kind.LOGITS)
"""Regions that the engine writes; they are zero in the image."""


@dataclass(frozen=True)
class Region:
    """An address range: bytes `address` to `address + size_bytes` (an upper bound for features).

    `layer` is the layer that reads an input region or that *writes* an output region; for
    `Kind.FEATURES` the features are the input of layer `layer + 1`. `part` is -1 where a region
    belongs to all parts.
    """

    kind: Kind
    layer: int
    part: int
    address: int
    size_bytes: int


@dataclass(frozen=True)
class Layer:
    """What a reader of the image must know about one layer.

    `signed`, `format` and `index_width` describe the layer's input features.
    """

    reduction: int
    columns: int
    signed: bool
    format: int
    index_width: int
    last: bool


@dataclass(frozen=True)
class Program:
    """A network and a graph, lowered for one config.

    Parameters
    ----------
    config : GnnConfig
    graph_hash : str
        SHA-256 of the BitGraph that was lowered.
    layers : tuple of Layer
    parts : tuple of (int, int)
        First row and one past the last row of each part; contiguous, covering all rows.
    node_order : ndarray [rows], int64
        Node of the BitGraph that stands in each row.
    regions : tuple of Region
        Sorted by address, disjoint.
    image : ndarray [memory_bytes], uint8
        Initial memory, outputs included as zeros; byte 0 is address 0, the header stands there.
    """

    config: GnnConfig
    graph_hash: str
    layers: tuple[Layer, ...]
    parts: tuple[tuple[int, int], ...]
    node_order: np.ndarray
    regions: tuple[Region, ...]
    image: np.ndarray

    @property
    def rows(self) -> int:
        """Nodes of the graph."""
        return len(self.node_order)

    @property
    def one_part(self) -> bool:
        """Whether combination hands its rows to aggregation on chip."""
        return len(self.parts) == 1

    def region(self, kind: Kind, layer: int, part: int = -1) -> Region:
        """Return the one region of that kind, layer and part.

        Raises
        ------
        KeyError
            If there is none.
        """
        for region in self.regions:
            if (region.kind, region.layer, region.part) == (kind, layer, part):
                return region
        raise KeyError(f"no region {kind.value} of layer {layer}, part {part}")

    def outputs(self) -> tuple[Region, ...]:
        """Return the regions that the engine writes, by address."""
        return tuple(r for r in self.regions if r.kind in OUTPUT_KINDS)

    def find(self, address: int) -> Region | None:
        """Return the region that holds `address`, or None."""
        for region in self.regions:
            if region.address <= address < region.address + region.size_bytes:
                return region
        return None

    def save(self, path: Path) -> None:
        """Write `path` (JSON header) and `path` with suffix ``.bin`` (little-endian image)."""
        header = {
            "format": "bitwright-program",
            "version": FILE_VERSION,
            "engine": "gnn",
            "config": self.config.model_dump(),
            "config_hash": f"{self.config.hash:08x}",
            "graph_hash": self.graph_hash,
            "layers": [asdict(layer) for layer in self.layers],
            "parts": [list(part) for part in self.parts],
            "node_order": self.node_order.tolist(),
            "regions": [asdict(region) for region in self.regions],
            "image": path.with_suffix(".bin").name,
            "image_bytes": len(self.image),
        }
        path.write_text(json.dumps(header, indent=1) + "\n")
        path.with_suffix(".bin").write_bytes(self.image.tobytes())

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what `save` wrote.

        Raises
        ------
        ValueError
            If the file is foreign, of another version, or its image is truncated.
        """
        header = json.loads(path.read_text())
        if header.get("format") != "bitwright-program" or header.get("engine") != "gnn":
            raise ValueError(f"{path} is not a Program of the graph engine")
        if header["version"] != FILE_VERSION:
            raise ValueError(f"{path}: version must be {FILE_VERSION}, not {header['version']}")
        image = np.frombuffer(path.with_name(header["image"]).read_bytes(), np.uint8)
        if len(image) != header["image_bytes"]:
            raise ValueError(
                f"{path}: image must have {header['image_bytes']} bytes, not {len(image)}"
            )
        return cls(
            config=GnnConfig.model_validate(header["config"]),
            graph_hash=header["graph_hash"],
            layers=tuple(Layer(**layer) for layer in header["layers"]),
            parts=tuple((a, b) for a, b in header["parts"]),
            node_order=np.array(header["node_order"], np.int64),
            regions=tuple(Region(**{**r, "kind": Kind(r["kind"])}) for r in header["regions"]),
            image=image.copy(),
        )
