"""FeatureDecoder behind its bit unpacker, against segments packed in Python."""

from dataclasses import dataclass
from random import Random
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.bit_unpacker import BitUnpacker
from hw.gnn.combine_layouts import take_max, token_layout
from hw.gnn.config import CombinationConfig, GnnConfig
from hw.gnn.feature_decoder import FeatureDecoder
from hw.gnn.format import COMBINE_NODE, Format
from hw.gnn.words import layout
from sim.bench import GRID, check

CONFIG = GnnConfig(combination=CombinationConfig(weight_buffer_bytes=512))
REDUCTION = 70
INDEX_WIDTH = 7
SIGNED = [False, True]


class DecoderBench(wiring.Component):
    """Beats through an unpacker into the decoder."""

    i_nodes: stream.Interface
    i: stream.Interface
    o: stream.Interface

    def __init__(self, fmt: Format, signed: bool) -> None:
        self._format, self._signed = fmt, signed
        super().__init__(
            {
                "i_nodes": In(stream.Signature(layout(COMBINE_NODE))),
                "i": In(stream.Signature(64)),
                "o": Out(stream.Signature(token_layout(CONFIG))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Connect."""
        m = Module()
        m.submodules.unpacker = unpacker = BitUnpacker(64, take_max(CONFIG))
        m.submodules.decoder = decoder = FeatureDecoder(CONFIG)
        wiring.connect(m, wiring.flipped(self.i), unpacker.i)
        wiring.connect(m, unpacker.o, decoder.i_bits)
        wiring.connect(m, wiring.flipped(self.i_nodes), decoder.i_nodes)
        wiring.connect(m, decoder.o, wiring.flipped(self.o))
        m.d.comb += [
            unpacker.width.eq(decoder.take),
            decoder.format.eq(self._format),
            decoder.signed.eq(self._signed),
            decoder.index_width.eq(INDEX_WIDTH),
            decoder.last_chunk.eq((REDUCTION - 1) // 16),
        ]
        return m


@dataclass(frozen=True)
class Row:
    """A row: width B, multiplier, values by feature."""

    width: int
    m: int
    e: int
    codes: dict[int, int]


def _rows(fmt: Format, signed: bool, seed: int) -> list[Row]:
    """Corners (nothing stored, first and last feature, full chunks, empty last chunk), random."""
    rng = Random(seed)
    most = 7 if signed else 8
    corners: list[tuple[int, list[int]]] = [
        (0, []), (most, []), (1, [0]), (most, [REDUCTION - 1]), (2, list(range(16))), (0, []),
        (most, list(range(REDUCTION))), (3, [15, 16]), (1, [64]), (1, [63]),
    ]  # fmt: skip
    for _ in range(25):
        width = rng.randint(0, most)
        count = rng.choice([0, 1, 3, 9]) if width else 0
        corners.append((width, rng.sample(range(REDUCTION), count)))
    rows = []
    for width, indices in corners:
        codes = {}
        for k in indices if fmt == Format.INDEX else sorted(indices):
            sign = rng.choice([1, -1]) if signed else 1
            codes[k] = sign * rng.choice([1, (1 << width) - 1, rng.randint(1, (1 << width) - 1)])
        rows.append(Row(width, rng.getrandbits(12), rng.getrandbits(6), codes))
    return rows


def _pack(rows: list[Row], fmt: Format, signed: bool) -> list[int]:
    """Pack the segment by the words of `hw.gnn.format`."""
    word, at = 0, 0

    def put(value: int, width: int) -> None:
        nonlocal word, at
        word |= value << at
        at += width

    for row in rows:
        if row.width == 0:
            continue
        chunks = [list(row.codes)]
        if fmt == Format.BITMAP:
            chunks = [[k for k in row.codes if k // 16 == n] for n in range(-(-REDUCTION // 16))]
        for members in chunks:
            if fmt == Format.BITMAP:
                put(sum(1 << k % 16 for k in members), 16)
            for k in members:
                if fmt == Format.INDEX:
                    put(k, INDEX_WIDTH)
                put(abs(row.codes[k]), row.width)
                if signed:
                    put(row.codes[k] < 0, 1)
    return [word >> n & (1 << 64) - 1 for n in range(0, at, 64)]


def _tokens(row: Row, fmt: Format) -> list[dict[str, Any] | None]:
    """Return what each step of a row gives; None for a bitmap without a token."""
    info = {"width": row.width, "m": row.m, "e": row.e}
    end = {"value": 0, "last": 1, "row": info}
    if row.width == 0 or (fmt == Format.INDEX and not row.codes):
        return [end]
    steps: list[dict[str, Any] | None] = []
    chunk = -1
    for k, code in row.codes.items():
        if fmt == Format.BITMAP:
            steps += [None] * (k // 16 - chunk)
            chunk = k // 16
        steps.append(
            {
                "value": 1,
                "index": k,
                "magnitude": abs(code),
                "sign": code < 0,
                "row": info,
                "last": 0,
            }
        )
    rest = -(-REDUCTION // 16) - 1 - chunk if fmt == Format.BITMAP else 0
    if rest:
        return [*steps, *[None] * (rest - 1), end]
    steps[-1] = {**(steps[-1] or {}), "last": 1}
    return steps


def _node(row: Row, fmt: Format) -> dict[str, int]:
    count = len(row.codes) if fmt == Format.INDEX else 0
    return {"width": row.width, "m": row.m, "e": row.e, "count": count}


def _run(fmt: Format, signed: bool, rows: list[Row], idle: float = 0.0, stall: float = 0.0):
    tokens = [token for row in rows for token in _tokens(row, fmt) if token]
    inputs = {"i_nodes": [_node(row, fmt) for row in rows], "i": _pack(rows, fmt, signed)}
    dut = DecoderBench(fmt, signed)
    return check(dut, inputs, {"o": [_known(token) for token in tokens]}, idle=idle, stall=stall)


def _known(token: dict[str, Any]) -> dict[str, Any]:
    """Index and code of a token without a value are 0."""
    return {"index": 0, "magnitude": 0, "sign": 0, **token}


@pytest.mark.parametrize(("idle", "stall"), GRID)
@pytest.mark.parametrize("signed", SIGNED)
@pytest.mark.parametrize("fmt", list(Format))
def test_decodes_every_row(fmt, signed, idle, stall):
    _run(fmt, signed, _rows(fmt, signed, seed=1), idle, stall)


@pytest.mark.parametrize("signed", SIGNED)
@pytest.mark.parametrize("fmt", list(Format))
def test_one_step_a_cycle_without_bubbles(fmt, signed):
    rows = _rows(fmt, signed, seed=2)
    result = _run(fmt, signed, rows)
    steps = [_tokens(row, fmt) for row in rows]
    # The first row stores nothing, so it does not wait for the first beat; later ones never wait.
    starts = [sum(len(s) for s in steps[:n]) for n in range(len(steps) + 1)]
    assert steps[0] == [_tokens(rows[0], fmt)[-1]]
    assert result.taken["i_nodes"] == [start - 1 for start in starts[1:]]
    flat = [token for row in steps for token in row]
    assert result.given["o"] == [n + 1 for n, token in enumerate(flat) if token]


@pytest.mark.parametrize("fmt", list(Format))
def test_a_step_waits_for_the_token_before_it(fmt):
    rows = _rows(fmt, False, seed=3)
    result = _run(fmt, False, rows, stall=0.6)
    given = iter(result.given["o"])
    step, free, ends = -1, 0, []
    for row in rows:
        for token in _tokens(row, fmt):
            step = max(step + 1, free)
            free = next(given) if token else free
        ends.append(step)
    assert result.taken["i_nodes"] == ends
