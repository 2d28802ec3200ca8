"""Reads the memory of a graph Program: words, weights, features, edges, q rows.

Written from the description in `hw.gnn.format` alone, so that it judges what lowering packs.
Addresses are bytes, offsets bits; memory is an ndarray of uint8, little endian.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from hw.gnn.format import BITMAP_CHUNK, SOURCE, Format, Word

__all__ = [
    "Features",
    "read_edges",
    "read_features",
    "read_q_rows",
    "read_sources",
    "read_weights",
    "read_word",
    "read_words",
    "take_bits",
]

Memory = NDArray[np.uint8]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Features:
    """Non-zero feature codes of consecutive rows, in the order in which they are stored.

    Parameters
    ----------
    width : ndarray [rows], int64
        Magnitude bits B of each row.
    count : ndarray [rows], int64
        Stored codes of each row.
    index, code : ndarray [values], int64
        Feature index and code of each value, row after row.
    """

    width: Integers
    count: Integers
    index: Integers
    code: Integers

    def matrix(self, reduction: int) -> csr_array:
        """Return the codes as a sparse matrix [rows, reduction]."""
        starts = np.concatenate(([0], np.cumsum(self.count)))
        return csr_array((self.code, self.index, starts), (len(self.count), reduction))


def take_bits(memory: Memory, offsets: ArrayLike, widths: ArrayLike) -> Integers:
    """Return the unsigned fields of up to 32 bits that start at bit `offsets` of `memory`.

    Examples
    --------
    >>> take_bits(np.array([0x34, 0x12], np.uint8), [4, 0], [8, 4]).tolist()
    [35, 4]
    """
    offset = np.asarray(offsets, np.int64)
    padded = np.concatenate((memory, np.zeros(8, np.uint8)))
    first = offset >> 3
    value = np.zeros(offset.shape, np.uint64)
    for byte in range(5):
        value |= padded[first + byte].astype(np.uint64) << np.uint64(8 * byte)
    mask = (np.int64(1) << np.asarray(widths, np.int64)) - 1
    return (value >> (offset & 7).astype(np.uint64)).astype(np.int64) & mask


def _fields(word: Word, words: NDArray[np.uint64]) -> dict[str, Integers]:
    fields, at = {}, 0
    for name, width, signed in word.fields:
        value = (words >> np.uint64(at) & np.uint64((1 << width) - 1)).astype(np.int64)
        if signed:
            value -= (value >> width - 1) << width
        fields[name] = value
        at += width
    return fields


def read_words(memory: Memory, address: int, count: int, word: Word) -> dict[str, Integers]:
    """Return the fields of `count` words of 64 bits as arrays."""
    return _fields(word, memory[address : address + 8 * count].view("<u8"))


def read_word(memory: Memory, address: int, word: Word) -> dict[str, int]:
    """Return the fields of one word of any length."""
    return word.unpack(
        int.from_bytes(memory[address : address + word.width // 8].tobytes(), "little")
    )


def read_weights(
    memory: Memory, command: Mapping[str, int], lanes: int, cols: int
) -> NDArray[np.int64]:
    """Return the weights [reduction, columns] of a COMBINE command."""
    tiles, stride = command["tiles"], command["bank_stride"]
    cells = tiles * stride * lanes * cols
    region = memory[command["weights_address"] :][: (cells + 1) // 2]
    nibbles = np.stack((region & 15, region >> 4), axis=1).reshape(-1)[:cells].astype(np.int64)
    signed = nibbles - 16 * (nibbles >> 3)
    banks = signed.reshape(tiles, stride * lanes, cols)
    matrix = banks.transpose(1, 0, 2).reshape(stride * lanes, tiles * cols)
    return matrix[: command["reduction"], : command["columns"]]


def _index_positions(count: Integers, stored: Integers, index_width: int) -> tuple:
    entry = index_width + stored
    starts = np.cumsum(count * entry) - count * entry
    row = np.repeat(np.arange(len(count)), count)
    rank = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    return row, starts[row] + rank * entry[row]


def _bitmap_positions(data: Memory, stored: Integers, chunks: int) -> tuple:
    """Walk the chunks, since each one's length hangs on its bitmap; return row, index, offset."""
    raw, at = data.tobytes() + bytes(4), 0
    bitmaps, begins = [], []
    for bits in stored.tolist():
        for _ in range(chunks if bits else 0):
            bitmap = int.from_bytes(raw[at >> 3 : (at >> 3) + 3], "little") >> (at & 7) & 0xFFFF
            bitmaps.append(bitmap)
            begins.append(at + BITMAP_CHUNK)
            at += BITMAP_CHUNK + bits * bitmap.bit_count()
    if at > 8 * len(data):
        raise ValueError(f"feature segment must hold {at} bits, not {8 * len(data)}")
    present = (np.array(bitmaps, np.int64)[:, None] >> np.arange(BITMAP_CHUNK)) & 1
    chunk, bit = np.nonzero(present)
    row = np.repeat(np.flatnonzero(stored), chunks)[chunk]
    rank = (np.cumsum(present, axis=1) - 1)[chunk, bit]
    offset = np.array(begins, np.int64)[chunk] + rank * stored[row]
    return row, chunk % chunks * BITMAP_CHUNK + bit, offset


