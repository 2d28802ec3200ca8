"""Small random graphs as AGGREGATE commands: memory before and after, and the counts.

Everything is made with NumPy from the words of `hw.gnn.format`; only step A2 is the golden
model's. Used by the test of the aggregation engine.
"""

from dataclasses import dataclass, field
from functools import cache

import numpy as np

from hw.gnn.config import AggregationConfig, CombinationConfig, GnnConfig
from hw.gnn.format import AGGREGATE_COLUMN, AGGREGATE_NODE, SOURCE, Opcode
from hw.memory_config import MemoryConfig
from models.golden.gnn.post_processor import post_process

__all__ = ["LAYERS", "Case", "Layer", "aggregation_case", "segment"]

MEMORY_BYTES = 1 << 14


@dataclass(frozen=True)
class Layer:
    """What one test runs: a graph's last aggregation, in one part or in several."""

    nodes: int
    columns: int
    parts: int = 1
    last: bool = False
    signed: bool = False
    beat_width: int = 64
    lanes: int = 4
    columns_max: int = 32
    isolated: bool = False
    """No edge at all."""


LAYERS = {
    "one part": Layer(9, 16),
    "one part, 7 columns": Layer(10, 7, signed=True),
    "one part, last": Layer(9, 7, last=True),
    "one word a row": Layer(12, 16, lanes=16),
    "parts": Layer(13, 20, parts=3),
    "parts, last": Layer(13, 7, parts=2, last=True),
    "parts, wide bus": Layer(12, 20, parts=2, signed=True, beat_width=256),
    "parts, odd": Layer(11, 3, parts=4, lanes=2, columns_max=8),
    "one node": Layer(1, 16),
    "no edges": Layer(5, 16, parts=2, isolated=True),
}


