"""A sweep of dot products for the bit-serial array: rows made at random, sums by NumPy.

A dot product is the partial sum P of one column over the values of one row. Everything that knows
the array's ports stands in `run`, `_weight_words` and `_group_words`.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hw.gnn.config import CODE_WIDTH_MAX, GnnConfig
from quant.rounding import check_signed
from sim.harness import Harness, HarnessResult
from sim.packing import Words
from sim.sweep import require_equal

__all__ = ["DotProducts", "compare", "make", "run"]

WEIGHT_MAX = 7
GROUPS_MAX = 12
"""Most groups of a random row; corner rows are longer."""

MULTIPLIER_M, MULTIPLIER_E = 12, 6
"""Bits of the row's multiplier, which the array hands on."""


@dataclass(frozen=True)
class DotProducts:
    """Rows of groups, the weights, and what must come out.

    Parameters
    ----------
    config : GnnConfig
    tiles : int
        Column tiles of a row.
    weights : ndarray [lanes, bank_depth, cols], int64
    width, m, e : ndarray [rows], int64
        Magnitude width and multiplier of each row.
    row : ndarray [groups], int64
        Row of each group, ascending, each at least once.
    address, code : ndarray [groups, lanes], int64
        A lane whose code is 0 has no value.
    """

    config: GnnConfig
    tiles: int
    weights: NDArray[np.int64]
    width: NDArray[np.int64]
    m: NDArray[np.int64]
    e: NDArray[np.int64]
    row: NDArray[np.int64]
    address: NDArray[np.int64]
    code: NDArray[np.int64]

    @property
    def stride(self) -> int:
        """Words of a bank that one tile takes."""
        return self.config.combination.bank_depth // self.tiles

    @property
    def count(self) -> int:
        """Dot products."""
        return len(self.width) * self.tiles * self.config.combination.cols

    @property
    def values(self) -> NDArray[np.int64]:
        """Values of each row."""
        return np.bincount(self.row, (self.code != 0).sum(1)).astype(np.int64)

    @property
    def last(self) -> NDArray[np.bool_]:
        """Whether a group is its row's last."""
        return np.append(self.row[1:] != self.row[:-1], True)

    @cached_property
    def psums(self) -> NDArray[np.int64]:
        """P of [rows, tiles, cols]."""
        starts = np.flatnonzero(np.append(True, self.last[:-1]))
        psums = np.zeros((len(self.width), self.tiles, self.weights.shape[2]), np.int64)
        for tile in range(self.tiles):
            for lane, bank in enumerate(self.weights):
                weights = bank[tile * self.stride + self.address[:, lane]]
                terms = self.code[:, lane, None] * weights
                psums[:, tile] += np.add.reduceat(terms, starts)
        return psums

    @property
    def events(self) -> dict[str, int]:
        """Events that do not depend on time."""
        values = (self.code != 0).sum(1)
        planes = self.width[self.row] * self.tiles * (values > 0)
        return {
            "row_taken": len(self.width),
            "events.weight_reads": int(values.sum()) * self.tiles,
            "events.combine_values": int(values.sum()),
            "events.combine_groups": int((values > 0).sum()),
            "events.combine_planes": int(planes.sum()),
            "events.combine_bit_ops": int((planes * values).sum()),
        }


