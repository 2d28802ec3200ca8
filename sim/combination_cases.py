"""Random commands of the combination engine: layers, their regions, and a run of the engine.

Made from NumPy integers alone, so that a test compares the gates with what it computes itself.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hw.gnn.combination import CombinationEngine
from hw.gnn.config import CombinationConfig, GnnConfig
from hw.gnn.format import COMBINE, COMBINE_COLUMN, COMBINE_NODE, Format, Opcode
from hw.memory_config import MemoryConfig
from models.golden.gnn.requantizer import requantize
from sim.bench import run
from sim.servers import ReadServer, WriteServer
from sim.streams import Sink, Source, Strobes, Tally

__all__ = [
    "Layer",
    "Memory",
    "Region",
    "Run",
    "SlowSink",
    "command_of",
    "engine_config",
    "events_of",
    "feature_region",
    "groups_of",
    "node_region",
    "pack_rows",
    "random_layer",
    "run_engine",
    "weight_region",
]


def engine_config(lanes: int, cols: int = 4, columns_max: int = 16, beat: int = 64) -> GnnConfig:
    """Return a config small enough for the Python simulator."""
    return GnnConfig(
        memory=MemoryConfig(axi_data_width=beat),
        combination=CombinationConfig(
            lanes=lanes, cols=cols, columns_max=columns_max, weight_buffer_bytes=128 * cols * lanes
        ),
    )


class Region:
    """Bits that grow, then whole beats."""

    def __init__(self) -> None:
        self.word, self.width = 0, 0

    def put(self, value: int, width: int) -> None:
        """Append the low `width` bits of `value`."""
        self.word |= (int(value) & (1 << width) - 1) << self.width
        self.width += width

    def data(self, beat_bytes: int) -> bytes:
        """Return the region, padded to whole beats."""
        return self.word.to_bytes(-(-self.width // (beat_bytes * 8)) * beat_bytes, "little")


@dataclass(frozen=True)
class Layer:
    """A random layer: integers only."""

    fmt: Format
    signed: bool
    x: np.ndarray
    widths: np.ndarray
    w: np.ndarray
    nodes: np.ndarray
    columns: np.ndarray
    order: list[list[int]] = field(default_factory=list)

    def q(self) -> np.ndarray:
        """Return the q rows."""
        m, e = self.nodes.T
        return requantize(self.x @ self.w, m[:, None], e[:, None], *self.columns.T)


def random_layer(
    fmt: Format, signed: bool, rows: int, reduction: int, columns: int, seed: int
) -> Layer:
    """Widths mixed from 0 on; some rows of width above 0 hold no value, some are dense."""
    rng = np.random.default_rng(seed)
    widths = rng.integers(0, 8 if signed else 9, rows)
    widths[:3] = [0, 7, 1]
    top = (1 << widths[:, None]) - 1
    x = rng.integers(-top if signed else 0, top + 1, (rows, reduction))
    x[rng.random((rows, reduction)) > rng.choice([0.0, 0.1, 0.4, 1.0], (rows, 1))] = 0
    x[1, 3:] = 0
    x[1, :3] = top[1]
    x[2] = top[2]
    order = [rng.permutation(np.flatnonzero(row)).tolist() for row in x]
    return Layer(
        fmt,
        signed,
        x,
        widths,
        rng.integers(-7, 8, (reduction, columns)),
        np.stack([rng.integers(2048, 4096, rows), rng.integers(9, 16, rows)], 1),
        np.stack([rng.integers(2048, 4096, columns), rng.integers(9, 14, columns)], 1),
        order,
    )


class Memory:
    """Regions one after another on multiples of 128 bytes."""

    def __init__(self, config: GnnConfig) -> None:
        self.bytes = bytearray(128)
        self._beat_bytes = config.memory.beat_bytes

    def add(self, region: Region) -> tuple[int, int]:
        """Return address and beats."""
        address, data = len(self.bytes), region.data(self._beat_bytes)
        self.bytes += data + bytes(-len(data) % 128)
        return address, len(data) // self._beat_bytes

    def reserve(self, size: int) -> int:
        """Return the address of `size` bytes of ones."""
        address = len(self.bytes)
        self.bytes += b"\xff" * (size + -size % 128)
        return address


def weight_region(config: GnnConfig, layer: Layer) -> Region:
    """Return the layer's weights as the loader reads them."""
    c, region = config.combination, Region()
    reduction, columns = layer.w.shape
    stride = -(-reduction // c.lanes)
    for tile in range(-(-columns // c.cols)):
        for k in range(stride * c.lanes):
            for j in range(tile * c.cols, (tile + 1) * c.cols):
                region.put(layer.w[k, j] if k < reduction and j < columns else 0, 4)
    return region


def node_region(layer: Layer) -> Region:
    """Return the layer's column words and node words."""
    region = Region()
    for n, f in layer.columns:
        region.put(COMBINE_COLUMN.pack(n=n, f=f), 64)
    for row, width, (m, e) in zip(layer.x, layer.widths, layer.nodes, strict=True):
        count = int(np.count_nonzero(row)) if layer.fmt == Format.INDEX else 0
        region.put(COMBINE_NODE.pack(width=width, m=m, e=e, count=count), 64)
    return region


def feature_region(layer: Layer, index_width: int) -> Region:
    """Return the layer's features as a segment."""
    region = Region()
    for row, width, order in zip(layer.x, layer.widths, layer.order, strict=True):
        chunks = [order]
        if layer.fmt == Format.BITMAP:
            chunks = [[k for k in sorted(order) if k // 16 == n] for n in range(-(-len(row) // 16))]
        for members in chunks if width else []:
            if layer.fmt == Format.BITMAP:
                region.put(sum(1 << k % 16 for k in members), 16)
            for k in members:
                if layer.fmt == Format.INDEX:
                    region.put(k, index_width)
                region.put(abs(row[k]), int(width))
                if layer.signed:
                    region.put(row[k] < 0, 1)
    return region


def command_of(config: GnnConfig, memory: Memory, layer: Layer, **fields: int) -> dict[str, int]:
    """Put a layer into memory; return the fields of its command."""
    c = config.combination
    rows, reduction = layer.x.shape
    columns = layer.w.shape[1]
    index_width = max(1, (reduction - 1).bit_length())
    weights, weights_beats = memory.add(weight_region(config, layer))
    nodes, nodes_beats = memory.add(node_region(layer))
    body = feature_region(layer, index_width)
    header, segment = Region(), Region()
    header.put(len(body.data(config.memory.beat_bytes)) // config.memory.beat_bytes, 32)
    segment.put(header.word, config.memory.axi_data_width)
    segment.put(body.word, body.width)
    features, _ = memory.add(segment)
    row_beats = -(-columns * 4 // config.memory.axi_data_width)
    return {
        "opcode": Opcode.COMBINE,
        "load_weights": 1,
        "signed": layer.signed,
        "format": layer.fmt,
        "index_width": index_width,
        "tiles": -(-columns // c.cols),
        "columns": columns,
        "rows": rows,
        "bank_stride": -(-reduction // c.lanes),
        "row_beats": row_beats,
        "weights_address": weights,
        "weights_beats": weights_beats,
        "nodes_beats": nodes_beats,
        "nodes_address": nodes,
        "features_address": features,
        "rows_address": memory.reserve(rows * row_beats * config.memory.beat_bytes),
        "reduction": reduction,
        **fields,
    }


def pack_rows(q: np.ndarray) -> list[int]:
    """Return each q row as one integer."""
    return [sum((int(v) & 15) << 4 * j for j, v in enumerate(row)) for row in q]


def groups_of(config: GnnConfig, layer: Layer) -> list[list[list[int]]]:
    """Return the features of each group of each row."""
    lanes = config.combination.lanes
    rows = []
    for order in layer.order:
        groups: list[list[int]] = [[]]
        for k in order if layer.fmt == Format.INDEX else sorted(order):
            if k % lanes in [other % lanes for other in groups[-1]]:
                groups.append([])
            groups[-1].append(k)
        rows.append(groups)
    return rows


def events_of(config: GnnConfig, layer: Layer, command: dict[str, int]) -> dict[str, int]:
    """Return the event counts of one command, made element by element."""
    rows = groups_of(config, layer)
    tiles = command["tiles"]
    sizes = [[len(group) for group in groups if group] for groups in rows]
    values = sum(map(sum, sizes))
    groups = np.array([len(row) for row in sizes])
    stored = tiles * command["bank_stride"] * config.combination.lanes
    return {
        "weight_writes": stored * command["load_weights"],
        "weight_reads": values * tiles,
        "combine_values": values,
        "combine_groups": int(groups.sum()),
        "combine_conflicts": sum(
            size < config.combination.lanes for row in sizes for size in row[:-1]
        ),
        "combine_planes": int((groups * layer.widths).sum()) * tiles,
        "combine_bit_ops": int((np.array([sum(r) for r in sizes]) * layer.widths).sum()) * tiles,
        "requantize_words": len(rows) * tiles,
        "combine_rows": len(rows),
    }


@dataclass(frozen=True)
class Run:
    """Cycles of one run."""

    commands: list[int]
    weights: ReadServer
    nodes: ReadServer
    features: ReadServer
    writes: WriteServer
    rows: Sink
    go: list[int]
    done: list[int]
    events: dict[str, int]


class SlowSink(Sink):
    """Take a row each `period` cycles at most."""

    def __init__(self, name: str, port: Any, expected: list[int], period: int) -> None:
        super().__init__(name, port, expected)
        self._period = period

    def step(self, ctx: Any, cycle: int, values: Any) -> bool:
        """Be ready again after the period."""
        progress = super().step(ctx, cycle, values)
        ready = not self.cycles or cycle + 1 - self.cycles[-1] >= self._period
        ctx.set(self._port.ready, int(ready))
        return progress


def run_engine(
    config: GnnConfig,
    memory: Memory,
    commands: list[dict[str, int]],
    rows: list[int],
    idle: float = 0.0,
    stall: float = 0.0,
    latency: int = 3,
    extra: tuple[Any, ...] = (),
    period: int = 0,
) -> Run:
    """Run the commands and return the cycles of all that happened."""
    dut = CombinationEngine(config)
    reads = [
        ReadServer(
            name,
            getattr(dut, f"o_request_{name}"),
            getattr(dut, f"i_{name}"),
            memory.bytes,
            latency,
            idle,
        )
        for name in ("weights", "nodes", "features")
    ]
    writes = WriteServer(
        "write", dut.o_write_request, dut.o_write, dut.write_done, memory.bytes, latency, stall
    )
    source = Source("command", dut.i_command, [COMBINE.pack(**c) for c in commands], idle)
    sink = Sink("rows", dut.o_rows, rows, stall)
    if period:
        sink = SlowSink("rows", dut.o_rows, rows, period)
    go = Strobes("go", dut.go, len(commands))
    done = Strobes("done", dut.done, len(commands))
    tally = Tally(dut.events)
    agents = [source, *reads, writes, sink, go, done, tally, *(make(dut) for make in extra)]
    run(dut, agents)
    weights, nodes, features = reads
    return Run(
        source.cycles,
        weights,
        nodes,
        features,
        writes,
        sink,
        go.cycles,
        done.cycles,
        tally.totals,
    )
