"""CombinationEngine: whole commands against NumPy, its events and its cycle rule."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from hw.gnn.combination import CombinationEngine
from hw.gnn.config import CombinationConfig, GnnConfig
from hw.gnn.format import COMBINE, COMBINE_COLUMN, COMBINE_NODE, Format, Opcode
from hw.memory_config import MemoryConfig
from models.golden.gnn.requantizer import requantize
from sim.bench import GRID, run
from sim.servers import ReadServer, WriteServer
from sim.streams import Sink, Source, Strobes, Tally


def _config(lanes: int, cols: int = 4, columns_max: int = 16, beat: int = 64) -> GnnConfig:
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


def _layer(fmt: Format, signed: bool, rows: int, reduction: int, columns: int, seed: int) -> Layer:
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


def _weights(config: GnnConfig, layer: Layer) -> Region:
    c, region = config.combination, Region()
    reduction, columns = layer.w.shape
    stride = -(-reduction // c.lanes)
    for tile in range(-(-columns // c.cols)):
        for k in range(stride * c.lanes):
            for j in range(tile * c.cols, (tile + 1) * c.cols):
                region.put(layer.w[k, j] if k < reduction and j < columns else 0, 4)
    return region


def _nodes(layer: Layer) -> Region:
    region = Region()
    for n, f in layer.columns:
        region.put(COMBINE_COLUMN.pack(n=n, f=f), 64)
    for row, width, (m, e) in zip(layer.x, layer.widths, layer.nodes, strict=True):
        count = np.count_nonzero(row) if layer.fmt == Format.INDEX else 0
        region.put(COMBINE_NODE.pack(width=width, m=m, e=e, count=count), 64)
    return region


def _features(layer: Layer, index_width: int) -> Region:
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


def _command(config: GnnConfig, memory: Memory, layer: Layer, **fields: int) -> dict[str, int]:
    """Put a layer into memory; return the fields of its command."""
    c = config.combination
    rows, reduction = layer.x.shape
    columns = layer.w.shape[1]
    index_width = max(1, (reduction - 1).bit_length())
    weights, weights_beats = memory.add(_weights(config, layer))
    nodes, nodes_beats = memory.add(_nodes(layer))
    body = _features(layer, index_width)
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


def _pack_rows(q: np.ndarray) -> list[int]:
    return [sum((int(v) & 15) << 4 * j for j, v in enumerate(row)) for row in q]


def _groups(config: GnnConfig, layer: Layer) -> list[list[list[int]]]:
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


def _events(config: GnnConfig, layer: Layer, command: dict[str, int]) -> dict[str, int]:
    rows = _groups(config, layer)
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


def _run(
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
    return Run(source.cycles, *reads, writes, sink, go.cycles, done.cycles, tally.totals)


def _expect_events(result: Run, expected: list[dict[str, int]]) -> None:
    totals = {name: sum(events[name] for events in expected) for name in expected[0]}
    assert {name: result.events[name] for name in totals} == totals


CASES = [
    (Format.INDEX, False, 1, 13),
    (Format.INDEX, True, 2, 7),
    (Format.BITMAP, False, 4, 16),
    (Format.BITMAP, True, 2, 3),
    (Format.INDEX, False, 4, 1),
    (Format.BITMAP, True, 1, 9),
]


@pytest.mark.parametrize(("idle", "stall"), GRID)
@pytest.mark.parametrize(("fmt", "signed", "lanes", "columns"), CASES)
def test_rows_and_events(fmt, signed, lanes, columns, idle, stall):
    config = _config(lanes)
    memory = Memory(config)
    layer = _layer(fmt, signed, 10, 21, columns, seed=columns)
    command = _command(config, memory, layer)
    result = _run(config, memory, [command], _pack_rows(layer.q()), idle, stall)
    _expect_events(result, [_events(config, layer, command)])
    assert not result.writes.requests
    assert len(result.features.beat_cycles) == 1 + result.features.requests[1][1]


@pytest.mark.parametrize(("idle", "stall"), [GRID[0], GRID[3]])
@pytest.mark.parametrize("beat", [64, 128, 512])
def test_commands_follow_one_another(beat, idle, stall):
    """Stream, memory, weights kept from the command before, nothing stored at all, one row."""
    config = _config(2, cols=4, columns_max=24, beat=beat)
    memory = Memory(config)
    layers = [
        _layer(Format.INDEX, False, 4, 11, 22, seed=1),
        _layer(Format.BITMAP, True, 5, 17, 23, seed=2),
        _layer(Format.BITMAP, True, 3, 17, 23, seed=3),
        _layer(Format.INDEX, False, 6, 12, 5, seed=4),
        _layer(Format.BITMAP, False, 4, 16, 4, seed=5),
    ]
    layers[2] = replace(layers[2], w=layers[1].w)
    layers[3] = replace(layers[3], x=layers[3].x * 0, widths=layers[3].widths * 0, order=[[]] * 6)
    flags = [
        {"sink_memory": 0},
        {"sink_memory": 1},
        {"sink_memory": 1, "load_weights": 0},
        {"sink_memory": 0},
        {"sink_memory": 1},
    ]
    commands = [
        _command(config, memory, layer, **extra) for layer, extra in zip(layers, flags, strict=True)
    ]
    streamed = _pack_rows(layers[0].q()) + _pack_rows(layers[3].q())
    result = _run(config, memory, commands, streamed, idle, stall)
    _expect_events(result, [_events(config, *pair) for pair in zip(layers, commands, strict=True)])
    for layer, command in zip(layers, commands, strict=True):
        if command["sink_memory"]:
            size = command["row_beats"] * config.memory.beat_bytes
            at = command["rows_address"]
            for n, row in enumerate(_pack_rows(layer.q())):
                written = memory.bytes[at + n * size : at + (n + 1) * size]
                assert int.from_bytes(written, "little") == row
    written = [
        (c["rows_address"], c["rows"] * c["row_beats"]) for c in commands if c["sink_memory"]
    ]
    assert result.writes.requests == written
    ends = np.cumsum([beats for _, beats in written]) - 1
    stored = [done for done, c in zip(result.done, commands, strict=True) if c["sink_memory"]]
    assert stored == [result.writes.cycles[end] + 3 + 1 for end in ends]
    assert len(result.weights.requests) == 4
    assert [beats for _, beats in result.features.requests].count(0) == 0


def _steps(config: GnnConfig, layer: Layer) -> list[list[tuple[bool, bool]]]:
    """Return for each decode step of each row: it gives a token; its value opens another group."""
    rows = []
    for order, groups in zip(layer.order, _groups(config, layer), strict=True):
        opens = {group[0] for group in groups[1:]}
        values = [(True, k in opens) for group in groups for k in group]
        if layer.fmt == Format.BITMAP and layer.widths[len(rows)]:
            at = 0
            for n in range(-(-layer.x.shape[1] // 16)):
                values.insert(at, (False, False))
                at += 1 + sum(k // 16 == n for k in order)
            values[-1] = (True, values[-1][1])  # an empty last bitmap ends the row
        rows.append(values or [(True, False)])
    return rows


@dataclass
class Schedule:
    """The cycle rule of `hw.gnn.combination_datapath`, row by row."""

    node_cycles: list[int] = field(default_factory=list)
    row_cycles: list[int] = field(default_factory=list)
    starved: int = 0
    stalled: int = 0


def _schedule(
    config: GnnConfig, layer: Layer, tiles: int, start: int, bits_from: int, period: int
) -> Schedule:
    """Follow the rule; decoding may start at `start`, a consumer takes a row each `period`."""
    depth = config.combination.group_fifo_depth
    result = Schedule()
    step, token, pushed = start - 1, start - 1, start - 1
    ends = [start - 1]
    released = [start - 1, start - 1]
    places = [start] * 7
    handed = start - period
    groups = _groups(config, layer)
    for u, (steps, width) in enumerate(zip(_steps(config, layer), layer.widths, strict=True)):

        def push(at: int, planes: int) -> int:
            room = ends[-depth] + 1 if len(ends) > depth else 0
            at = max(at, room)
            free = max(ends[-1], released[-2])
            result.starved += max(0, at - free)
            result.stalled += max(0, released[-2] - max(at, ends[-1]))
            ends.append(max(at, free) + max(1, planes))
            return at

        planes = tiles * int(width) if groups[u][0] else 0
        stores = width and (layer.fmt == Format.BITMAP or planes)
        for gives, opens in steps:
            step = max(step + 1, token, bits_from if stores else start)
            if gives:
                token = max(step + 1, pushed)
                token = push(token, planes) if opens else token
        pushed = push(token + 1, planes)
        result.node_cycles.append(step)
        for tile in range(tiles):
            before, places = places, [max(ends[-1] + 3, places[0] + 1, places[1])]
            for s in range(1, 7):
                behind = before[s + 1] if s < 6 else handed if tile == 0 else 0
                places.append(max(places[-1] + 1, behind))
        released.append(places[1])
        handed = max(places[6] + 1, handed + period)
        result.row_cycles.append(handed)
    return result


TIMED = [
    (Format.INDEX, False, 2, 13, 1, 0),
    (Format.BITMAP, True, 2, 7, 1, 0),
    (Format.INDEX, True, 4, 4, 1, 0),
    (Format.INDEX, False, 4, 16, 60, 0),
    (Format.BITMAP, False, 1, 4, 23, 0),
    (Format.INDEX, False, 4, 16, 2, 1),
    (Format.BITMAP, False, 4, 2, 1, 1),
]


@pytest.mark.parametrize(("fmt", "signed", "lanes", "columns", "period", "to_memory"), TIMED)
def test_cycle_rule(fmt, signed, lanes, columns, period, to_memory):
    config = _config(lanes, columns_max=32)
    memory = Memory(config)
    layer = _layer(fmt, signed, 24, 12 if fmt == Format.INDEX else 35, columns, seed=period)
    command = _command(config, memory, layer, sink_memory=to_memory)
    if to_memory:  # the writer takes a row when the last beat of the row before is taken
        command["row_beats"] = period
        command["rows_address"] = memory.reserve(24 * 8 * period)
    rows = [] if to_memory else _pack_rows(layer.q())
    latency = 4
    result = _run(config, memory, [command], rows, latency=latency, period=period)
    weight_words = command["tiles"] * command["bank_stride"] * lanes
    assert result.commands == [0]
    assert result.weights.cycles == result.nodes.cycles == [1]
    loaded = 1 + latency + max(weight_words, columns) - 1
    assert result.go == [loaded + 2]
    header = loaded + 3 + latency
    assert result.features.cycles == [loaded + 3, header + 1]
    assert result.features.beat_cycles[:2] == [header, header + 1 + latency]
    tiles = command["tiles"]
    rule = _schedule(config, layer, tiles, header + 1, header + 2 + latency, period)
    assert result.nodes.beat_cycles[columns:] == rule.node_cycles
    if to_memory:
        assert result.writes.cycles[::period] == [cycle + 1 for cycle in rule.row_cycles]
        assert result.done == [rule.row_cycles[-1] + period + latency + 1]
    else:
        assert result.rows.cycles == rule.row_cycles
        assert result.done == [rule.row_cycles[-1] + 1]
    # From `go` on, the way to the first decode step counts as starved.
    assert result.events["combine_starved"] == rule.starved + header - result.go[0]
    assert result.events["combine_stalled"] == rule.stalled


class Completions:
    """Complete commands of the other engine at given cycles."""

    name = "aggregates"
    finished = True

    def __init__(self, dut: CombinationEngine, cycles: list[int]) -> None:
        self._port, self._cycles = dut.aggregates_done, cycles

    def signals(self) -> tuple[()]:
        """Return nothing."""
        return ()

    def start(self, ctx: Any) -> None:
        """Begin at 0."""

    def step(self, ctx: Any, cycle: int, values: Any) -> bool:
        """Count."""
        ctx.set(self._port, sum(at <= cycle + 1 for at in self._cycles))
        return False


def test_waits_for_the_other_engine_but_loads_before():
    config = _config(2)
    memory = Memory(config)
    layer = _layer(Format.INDEX, False, 4, 10, 4, seed=1)
    command = _command(config, memory, layer, wait=2)
    extra = (lambda dut: Completions(dut, [40, 300]),)
    result = _run(config, memory, [command], _pack_rows(layer.q()), extra=extra)
    assert result.go == [300]
    assert max(result.weights.beat_cycles) < 40
    assert min(result.features.cycles) == 301
    loaded = max(result.weights.cycles[0] + 3 + 10 - 1, result.nodes.cycles[0] + 3 + 4 - 1)
    assert result.events["combine_waiting"] == 300 - (loaded + 2)
