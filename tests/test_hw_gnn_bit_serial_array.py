"""BitSerialArray against integer dot products, its cycle rule, its events."""

from dataclasses import dataclass
from random import Random

import pytest

from hw.gnn.bit_serial_array import BitSerialArray
from hw.gnn.config import CombinationConfig, GnnConfig
from sim.bench import GRID, run
from sim.streams import Sink, Source, Strobes, Tally


def _config(lanes: int, cols: int) -> GnnConfig:
    return GnnConfig(
        combination=CombinationConfig(
            lanes=lanes,
            cols=cols,
            weight_buffer_bytes=max(64, 8 * lanes * cols),
            columns_max=4 * cols,
        )
    )


@dataclass(frozen=True)
class Work:
    """Rows of groups for one config: each row is (B, m, e, groups of (lane, address, code))."""

    config: GnnConfig
    tiles: int
    stride: int
    banks: list[list[list[int]]]
    rows: list[tuple[int, int, int, list[list[tuple[int, int, int]]]]]

    def groups(self) -> list[dict]:
        """Return payloads of the group stream."""
        lanes = self.config.combination.lanes
        payloads = []
        for width, m, e, groups in self.rows:
            for n, group in enumerate(groups):
                values: list[dict | None] = [None] * lanes
                for lane, address, code in group:
                    values[lane] = {
                        "valid": 1, "address": address, "magnitude": abs(code), "sign": code < 0,
                    }  # fmt: skip
                row = {"width": width, "m": m, "e": e}
                last = n == len(groups) - 1
                payloads.append({"values": values, "last": last, "row": row})
        return payloads

    def psums(self) -> list[dict]:
        """Return the words that must come out."""
        cols = self.config.combination.cols
        words = []
        for _, m, e, groups in self.rows:
            for tile in range(self.tiles):
                psum = [0] * cols
                for lane, address, code in (value for group in groups for value in group):
                    weights = self.banks[lane][tile * self.stride + address]
                    psum = [p + code * w for p, w in zip(psum, weights, strict=True)]
                last = int(tile == self.tiles - 1)
                words.append({"psum": psum, "tile": tile, "last": last, "m": m, "e": e})
        return words

    def planes(self) -> list[list[int]]:
        """Return the cycles of each group of each row; an empty one has 0 planes."""
        return [
            [self.tiles * width if group and width else 0 for group in groups]
            for width, _, _, groups in self.rows
        ]


