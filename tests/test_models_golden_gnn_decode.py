"""Reading and writing the memory format against bits laid out by hand."""

import doctest
import random
import re

import numpy as np
import pytest

import models.golden.gnn.decode
import models.golden.gnn.encode
from hw.gnn.format import Format
from models.golden.gnn.decode import (
    read_edges,
    read_features,
    read_q_rows,
    read_sources,
    read_weights,
    take_bits,
)
from models.golden.gnn.encode import bitmap_stream, q_row_bytes

BEAT = 8


def memory_of(*fields: tuple[int, int]) -> np.ndarray:
    """Return (value, width) fields as bytes, first field in the lowest bits, whole beats."""
    word, at = 0, 0
    for value, width in fields:
        assert 0 <= value < 1 << width
        word |= value << at
        at += width
    return np.frombuffer(word.to_bytes(-(-at // 64) * 8, "little"), np.uint8).copy()


def segment(*fields: tuple[int, int]) -> np.ndarray:
    """Return a feature segment: the header beat, then the fields."""
    data = memory_of(*fields)
    return np.concatenate((memory_of((len(data) // BEAT, 64)), data))


def table(width: list[int], count: list[int]) -> dict[str, np.ndarray]:
    """Return the fields of node words that the feature reader takes."""
    return {"width": np.array(width), "count": np.array(count)}


@pytest.mark.parametrize("module", [models.golden.gnn.decode, models.golden.gnn.encode])
def test_doctests(module) -> None:
    assert doctest.testmod(module).failed == 0


def test_take_bits_at_every_offset_and_width() -> None:
    chance = random.Random(5)
    memory = np.array([chance.randrange(256) for _ in range(20)], np.uint8)
    number = int.from_bytes(memory.tobytes(), "little")
    for width in range(33):
        for offset in range(160 - width):
            expected = number >> offset & (1 << width) - 1
            assert take_bits(memory, offset, width).item() == expected, (offset, width)


def test_index_segment_by_hand() -> None:
    """Three rows, signed, K = 5 (3-bit indices): -3 at 4 and +1 at 0; width 0; +1 at 2."""
    memory = segment((4, 3), (0b111, 3), (0, 3), (0b001, 3), (2, 3), (0b01, 2))
    command = {"features_address": 0, "signed": 1, "format": Format.INDEX, "index_width": 3,
               "reduction": 5}  # fmt: skip
    features = read_features(memory, command, table([2, 0, 1], [2, 9, 1]), BEAT)
    assert features.count.tolist() == [2, 0, 1]
    assert features.index.tolist() == [4, 0, 2]
    assert features.code.tolist() == [-3, 1, 1]
    assert features.matrix(5).toarray().tolist() == [[1, 0, 0, 0, -3], [0] * 5, [0, 0, 1, 0, 0]]


def test_bitmap_segment_by_hand() -> None:
    """K = 18: two chunks a row; row 0 has 3 at 1, 2 at 15, 1 at 17; row 1 width 0; row 2 empty."""
    fields = (0x8002, 16), (3, 2), (2, 2), (0x0002, 16), (1, 2), (0, 16), (0, 16)
    command = {"features_address": 0, "signed": 0, "format": Format.BITMAP, "index_width": 0,
               "reduction": 18}  # fmt: skip
    features = read_features(segment(*fields), command, table([2, 0, 1], [0, 0, 0]), BEAT)
    assert features.count.tolist() == [3, 0, 0]
    assert features.index.tolist() == [1, 15, 17]
    assert features.code.tolist() == [3, 2, 1]
    codes = features.matrix(18).toarray()
    assert bitmap_stream(codes, features.width, signed=False).tolist() == (
        segment(*fields)[BEAT : BEAT + 9].tolist()
    )  # 70 bits


@pytest.mark.parametrize("signed", [False, True])
def test_written_features_read_back(signed: bool) -> None:
    rng = np.random.default_rng(6)
    width = rng.integers(0, 9 - signed, 40)
    high = (1 << width) - 1
    codes = rng.integers(-high * signed, high + 1, (37, 40)).T * (rng.random((40, 37)) < 0.4)
    stream = bitmap_stream(codes, width, signed=signed)
    data = np.concatenate((stream, np.zeros(-len(stream) % BEAT, np.uint8)))
    memory = np.concatenate((memory_of((len(data) // BEAT, 64)), data))
    command = {"features_address": 0, "signed": int(signed), "format": Format.BITMAP,
               "index_width": 0, "reduction": 37}  # fmt: skip
    features = read_features(memory, command, table(width.tolist(), [0] * 40), BEAT)
    assert np.array_equal(features.matrix(37).toarray(), codes)


def test_weights_by_hand() -> None:
    """K = 3, 3 columns, 2 lanes of 2 columns: two tiles, stride 2, k = 3 and column 3 are 0."""
    words = [(1, 2), (3, 4), (-5, 6), (0, 0), (7, 0), (-7, 0), (-1, 0), (0, 0)]
    memory = memory_of(*((w & 15, 4) for pair in words for w in pair))
    command = {"weights_address": 0, "tiles": 2, "bank_stride": 2, "reduction": 3, "columns": 3}
    assert read_weights(memory, command, 2, 2).tolist() == [[1, 2, 7], [3, 4, -7], [-5, 6, -1]]


def test_edges_and_sources_by_hand() -> None:
    memory = memory_of(*((word, 16) for word in (2, 5, 5, 0, 1, 3)))
    record, destination = read_edges(
        memory, {"edges_address": 0, "edges_beats": 2, "source_rows": 3}, BEAT
    )
    assert (record.tolist(), destination.tolist()) == ([0, 0, 2], [5, 5, 3])
    memory = memory_of((0x100, 48), (4, 16), (0x80, 48), (2, 16))
    command = {"sources_address": 0, "source_words": 2, "row_beats": 2}
    assert read_sources(memory, command, BEAT).tolist() == [0x100, 0x110, 0x80]


def test_q_rows_round_trip() -> None:
    q = np.random.default_rng(7).integers(-7, 8, (5, 19))
    memory = q_row_bytes(q, 16).reshape(-1)
    assert read_q_rows(memory, np.arange(5) * 16, 19).tolist() == q.tolist()


def test_refuses_truncated_streams() -> None:
    command = {"features_address": 0, "signed": 0, "format": Format.BITMAP, "index_width": 0,
               "reduction": 64}  # fmt: skip
    cases = [
        (command, table([1], [0]), ((0xFFFF, 16), (0xFFFF, 16)),
         "feature segment must hold 80 bits, not 64"),
        (command | {"format": Format.INDEX, "index_width": 6}, table([1], [10]), ((0, 6),),
         "feature segment must hold 70 bits, not 64"),
        (command | {"reduction": 3}, table([1], [0]), ((0x0008, 16), (1, 1)),
         "feature index must be below 3, not 3"),
    ]  # fmt: skip
    for fields, nodes, stream, message in cases:
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            read_features(segment(*stream), fields, nodes, BEAT)
    edges = {"edges_address": 0, "edges_beats": 1, "source_rows": 1}
    with pytest.raises(ValueError, match="^edge stream must hold 10 words, not 4$"):
        read_edges(memory_of((9, 16)), edges, BEAT)