def read_features(
    memory: Memory, command: Mapping[str, int], nodes: Mapping[str, Integers], beat_bytes: int
) -> Features:
    """Return the feature segment that a COMBINE command reads."""
    width, begin = nodes["width"], command["features_address"] + beat_bytes
    beats = int(memory[command["features_address"] :][:4].view("<u4")[0])
    data = memory[begin : begin + beats * beat_bytes]
    stored = np.where(width > 0, width + command["signed"], 0)
    if command["format"] == Format.INDEX:
        count = np.where(width > 0, nodes["count"], 0)
        row, at = _index_positions(count, stored, command["index_width"])
        bits = int((count * (command["index_width"] + stored)).sum())
        if bits > 8 * len(data):
            raise ValueError(f"feature segment must hold {bits} bits, not {8 * len(data)}")
        index = take_bits(data, at, command["index_width"])
        at = at + command["index_width"]
    else:
        row, index, at = _bitmap_positions(data, stored, -(-command["reduction"] // BITMAP_CHUNK))
    if index.size and index.max() >= command["reduction"]:
        raise ValueError(f"feature index must be below {command['reduction']}, not {index.max()}")
    code = take_bits(data, at, stored[row])
    sign = code >> width[row] & 1
    magnitude = code & (np.int64(1) << width[row]) - 1
    return Features(
        width, np.bincount(row, minlength=len(width)), index, magnitude * (1 - 2 * sign)
    )


def read_edges(memory: Memory, command: Mapping[str, int], beat_bytes: int) -> tuple:
    """Return record and destination of each edge that an AGGREGATE command reads."""
    region = memory[command["edges_address"] :][: command["edges_beats"] * beat_bytes]
    stream = region.view("<u2").astype(np.int64)
    counts, begins, at = [], [], 0
    for _ in range(command["source_rows"]):
        counts.append(int(stream[at]))
        begins.append(at + 1)
        at += 1 + counts[-1]
    if at > len(stream):
        raise ValueError(f"edge stream must hold {at} words, not {len(stream)}")
    count = np.array(counts, np.int64)
    record = np.repeat(np.arange(len(count)), count)
    rank = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    return record, stream[np.array(begins, np.int64)[record] + rank]


def read_sources(memory: Memory, command: Mapping[str, int], beat_bytes: int) -> Integers:
    """Return the byte address of each q row that an AGGREGATE command reads, in order."""
    words = read_words(memory, command["sources_address"], command["source_words"], SOURCE)
    row_bytes = command["row_beats"] * beat_bytes
    if (words["beats"] % command["row_beats"]).any():
        raise ValueError("a source run must be whole rows")
    rows = words["beats"] // command["row_beats"]
    rank = np.arange(rows.sum()) - np.repeat(np.cumsum(rows) - rows, rows)
    return np.repeat(words["address"], rows) + rank * row_bytes


def read_q_rows(memory: Memory, addresses: Integers, columns: int) -> Integers:
    """Return the q rows [len(addresses), columns] that stand at `addresses`."""
    nibbles = take_bits(memory, (8 * addresses)[:, None] + 4 * np.arange(columns), 4)
    return nibbles - 16 * (nibbles >> 3)