def make(config: GnnConfig, count: int, seed: int, tiles: int | None = None) -> DotProducts:
    """Return at least `count` dot products: corners first, then random rows.

    The corners: for each width and both signs all lanes at the largest code against weights of
    all +7, all -7 and both in turn, each lane alone, rows without a value and rows that end in a
    group without one; a row of as many groups as a tile has words; and the row of largest codes
    and weights that is as long as the partial sum's width allows, of both signs.
    """
    rng = np.random.default_rng(seed)
    c = config.combination
    tiles = int(rng.integers(1, c.tiles_max + 1)) if tiles is None else tiles
    stride = c.bank_depth // tiles
    weights = rng.integers(-WEIGHT_MAX, WEIGHT_MAX + 1, (c.lanes, c.bank_depth, c.cols))
    for tile in range(tiles):
        for at, word in enumerate(([7], [-7], [7, -7])):
            weights[:, tile * stride + at] = np.tile(word, c.cols // len(word))
    corners = _corners(config, stride, rng)
    rows = max(1, -(-count // (tiles * c.cols)) - len(corners.width))
    random = _random_rows(config, stride, rows, rng)
    work = DotProducts(
        config=config,
        tiles=tiles,
        weights=weights,
        m=rng.integers(0, 1 << MULTIPLIER_M, len(corners.width) + rows),
        e=rng.integers(0, 1 << MULTIPLIER_E, len(corners.width) + rows),
        width=np.concatenate([corners.width, random.width]),
        row=np.concatenate([corners.row, random.row + len(corners.width)]),
        address=np.concatenate([corners.address, random.address]),
        code=np.concatenate([corners.code, random.code]),
    )
    check_signed("psum", work.psums, c.psum_width)
    return work


@dataclass(frozen=True)
class _Rows:
    """The fields of `DotProducts` with the same names."""

    width: NDArray[np.int64]
    row: NDArray[np.int64]
    address: NDArray[np.int64]
    code: NDArray[np.int64]


def _corners(config: GnnConfig, stride: int, rng: np.random.Generator) -> _Rows:
    c = config.combination
    empty = np.zeros((1, c.lanes), np.int64)
    every = np.ones((1, c.lanes), np.int64)
    rows = [(0, empty, empty), (CODE_WIDTH_MAX, empty, empty)]  # width, addresses, codes
    for width in range(1, CODE_WIDTH_MAX + 1):
        for code in ((1 << width) - 1, -(1 << width) + 1):
            rows += [(width, address * every, code * every) for address in range(3)]
            rows += [(width, empty, code * lane[None]) for lane in np.eye(c.lanes, dtype=np.int64)]
            ends_empty = np.concatenate([code * every, empty])
            rows.append((width, np.concatenate([every, empty]), ends_empty))
    rows.append(_whole_row(config, stride, rng))
    top = (1 << CODE_WIDTH_MAX) - 1
    longest = ((1 << c.psum_width - 1) - 1) // (top * WEIGHT_MAX)
    slots = np.arange(-(-longest // c.lanes) * c.lanes).reshape(-1, c.lanes)
    for sign in (1, -1):
        code = np.where(slots < longest, sign * top, 0)
        rows.append((CODE_WIDTH_MAX, np.zeros_like(code), code))
    return _Rows(
        width=np.array([width for width, _, _ in rows]),
        row=np.repeat(np.arange(len(rows)), [len(code) for _, _, code in rows]),
        address=np.concatenate([address for _, address, _ in rows]),
        code=np.concatenate([code for _, _, code in rows]),
    )


def _whole_row(
    config: GnnConfig, stride: int, rng: np.random.Generator
) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
    """Return a row with a value at every address, as wide as no weights make it leave P."""
    c = config.combination
    width = min(CODE_WIDTH_MAX, c.psum_width - 4 - (stride * c.lanes).bit_length())
    address = np.repeat(np.arange(stride)[:, None], c.lanes, 1)
    signs = rng.choice([-1, 1], address.shape)
    return width, address, signs * rng.integers(1, 1 << width, address.shape)


def _random_rows(config: GnnConfig, stride: int, count: int, rng: np.random.Generator) -> _Rows:
    lanes = config.combination.lanes
    width = rng.integers(0, CODE_WIDTH_MAX + 1, count)
    row = np.repeat(np.arange(count), np.where(width, rng.integers(1, GROUPS_MAX + 1, count), 1))
    top = (1 << width[row, None]) - 1
    code = rng.integers(-top, top, (len(row), lanes), endpoint=True)
    code = np.where((rng.random(count) < 0.3)[row, None], np.sign(code) * top, code)
    kept = rng.choice([0.1, 0.6, 1.0], count)[row, None]
    code[rng.random(code.shape) >= kept] = 0
    # The decoder gives an empty group only as a row's last.
    given = code.any(1) | np.append(row[1:] != row[:-1], True)
    address = rng.integers(0, stride, code.shape)
    return _Rows(width, row[given], address[given], code[given])


def run(
    array: Harness, work: DotProducts, *, idle: float = 0.0, stall: float = 0.0, seed: int = 0
) -> tuple[NDArray[np.int64], NDArray[Any], HarnessResult]:
    """Write the weights, then hand all rows to the array.

    Returns
    -------
    psums : ndarray [rows, tiles, cols], int64
    words : ndarray [rows, tiles], structured
        The psum words with what goes with the sums.
    result : HarnessResult
        Of the rows, the weights' writing left out.
    """
    array.run(tables={"weight_write": _weight_words(array, work)})
    result = array.run(
        {"i": _group_words(array, work)},
        {"o": len(work.width) * work.tiles},
        constants={"tiles": work.tiles, "bank_stride": work.stride},
        idle=idle,
        stall=stall,
        seed=seed,
    )
    words = array.unpack("o", result.outputs["o"]).reshape(-1, work.tiles)
    return words["psum"].astype(np.int64), words, result


def compare(
    work: DotProducts, psums: NDArray[np.int64], words: NDArray[Any], events: Any, seed: int
) -> None:
    """Check sums, what goes with them, and events.

    Raises
    ------
    MismatchError
        If one differs.
    """
    rows = {"width": work.width, "groups": np.bincount(work.row), "values": work.values}
    require_equal("o.psum", psums, work.psums, seed, rows)
    tile = np.broadcast_to(np.arange(work.tiles), words.shape)
    others = {"tile": tile, "last": tile == work.tiles - 1, "m": work.m, "e": work.e}
    for name, expected in others.items():
        expected = expected if expected.ndim == 2 else np.repeat(expected[:, None], work.tiles, 1)
        require_equal(f"o.{name}", words[name], expected, seed, rows)
    for name, total in work.events.items():
        require_equal(name, np.array([events[name]]), np.array([total]), seed, {})


def _weight_words(array: Harness, work: DotProducts) -> Words:
    c = work.config.combination
    lane, address = np.divmod(np.arange(c.lanes * c.bank_depth), c.bank_depth)
    write = array.zeros("weight_write", len(lane))
    write["enable"], write["lane"], write["address"] = 1, lane, address
    nibbles = (work.weights & 15).astype(np.uint64).reshape(len(lane), c.cols)
    if c.word_width <= 64:
        write["word"] = (nibbles << np.arange(0, c.word_width, 4, dtype=np.uint64)).sum(1)
    else:
        shifts = np.arange(0, 32, 4, dtype=np.uint64)
        write["word"] = (nibbles.reshape(len(lane), -1, 8) << shifts).sum(2)
    return array.pack("weight_write", write)


def _group_words(array: Harness, work: DotProducts) -> Words:
    group = array.zeros("i", len(work.row))
    group["values"]["valid"] = work.code != 0
    group["values"]["address"] = np.where(work.code != 0, work.address, 0)
    group["values"]["magnitude"] = np.abs(work.code)
    group["values"]["sign"] = work.code < 0
    group["last"] = work.last
    group["row"]["width"] = work.width[work.row]
    group["row"]["m"] = work.m[work.row]
    group["row"]["e"] = work.e[work.row]
    return array.pack("i", group)
