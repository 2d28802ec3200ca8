"""RowFetcher against the rows that its source list names."""

from random import Random

import pytest

from hw.gnn.config import AggregationConfig, CombinationConfig, GnnConfig
from hw.gnn.format import SOURCE
from hw.gnn.row_fetcher import RowFetcher
from hw.memory_config import MemoryConfig
from sim.bench import GRID, check, run
from sim.servers import ReadServer
from sim.streams import Sink, Source, Strobes

RUNS = [(3, 2), (0, 1), (5, 4), (0, 1), (9, 1)]
"""First row and rows of each source word; rows may repeat."""


def _config(beat_width: int, columns_max: int, depth: int = 4) -> GnnConfig:
    return GnnConfig(
        memory=MemoryConfig(axi_data_width=beat_width),
        combination=CombinationConfig(columns_max=columns_max),
        aggregation=AggregationConfig(psum_buffer_bytes=4096, row_fifo_depth=depth),
    )


class Start(Strobes):
    """Raise `start` in cycle 0."""

    def start(self, ctx) -> None:
        """Raise it."""
        ctx.set(self._signal, 1)

    def step(self, ctx, cycle, values) -> bool:
        """Lower it."""
        ctx.set(self._signal, 0)
        return False


class PaddedSource(Source):
    """A source whose last beat may stay until the next start, if it ends in padding."""

    @property
    def finished(self) -> bool:
        """Whether at most that beat is left."""
        return len(self.cycles) >= len(self._queue) - 1


def _fetch(beat_width: int, columns_max: int, row_beats: int, idle: float, stall: float):
    rng = Random(beat_width)
    row_bytes = row_beats * beat_width // 8
    width = min(4 * columns_max, 8 * row_bytes)
    rows = [rng.getrandbits(width) for _ in range(10)]
    content = b"".join(row.to_bytes(row_bytes, "little") for row in rows)
    words = [SOURCE.pack(address=a * row_bytes, beats=n * row_beats) for a, n in RUNS]
    dut = RowFetcher(_config(beat_width, columns_max))
    lists = sum(word << 64 * k for k, word in enumerate(words))
    count = -(-64 * len(words) // beat_width)
    beats = [lists >> beat_width * k & (1 << beat_width) - 1 for k in range(count)]
    expected = [rows[a + k] for a, n in RUNS for k in range(n)]
    server = ReadServer("rows", dut.o_request, dut.i_beats, content, 1, idle, 2)
    sink = Sink("o", dut.o, expected, stall)
    constants = {"source_words": len(words), "row_beats": row_beats, "enable": 1}
    agents = [Start("start", dut.start), PaddedSource("i_sources", dut.i_sources, beats, idle)]
    run(dut, [*agents, server, sink], constants=constants)
    return server, sink


@pytest.mark.parametrize(
    ("beat_width", "columns_max", "row_beats"),
    [(64, 32, 1), (64, 32, 2), (64, 8, 1), (128, 48, 2), (256, 32, 1)],
)
@pytest.mark.parametrize(("idle", "stall"), GRID)
def test_rows_of_the_list_in_order(beat_width, columns_max, row_beats, idle, stall):
    server, sink = _fetch(beat_width, columns_max, row_beats, idle, stall)
    size = beat_width // 8 * row_beats
    assert server.requests == [(a * size, n * row_beats) for a, n in RUNS]


@pytest.mark.parametrize("row_beats", [1, 2])
def test_a_row_every_row_beats_cycles(row_beats):
    server, sink = _fetch(64, 32, row_beats, 0.0, 0.0)
    first = server.beat_cycles[0]
    rows = sum(n for _, n in RUNS)
    assert server.cycles == list(range(server.cycles[0], server.cycles[0] + len(RUNS)))
    assert sink.cycles == [first + row_beats * (r + 1) for r in range(rows)]


@pytest.mark.parametrize(("idle", "stall"), GRID)
def test_streamed_rows_go_through_the_same_fifo(idle, stall):
    rng = Random(3)
    rows = [rng.getrandbits(128) for _ in range(30)]
    dut = RowFetcher(_config(64, 32, depth=2))
    inputs, constants = {"i_rows": rows, "i_beats": [], "i_sources": []}, {"streaming": 1}
    outputs = {"o": rows, "o_request": []}
    result = check(dut, inputs, outputs, idle=idle, stall=stall, constants=constants)
    if idle == stall == 0:
        assert result.given["o"] == [t + 1 for t in result.taken["i_rows"]] == list(range(1, 31))


def test_nothing_is_requested_without_enable():
    dut = RowFetcher(_config(64, 32))
    request = Sink("o_request", dut.o_request, [])
    source = Source("i_sources", dut.i_sources, [])
    constants = {"source_words": 1, "row_beats": 1, "enable": 0}
    run(dut, [Start("start", dut.start), source, request], constants=constants)
    assert request.values == []
