"""WeightLoader against the order of words in `hw.gnn.format`."""

from random import Random
from typing import Any

import pytest

from hw.gnn.config import CombinationConfig, GnnConfig
from hw.gnn.weight_loader import WeightLoader
from hw.memory_config import MemoryConfig
from sim.bench import run
from sim.streams import Source, Strobes

SHAPES = [(1, 4, 64, 3), (2, 4, 64, 1), (4, 32, 64, 2), (2, 2, 256, 3)]
"""(lanes, cols, beat width, tiles): several words a beat, several beats a word, one tile."""


class Writes:
    """Note the writes with their cycles; start loading at the given cycles."""

    name = "writes"
    finished = True

    def __init__(self, dut: WeightLoader, starts: list[int]) -> None:
        self._dut, self._starts = dut, starts
        self.writes: list[tuple[int, int, int]] = []
        self.cycles: list[int] = []

    def signals(self) -> tuple[Any, ...]:
        """Return the write port."""
        write = self._dut.write
        return write.enable, write.lane, write.address, write.word

    def start(self, ctx: Any) -> None:
        """Start at cycle 0."""
        ctx.set(self._dut.start, 0 in self._starts)

    def step(self, ctx: Any, cycle: int, values: Any) -> bool:
        """Note a write."""
        ctx.set(self._dut.start, cycle + 1 in self._starts)
        if values[0]:
            self.writes.append((values[1], values[2], values[3]))
            self.cycles.append(cycle)
        return bool(values[0])


def _load(lanes: int, cols: int, beat: int, tiles: int, idle: float):
    config = GnnConfig(
        memory=MemoryConfig(axi_data_width=beat),
        combination=CombinationConfig(
            lanes=lanes, cols=cols, columns_max=4 * cols, weight_buffer_bytes=16 * lanes * cols
        ),
    )
    rng = Random(1)
    stride = config.combination.bank_depth // tiles
    width = config.combination.word_width
    words = [rng.getrandbits(width) for _ in range(tiles * stride * lanes)]
    region = sum(word << n * width for n, word in enumerate(words))
    count = -(-len(words) * width // beat)
    beats = [region >> n * beat & (1 << beat) - 1 for n in range(count)]
    dut = WeightLoader(config)
    second = 4 * len(words) * max(1, width // beat)
    writes = Writes(dut, [0, second])
    source = Source("i", dut.i, beats * 2, idle)
    busy = Strobes("busy", dut.busy)
    run(dut, [source, writes, busy], constants={"tiles": tiles, "bank_stride": stride})
    expected = [(n % lanes, n // lanes, word) for n, word in enumerate(words)]
    return writes, expected * 2, busy.cycles, second


@pytest.mark.parametrize("idle", [0.0, 0.4])
@pytest.mark.parametrize(("lanes", "cols", "beat", "tiles"), SHAPES)
def test_writes_each_word_once_in_order(lanes, cols, beat, tiles, idle):
    writes, expected, _, _ = _load(lanes, cols, beat, tiles, idle)
    assert writes.writes == expected


@pytest.mark.parametrize(("lanes", "cols", "beat", "tiles"), SHAPES)
def test_one_word_a_cycle(lanes, cols, beat, tiles):
    writes, expected, busy, second = _load(lanes, cols, beat, tiles, 0.0)
    each = max(1, cols * 4 // beat)
    count = len(expected) // 2
    wait = each - (each > 1)  # beats before a word's last one are taken before the start, too
    cycles = [n * each + wait for n in range(count)]
    assert writes.cycles[:count] == cycles
    assert writes.cycles[count] == second + wait
    assert busy[:2] == [1, 2]
    assert busy.index(second + 1) == cycles[-1]
