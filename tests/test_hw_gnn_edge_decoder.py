"""EdgeDecoder against the records that its beats were packed from."""

from random import Random

import pytest

from hw.gnn.config import AggregationConfig, GnnConfig
from hw.gnn.edge_decoder import EdgeDecoder
from hw.memory_config import MemoryConfig
from sim.bench import GRID, run
from sim.streams import Sink, Source

RECORDS = {
    "empty first": [0, 0, 1, 0, 2, 3, 0],
    "hub": [1, 40, 1, 1, 1, 1, 1, 1],
    "one": [1],
    "one empty": [0],
    "ends with a beat": [3, 3],
}


def _config(beat_width: int) -> GnnConfig:
    return GnnConfig(
        memory=MemoryConfig(axi_data_width=beat_width, burst_beats=4),
        aggregation=AggregationConfig(psum_buffer_bytes=1 << 16),
    )


class Start:
    """Raise `start` for one cycle before anything else."""

    name = "start"
    finished = True

    def __init__(self, dut: EdgeDecoder) -> None:
        self._dut = dut

    def signals(self) -> list:
        """Return nothing."""
        return []

    def start(self, ctx) -> None:
        """Raise it in cycle 0."""
        ctx.set(self._dut.start, 1)

    def step(self, ctx, cycle, values) -> bool:
        """Lower it in cycle 1."""
        ctx.set(self._dut.start, 0)
        return False


def _beats(words: list[int], beat_width: int) -> list[int]:
    bits = sum(word << 16 * k for k, word in enumerate(words))
    count = -(-16 * len(words) // beat_width)
    return [bits >> beat_width * k & (1 << beat_width) - 1 for k in range(count)]


def _case(counts: list[int], tiles: int, seed: int) -> tuple[list[int], list[dict]]:
    rng = Random(seed)
    words, tokens = [], []
    for index, count in enumerate(counts):
        destinations = [rng.randrange(8000 // tiles) for _ in range(count)]
        words += [count, *destinations]
        record = [{"address": v * tiles, "empty": 0} for v in destinations]
        tokens += record or [{"empty": 1}]
        tokens[-1] |= {"last": 1, "final": int(index == len(counts) - 1)}
    return words, tokens


class EdgeSink(Sink):
    """Compare tokens; the address of an empty one does not matter."""

    def _take(self, cycle: int, payload: int) -> None:
        width = 13
        if payload >> width & 1:
            payload &= -1 << width
        super()._take(cycle, payload)


def _run(beat_width: int, counts: list[int], tiles: int, idle: float, stall: float):
    dut = EdgeDecoder(_config(beat_width))
    words, tokens = _case(counts, tiles, seed=tiles)
    source = Source("i", dut.i, _beats(words, beat_width), idle, 1)
    sink = EdgeSink("o", dut.o, tokens, stall, 1)
    run(dut, [Start(dut), source, sink], constants={"tiles": tiles, "records": len(counts)})
    return source, sink


@pytest.mark.parametrize("name", RECORDS)
@pytest.mark.parametrize(("idle", "stall"), GRID)
def test_tokens_equal_the_records(name, idle, stall):
    _run(64, RECORDS[name], 3, idle, stall)
    _run(256, RECORDS[name], 8, idle, stall)


@pytest.mark.parametrize("name", RECORDS)
@pytest.mark.parametrize("beat_width", [64, 128])
def test_a_token_each_cycle_from_four_cycles_after_the_first_beat(name, beat_width):
    source, sink = _run(beat_width, RECORDS[name], 1, 0.0, 0.0)
    first = source.cycles[0] + 4
    tokens = sum(max(count, 1) for count in RECORDS[name])
    assert sink.cycles == list(range(first, first + tokens))
