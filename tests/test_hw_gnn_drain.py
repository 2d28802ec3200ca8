"""Drain, with a psum buffer in front, against the list of its operands."""

from random import Random

import pytest
from amaranth import *
from amaranth.lib import wiring

from hw.gnn.config import AggregationConfig, CombinationConfig, GnnConfig
from hw.gnn.drain import Drain
from hw.gnn.format import AGGREGATE_COLUMN, AGGREGATE_NODE
from hw.gnn.psum_buffer import PsumBuffer, PsumOperation
from hw.memory_config import MemoryConfig
from sim.bench import GRID, run
from sim.streams import Sink, Source, Strobes


class Bench(wiring.Component):
    """A drain with a psum buffer of zeros."""

    def __init__(self, config: GnnConfig) -> None:
        self.drain = Drain(config)
        self.psums = PsumBuffer(config)
        super().__init__({})

    def elaborate(self, platform) -> Module:
        """Connect the two."""
        m = Module()
        m.submodules.drain, m.submodules.psums = self.drain, self.psums
        wiring.connect(m, self.psums.o, self.drain.i_psum)
        m.d.comb += [
            self.psums.i.valid.eq(self.drain.o_address.valid),
            self.psums.i.payload.operation.eq(PsumOperation.DRAIN),
            self.psums.i.payload.address.eq(self.drain.o_address.payload),
            self.drain.o_address.ready.eq(self.psums.i.ready),
        ]
        return m


class Sequence(Strobes):
    """Set the constants; raise `start` in cycle 0 and `enable` in the cycle after `loaded` rose."""

    def __init__(self, drain: Drain, constants: dict[str, int]) -> None:
        super().__init__("loaded", drain.loaded)
        self._drain, self._constants = drain, constants

    def start(self, ctx) -> None:
        """Raise start."""
        for name, value in self._constants.items():
            ctx.set(getattr(self._drain, name), value)
        ctx.set(self._drain.start, 1)

    def step(self, ctx, cycle, values) -> bool:
        """Lower start, note and pass on loaded."""
        ctx.set(self._drain.start, 0)
        if cycle and values[0]:
            self.cycles.append(cycle)
            ctx.set(self._drain.enable, 1)
        return False


class PaddedSource(Source):
    """A source whose last beat may stay until the next start, if it ends in padding."""

    @property
    def finished(self) -> bool:
        """Whether at most that beat is left."""
        return len(self.cycles) >= len(self._queue) - 1


def _operands(columns: list, nodes: list, tiles: int, lanes: int) -> list[dict]:
    """Return the operands of all rows; the sums and the factors beyond the last column are 0."""
    padded = columns + [{"n": 0, "b": 0}] * (tiles * lanes - len(columns))
    operands = [
        {"columns": padded[at : at + lanes], "node": node}
        for node in nodes
        for at in range(0, tiles * lanes, lanes)
    ]
    operands[-1]["last"] = 1
    return operands


def _run(lanes: int, count: int, beat_width: int, idle: float, stall: float):
    rng = Random(count)
    config = GnnConfig(
        memory=MemoryConfig(axi_data_width=beat_width),
        combination=CombinationConfig(columns_max=16),
        aggregation=AggregationConfig(lanes=lanes, psum_buffer_bytes=1024),
    )
    columns = [{"n": rng.randint(-9999, 9999), "b": rng.randint(-99, 99)} for _ in range(count)]
    names = {name: width for name, width, _ in AGGREGATE_NODE.fields if name[0] != "_"}
    nodes = [{k: rng.getrandbits(width) for k, width in names.items()} for _ in range(6)]
    tiles = -(-count // lanes)
    words = [AGGREGATE_COLUMN.pack(**c, r=5) for c in columns]
    words += [AGGREGATE_NODE.pack(**node) for node in nodes]
    table = sum(word << 64 * k for k, word in enumerate(words))
    beats = -(-64 * len(words) // beat_width)
    bench = Bench(config)
    drain = bench.drain
    source = PaddedSource(
        "i_nodes",
        drain.i_nodes,
        [table >> beat_width * k & (1 << beat_width) - 1 for k in range(beats)],
        idle,
    )
    sink = Sink("o", drain.o, _operands(columns, nodes, tiles, lanes), stall)
    loaded = Sequence(drain, {"columns": count, "tiles": tiles, "rows": len(nodes)})
    run(bench, [loaded, source, sink])
    return loaded, source, sink


@pytest.mark.parametrize(
    ("lanes", "count", "beat_width"), [(4, 7, 64), (4, 16, 64), (1, 3, 64), (16, 9, 256)]
)
@pytest.mark.parametrize(("idle", "stall"), GRID)
def test_each_word_meets_its_factors(lanes, count, beat_width, idle, stall):
    _run(lanes, count, beat_width, idle, stall)


@pytest.mark.parametrize(("lanes", "count"), [(4, 7), (1, 3), (16, 9)])
def test_a_column_word_and_then_an_operand_a_cycle(lanes, count):
    loaded, source, sink = _run(lanes, count, 64, 0.0, 0.0)
    assert source.cycles[:count] == list(range(1, count + 1))
    assert loaded.cycles[0] == count + 1
    enabled = loaded.cycles[0] + 1
    assert sink.cycles == list(range(enabled + 1, enabled + 1 + 6 * -(-count // lanes)))