@dataclass
class Image:
    """Memory filled from the bottom; regions start on multiples of 128 bytes."""

    beat_bytes: int
    before: bytearray = field(default_factory=lambda: bytearray(MEMORY_BYTES))
    top: int = 0x80

    def put(self, content: bytes, size: int = 0) -> dict[str, int]:
        """Store `content`; return its address and beats."""
        at = self.top
        self.before[at : at + len(content)] = content
        self.top += -(-max(len(content), size) // 128) * 128 + 128
        return {"address": at, "beats": -(-len(content) // self.beat_bytes)}


@dataclass
class Case:
    """A layer made concrete: commands, memory before and after, and the counts."""

    config: GnnConfig
    layer: Layer
    commands: list[dict] = field(default_factory=list)
    records: list[list[list[int]]] = field(default_factory=list)
    """Destinations of each source row, by command."""
    outputs: list[tuple[list[int], np.ndarray]] = field(default_factory=list)
    """Widths and codes (or logits) by command."""
    operands: list[dict] = field(default_factory=list)
    """Arguments of `post_process` by command."""
    rows: list[int] = field(default_factory=list)
    image: Image = field(default_factory=lambda: Image(8))
    after: bytearray = field(default_factory=bytearray)
    events: dict[str, int] = field(default_factory=dict)


def _words(values: list[int]) -> bytes:
    return b"".join(value.to_bytes(8, "little") for value in values)


def _config(layer: Layer) -> GnnConfig:
    return GnnConfig(
        memory=MemoryConfig(axi_data_width=layer.beat_width),
        combination=CombinationConfig(columns_max=layer.columns_max),
        aggregation=AggregationConfig(lanes=layer.lanes, psum_buffer_bytes=1024),
    )


def _edges(layer: Layer, rng: np.random.Generator) -> np.ndarray:
    """Random edges with duplicates, self edges, a hub and nodes without any [2, E]."""
    if layer.isolated:
        return np.zeros((2, 0), np.int64)
    nodes = layer.nodes
    some = rng.integers(0, max(nodes - 2, 1), (2, 2 * nodes))
    hub = np.stack([np.full(nodes, nodes // 2), np.arange(nodes)])
    loops = np.tile(np.arange(0, nodes, 3), (2, 1))
    return np.concatenate([some, some[:, :3], hub, loops], 1)


def segment(layer: Layer, widths: list[int], values: np.ndarray) -> bytes:
    """Return an output region as the format states it."""
    if layer.last:
        return values.astype("<i8").tobytes()
    bits, at = 0, 0
    for width, codes in zip(widths, values.tolist(), strict=True):
        for start in range(0, layer.columns * (width > 0), 16):
            chunk = codes[start : start + 16]
            bits |= sum(1 << k for k, code in enumerate(chunk) if code) << at
            at += 16
            for code in filter(None, chunk):
                bits |= (abs(code) | (code < 0) << width) << at
                at += width + layer.signed
    size = layer.beat_width // 8
    beats = -(-at // layer.beat_width)
    return beats.to_bytes(size, "little") + bits.to_bytes(beats * size, "little")


@cache
def aggregation_case(name: str) -> Case:
    """Return the case of the layer of that name in `LAYERS`."""
    layer = LAYERS[name]
    rng = np.random.default_rng(len(name))
    case = Case(_config(layer), layer)
    case.image = Image(layer.beat_width // 8)
    q = rng.integers(-7, 8, (layer.nodes, layer.columns))
    edges = _edges(layer, rng)
    row_bits = 4 * layer.columns
    row_beats = -(-row_bits // layer.beat_width)
    packed = [sum((int(v) & 15) << 4 * j for j, v in enumerate(row)) for row in q]
    case.rows = packed
    row_bytes = row_beats * layer.beat_width // 8
    at = case.image.put(b"".join(row.to_bytes(row_bytes, "little") for row in packed))["address"]
    factors = {
        "n": rng.integers(-300, 300, layer.columns),
        "r": rng.integers(-9, 9, layer.columns),
        "b": rng.integers(-5000, 5000, layer.columns),
    }
    acc = np.zeros_like(q)
    np.add.at(acc, edges[1], q[edges[0]])
    bounds = np.linspace(0, layer.nodes, layer.parts + 1).astype(int).tolist()
    written = []
    for part, (first, stop) in enumerate(zip(bounds, bounds[1:], strict=False)):
        sources, records = _records(layer, edges, first, stop)
        case.records.append(records)
        command = _command(case, factors, acc[first:stop], records, rng)
        runs = [SOURCE.pack(address=at + s * row_bytes, beats=n * row_beats) for s, n in sources]
        memory = layer.parts > 1
        listed = case.image.put(_words(runs) if memory else b"")
        command |= {
            "source_memory": int(memory),
            "sources_address": listed["address"],
            "sources_beats": listed["beats"],
            "source_words": len(runs) * memory,
            "row_beats": row_beats,
            "clear_words": case.config.aggregation.depth if part == 0 else 0,
        }
        output = segment(layer, *case.outputs[-1])
        command["out_address"] = case.image.put(b"", len(output))["address"]
        written.append((command["out_address"], output))
        case.commands.append({"opcode": Opcode.AGGREGATE, **command})
    case.after = bytearray(case.image.before)
    for address, output in written:
        case.after[address : address + len(output)] = output
    case.events = _events(case)
    return case


def _records(
    layer: Layer, edges: np.ndarray, first: int, stop: int
) -> tuple[list[tuple[int, int]], list[list[int]]]:
    """Return the runs of source rows and the destinations of each row, internal rows first."""
    inside = (edges[1] >= first) & (edges[1] < stop)
    wanted = set(edges[0][inside].tolist()) - set(range(first, stop))
    runs = [(first, stop - first)] * (not layer.isolated or layer.parts == 1)
    for source in sorted(wanted, reverse=True):
        runs.append((source, 1))
    order = [s for start, count in runs for s in range(start, start + count)]
    return runs, [(edges[1][inside & (edges[0] == s)] - first).tolist() for s in order]


def _command(
    case: Case,
    factors: dict[str, np.ndarray],
    acc: np.ndarray,
    records: list[list[int]],
    rng: np.random.Generator,
) -> dict[str, int]:
    """Store the node table and the edges of a part, note its output, return its fields."""
    layer = case.layer
    rows = len(acc)
    widths = rng.integers(0, 9 - layer.signed, rows)
    widths[0] = 8 - layer.signed
    node = {
        "m": rng.integers(2048, 4096, rows),
        "e": rng.integers(9, 13, rows),
        "m_next": rng.integers(2048, 4096, rows),
        "e_next": rng.integers(14, 20, rows),
        "width_next": widths,
    }
    columns = [
        AGGREGATE_COLUMN.pack(n=n, r=0, b=b)
        for n, b in zip(factors["n"], factors["b"], strict=True)
    ]
    nodes = [
        AGGREGATE_NODE.pack(**{name: value[v] for name, value in node.items()}) for v in range(rows)
    ]
    table = case.image.put(_words(columns + nodes))
    u16 = [word for record in records for word in (len(record), *record)]
    edges = case.image.put(np.array(u16, "<u2").tobytes())
    operands = {"acc": acc, "n": factors["n"], "r": 0, "b": factors["b"]}
    operands |= {name: value[:, None] for name, value in node.items()}
    case.operands.append(operands)
    values = post_process(**operands, last=layer.last, signed_next=layer.signed)
    case.outputs.append((widths.tolist(), values))
    return {
        "last_layer": int(layer.last),
        "signed_next": int(layer.signed),
        "tiles": -(-layer.columns // layer.lanes),
        "columns": layer.columns,
        "rows": rows,
        "nodes_address": table["address"],
        "nodes_beats": table["beats"],
        "edges_address": edges["address"],
        "edges_beats": edges["beats"],
        "source_rows": len(records),
    }


def _events(case: Case) -> dict[str, int]:
    tiles = case.commands[0]["tiles"]
    edges = sum(len(record) for records in case.records for record in records)
    values = [v if not case.layer.last else np.ones_like(v) for _, v in case.outputs]
    return {
        "aggregate_rows": sum(len(records) for records in case.records),
        "aggregate_edges": edges,
        "psum_updates": edges * tiles,
        "psum_clears": case.config.aggregation.depth,
        "psum_drains": case.layer.nodes * tiles,
        "output_values": sum(int(np.count_nonzero(v)) for v in values),
    }
