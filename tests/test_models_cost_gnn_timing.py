"""Cycles of the cost model against both engines in Amaranth's simulator: difference 0."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import pytest
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from hw.gnn.aggregation import AggregationEngine
from hw.gnn.combination import CombinationEngine
from hw.gnn.config import AggregationConfig, CombinationConfig, GnnConfig, MemoryConfig
from hw.gnn.counters import COUNTERS
from hw.gnn.format import AGGREGATE, COMBINE
from hw.gnn.lower import lower
from hw.gnn.program import Program
from models.cost.gnn.commands import read_commands
from models.cost.gnn.events import count_events
from models.cost.gnn.read_port import Arrivals, Request
from models.cost.gnn.statistics import layer_statistics
from models.cost.gnn.timing import predict
from models.golden.gnn.execute import execute
from quant.graph.synthetic import random_gcn
from sim.bench import run
from sim.servers import ReadServer, WriteServer
from sim.streams import Source, Strobes, Tally

COMBINE_PORTS = ("weights", "nodes", "features")
AGGREGATE_PORTS = {"edges": "edges", "sources": "sources", "rows": "row_beats", "nodes": "nodes"}


class Engines(wiring.Component):
    """Both engines, rows and completions connected; memory ports and commands at the edge."""

    combine_done: Signal
    aggregate_done: Signal

    def __init__(self, config: GnnConfig) -> None:
        self.combine, self.aggregate = CombinationEngine(config), AggregationEngine(config)
        super().__init__({"combine_done": Out(1), "aggregate_done": Out(1)})

    def elaborate(self, platform: object) -> Module:
        """Count completions as the sequencer does."""
        m = Module()
        c, a = self.combine, self.aggregate
        m.submodules.combine, m.submodules.aggregate = c, a
        wiring.connect(m, c.o_rows, a.i_rows)
        m.d.comb += [self.combine_done.eq(c.done), self.aggregate_done.eq(a.done)]
        with m.If(c.done):
            m.d.sync += a.combines_done.eq(a.combines_done + 1)
        with m.If(a.done):
            m.d.sync += c.aggregates_done.eq(c.aggregates_done + 1)
        return m


@dataclass(frozen=True)
class Server:
    """The memory of `sim.streams`: no DMA, the same latency for each stream."""

    latency: int

    def port(self, fifo_depth: int) -> "Server":
        """Return what takes the requests."""
        return self

    def request(self, request: Request) -> Arrivals:
        """Offer beats after the latency, one a cycle."""
        return Arrivals(len(request.lengths[:1]), [request.cycle + self.latency])

    def note(self, stream: str) -> None:
        """Have no order to keep."""

    def next_choice(self) -> float:
        """Return never: no stream waits for another."""
        return inf

    def choose(self) -> None:
        """Have nothing to choose."""

    def write(self, lengths: Sequence[int], fifo_depth: int) -> "Server":
        """Return what takes the beats."""
        return self

    def take(self, offered: int) -> int:
        """Take a beat at once."""
        return offered

    def done(self, last_token: int) -> int:
        """Acknowledge after the latency."""
        return last_token + self.latency


def _simulate(program: Program, latency: int) -> tuple[dict[str, list[tuple]], dict[str, int]]:
    """Return (start, go, end) of each command by queue, and the counters."""
    dut = Engines(program.config)
    memory = bytearray(program.image.tobytes())
    commands = read_commands(program)
    agents: list[Any] = []
    notes: dict[str, tuple] = {}
    for queue, word, engine in (
        ("combine", COMBINE, dut.combine),
        ("aggregate", AGGREGATE, dut.aggregate),
    ):
        fields = getattr(commands, queue)
        source = Source(queue, engine.i_command, [word.pack(**f) for f in fields])
        go = Strobes(f"{queue} go", engine.go, len(fields))
        done = Strobes(f"{queue} done", engine.done, len(fields))
        tally = Tally(engine.events)
        write = WriteServer(
            queue, engine.o_write_request, engine.o_write, engine.write_done, memory, latency
        )
        notes[queue] = source, go, done, tally
        agents += [source, go, done, tally, write]
    for name in COMBINE_PORTS:
        request, beats = (getattr(dut.combine, f"{p}_{name}") for p in ("o_request", "i"))
        agents.append(ReadServer(name, request, beats, memory, latency))
    for name, beat_name in AGGREGATE_PORTS.items():
        request = getattr(dut.aggregate, f"o_request_{name}")
        beats = getattr(dut.aggregate, f"i_{beat_name}")
        agents.append(ReadServer(name, request, beats, memory, latency))
    run(dut, agents)
    assert bytes(memory) == execute(program).memory.tobytes()
    times = {
        queue: list(zip(source.cycles, go.cycles, done.cycles, strict=True))
        for queue, (source, go, done, _) in notes.items()
    }
    totals: dict[str, int] = {}
    for *_, tally in notes.values():
        totals |= tally.totals
    return times, totals


def _config(lanes=2, cols=4, post=4, beat=64, columns_max=32, **more) -> GnnConfig:
    return GnnConfig(
        memory=MemoryConfig(axi_data_width=beat),
        combination=CombinationConfig(
            lanes=lanes, cols=cols, columns_max=columns_max, weight_buffer_bytes=4096
        ),
        aggregation=AggregationConfig(lanes=post, psum_buffer_bytes=1024, **more),
    )


@dataclass(frozen=True)
class Case:
    """A graph, a config and how it is cut."""

    config: GnnConfig
    graph: dict[str, Any]
    part_rows: int | None = None
    latency: int = 6


CORNERS = ("hub", "duplicates", "self_edges", "isolated", "widths")

QUICK = ("tiny, parts", "corners", "corners, parts", "signed", "one lane", "one column", "one node")
"""Cases that `make check` runs too."""

CASES = {
    "tiny": Case(_config(), {"nodes": 20, "hidden": 16, "classes": 7}),
    "tiny, parts": Case(_config(), {"nodes": 20, "hidden": 16, "classes": 7}, 7),
    "corners": Case(_config(), {"nodes": 18, "corners": CORNERS, "widths": (0, 1, 8)}),
    "corners, parts": Case(_config(), {"nodes": 18, "corners": CORNERS, "widths": (0, 1, 8)}, 5),
    "signed": Case(_config(), {"nodes": 15, "signed": True, "input_width": None}),
    "one lane": Case(_config(1, 4, 1), {"nodes": 14, "hidden": 5, "classes": 3}),
    "four lanes": Case(
        _config(4, 8, 8, 128), {"nodes": 12, "hidden": 20, "features": 70, "density": 0.4}
    ),
    "four lanes, parts": Case(
        _config(4, 8, 8, 128), {"nodes": 12, "hidden": 20, "features": 70, "density": 0.4}, 6
    ),
    "wide rows": Case(
        _config(2, 4, 4, 64), {"nodes": 6, "edges": 10, "hidden": 20, "classes": 17}, 4
    ),
    "wide words": Case(
        _config(2, 32, 16), {"nodes": 6, "edges": 10, "hidden": 30, "classes": 20}, 4
    ),
    "many edges": Case(_config(4, 16, 2), {"nodes": 12, "edges": 100, "hidden": 16}),
    "one column": Case(_config(), {"nodes": 9, "hidden": 1, "classes": 1}, 4),
    "one node": Case(_config(), {"nodes": 1, "edges": 0}),
    "short queue": Case(_config(row_fifo_depth=2), {"nodes": 12, "edges": 100, "hidden": 16}, 5),
    "latency": Case(_config(), {"nodes": 12, "corners": ("widths",)}, latency=1),
    "latency, parts": Case(_config(), {"nodes": 12, "corners": ("widths",)}, 3, latency=25),
}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n in QUICK else pytest.mark.slow) for n in CASES]
)
def test_both_engines_to_the_cycle(name: str):
    case = CASES[name]
    program = lower(random_gcn(seed=7, **case.graph), case.config, "natural", case.part_rows)
    execution = execute(program)
    times, totals = _simulate(program, case.latency)
    predicted = predict(program, execution.inputs, Server(case.latency), sequencer=False)
    for queue, expected in times.items():
        got = [(c.start, c.go, c.end) for c in predicted.commands if c.queue == queue]
        assert got == expected, queue
    statistics = [layer_statistics(f, case.config.combination.lanes) for f in execution.inputs]
    counters = {**count_events(program, statistics), **predicted.counters}
    own = [c.name for c in COUNTERS if c.unit in ("combine", "aggregate")]
    assert {name: counters[name] for name in own} == {name: totals[name] for name in own}
