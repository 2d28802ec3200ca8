"""CombinationEngine: whole commands against NumPy, its events and its cycle rule."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from hw.gnn.combination import CombinationEngine
from hw.gnn.config import GnnConfig
from hw.gnn.format import Format
from sim.bench import GRID
from sim.combination_cases import (
    Layer,
    Memory,
    Run,
    command_of,
    engine_config,
    events_of,
    groups_of,
    pack_rows,
    random_layer,
    run_engine,
)


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
    config = engine_config(lanes)
    memory = Memory(config)
    layer = random_layer(fmt, signed, 10, 21, columns, seed=columns)
    command = command_of(config, memory, layer)
    result = run_engine(config, memory, [command], pack_rows(layer.q()), idle, stall)
    _expect_events(result, [events_of(config, layer, command)])
    assert not result.writes.requests
    assert len(result.features.beat_cycles) == 1 + result.features.requests[1][1]


@pytest.mark.parametrize(("idle", "stall"), [GRID[0], GRID[3]])
@pytest.mark.parametrize("beat", [64, 128, 512])
def test_commands_follow_one_another(beat, idle, stall):
    """Stream, memory, weights kept from the command before, nothing stored at all, one row."""
    config = engine_config(2, cols=4, columns_max=24, beat=beat)
    memory = Memory(config)
    layers = [
        random_layer(Format.INDEX, False, 4, 11, 22, seed=1),
        random_layer(Format.BITMAP, True, 5, 17, 23, seed=2),
        random_layer(Format.BITMAP, True, 3, 17, 23, seed=3),
        random_layer(Format.INDEX, False, 6, 12, 5, seed=4),
        random_layer(Format.BITMAP, False, 4, 16, 4, seed=5),
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
        command_of(config, memory, layer, **extra)
        for layer, extra in zip(layers, flags, strict=True)
    ]
    streamed = pack_rows(layers[0].q()) + pack_rows(layers[3].q())
    result = run_engine(config, memory, commands, streamed, idle, stall)
    _expect_events(
        result, [events_of(config, *pair) for pair in zip(layers, commands, strict=True)]
    )
    for layer, command in zip(layers, commands, strict=True):
        if command["sink_memory"]:
            size = command["row_beats"] * config.memory.beat_bytes
            at = command["rows_address"]
            for n, row in enumerate(pack_rows(layer.q())):
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
    for order, groups in zip(layer.order, groups_of(config, layer), strict=True):
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
    groups = groups_of(config, layer)
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
    config = engine_config(lanes, columns_max=32)
    memory = Memory(config)
    layer = random_layer(fmt, signed, 24, 12 if fmt == Format.INDEX else 35, columns, seed=period)
    command = command_of(config, memory, layer, sink_memory=to_memory)
    if to_memory:  # the writer takes a row when the last beat of the row before is taken
        command["row_beats"] = period
        command["rows_address"] = memory.reserve(24 * 8 * period)
    rows = [] if to_memory else pack_rows(layer.q())
    latency = 4
    result = run_engine(config, memory, [command], rows, latency=latency, period=period)
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
    config = engine_config(2)
    memory = Memory(config)
    layer = random_layer(Format.INDEX, False, 4, 10, 4, seed=1)
    command = command_of(config, memory, layer, wait=2)
    extra = (lambda dut: Completions(dut, [40, 300]),)
    result = run_engine(config, memory, [command], pack_rows(layer.q()), extra=extra)
    assert result.go == [300]
    assert max(result.weights.beat_cycles) < 40
    assert min(result.features.cycles) == 301
    loaded = max(result.weights.cycles[0] + 3 + 10 - 1, result.nodes.cycles[0] + 3 + 4 - 1)
    assert result.events["combine_waiting"] == 300 - (loaded + 2)