def _work(lanes: int, cols: int, tiles: int, seed: int, count: int = 25) -> Work:
    rng = Random(seed)
    config = _config(lanes, cols)
    depth = config.combination.bank_depth
    stride = depth // tiles
    banks = [
        [[rng.randint(-7, 7) for _ in range(cols)] for _ in range(depth)] for _ in range(lanes)
    ]
    banks[0][0] = [7, -7] * (cols // 2)
    rows = [(0, 1, 2, [[]]), (8, 4095, 63, [[(0, 0, 255)]]), (8, 0, 0, [[(0, 0, -255)]])]
    for _ in range(count):
        width = rng.randint(0, 8)
        top = (1 << width) - 1
        groups = []
        for _ in range(rng.choice([0, 1, 1, 2, 3]) if width else 0):
            members = rng.sample(range(lanes), rng.randint(1, lanes))
            groups.append(
                [
                    (n, rng.randrange(stride), rng.randint(1, top) * rng.choice([1, -1]))
                    for n in members
                ]
            )
        rows.append((width, rng.getrandbits(12), rng.getrandbits(6), groups or [[]]))
    return Work(config, tiles, stride, banks, rows)


class Banks:
    """Write all banks before the first group is offered."""

    name = "banks"

    def __init__(self, dut: BitSerialArray, work: Work) -> None:
        self._port = dut.weight_write
        self._writes = [
            (lane, address, sum((w & 15) << 4 * c for c, w in enumerate(word)))
            for lane, bank in enumerate(work.banks)
            for address, word in enumerate(bank)
        ]
        self.cycles = len(self._writes)

    @property
    def finished(self) -> bool:
        """Whether everything is written."""
        return not self._writes

    def signals(self) -> tuple[()]:
        """Return nothing."""
        return ()

    def start(self, ctx) -> None:
        """Write the first word."""
        self.step(ctx, -1, ())

    def step(self, ctx, cycle, values) -> bool:
        """Write the next word."""
        enable = bool(self._writes)
        ctx.set(self._port.enable, enable)
        if enable:
            lane, address, word = self._writes.pop(0)
            ctx.set(self._port.lane, lane)
            ctx.set(self._port.address, address)
            ctx.set(self._port.word, word)
        return enable


class LateSource(Source):
    """A source that starts once the banks are written."""

    def __init__(self, name, port, values, idle, seed, start_cycle) -> None:
        super().__init__(name, port, values, idle, seed)
        self._start_cycle = start_cycle

    def start(self, ctx) -> None:
        """Offer nothing yet."""
        ctx.set(self._port.valid, 0)

    def step(self, ctx, cycle, values) -> bool:
        """Wait, then be a source."""
        return False if cycle + 1 < self._start_cycle else super().step(ctx, cycle, values)


def _run(work: Work, idle: float = 0.0, stall: float = 0.0):
    dut = BitSerialArray(work.config)
    banks = Banks(dut, work)
    source = LateSource("i", dut.i, work.groups(), idle, 1, banks.cycles + 2)
    sink = Sink("o", dut.o, work.psums(), stall, 1)
    tally = Tally(dut.events)
    rows = Strobes("row_taken", dut.row_taken, len(work.rows))
    constants = {"tiles": work.tiles, "bank_stride": work.stride}
    run(dut, [banks, source, sink, rows, tally], constants=constants)
    assert tally.totals | _events(work) == tally.totals
    return source.cycles, sink.cycles


def _events(work: Work) -> dict[str, int]:
    groups = [(width, group) for width, _, _, row in work.rows for group in row if group and width]
    values = sum(len(group) for _, group in groups)
    return {
        "weight_reads": values * work.tiles,
        "combine_values": values,
        "combine_groups": len(groups),
        "combine_planes": sum(width * work.tiles for width, _ in groups),
        "combine_bit_ops": sum(width * work.tiles * len(group) for width, group in groups),
    }


SHAPES = [(1, 2, 1), (2, 4, 4), (4, 2, 3), (8, 4, 2)]


@pytest.mark.parametrize(("idle", "stall"), GRID)
@pytest.mark.parametrize(("lanes", "cols", "tiles"), SHAPES)
def test_equals_dot_products(lanes, cols, tiles, idle, stall):
    _run(_work(lanes, cols, tiles, seed=2), idle, stall)


@pytest.mark.parametrize("stall", [0.0, 0.9])
@pytest.mark.parametrize(("lanes", "cols", "tiles"), SHAPES)
def test_cycle_rule(lanes, cols, tiles, stall):
    work = _work(lanes, cols, tiles, seed=3)
    taken, given = _run(work, stall=stall)
    group, end = 0, taken[0] - max(1, work.planes()[0][0])
    for row, planes in enumerate(work.planes()):
        if row >= 2:  # the row of partial sums is free once the row before the last was taken
            end = max(end, given[(row - 1) * tiles - 1])
        for count in planes:
            end += max(1, count)
            assert taken[group] == end
            group += 1
        if not stall:
            first = max(end + 4, given[row * tiles - 1] + 1 if row else 0)
            assert given[row * tiles : (row + 1) * tiles] == list(range(first, first + tiles))


def test_no_bubble_when_rows_have_work():
    work = _work(2, 4, 4, seed=4)
    width, m, e, groups = 3, 2048, 11, [[(0, 1, 5), (1, 2, -7)]]
    busy = Work(work.config, 4, work.stride, work.banks, [(width, m, e, groups)] * 20)
    taken, given = _run(busy)
    assert taken == list(range(taken[0], taken[0] + 20 * 12, 12))
    assert given[::4] == [cycle + 4 for cycle in taken]
