"""Parts: every node once, none too large, few cut edges, the same every time."""

import re
from typing import Any, get_args

import numpy as np
import pytest

from hw.gnn.config import AggregationConfig, GnnConfig
from hw.gnn.partition import PartitionMode, part_rows_limit, partition_nodes
from hw.gnn.scatter import edge_stream, part_scatter, source_words

TINY = GnnConfig()
NONE = np.zeros(0, np.int64)


def any_mode(name: str) -> Any:
    """Return a mode that no type checker would let through."""
    return name


def grid(side: int) -> tuple[np.ndarray, np.ndarray]:
    """Return sources and destinations of a square grid, its nodes shuffled."""
    node = np.random.default_rng(0).permutation(side * side).reshape(side, side)
    pairs = [(node[:, :-1], node[:, 1:]), (node[:-1], node[1:])]
    one, other = (np.concatenate([pair[end].ravel() for pair in pairs]) for end in (0, 1))
    return np.concatenate((one, other)), np.concatenate((other, one))


def cut(parts: list[np.ndarray], edges: tuple[np.ndarray, np.ndarray], nodes: int) -> int:
    """Return the edges that join two parts."""
    label = np.empty(nodes, int)
    for index, part in enumerate(parts):
        label[part] = index
    return int((label[edges[0]] != label[edges[1]]).sum())


@pytest.mark.parametrize("mode", get_args(PartitionMode))
@pytest.mark.parametrize("limit", [1, 7, 100, 399, 400, 10**6])
def test_parts_hold_every_node_once_and_are_not_too_large(mode: PartitionMode, limit: int) -> None:
    source, destination = grid(20)
    parts = partition_nodes(mode, source, destination, 400, limit)
    assert sorted(np.concatenate(parts).tolist()) == list(range(400))
    assert max(len(part) for part in parts) <= limit
    assert all((np.diff(part) > 0).all() for part in parts)
    assert [part[0] for part in parts] == sorted(part[0] for part in parts)
    assert (len(parts) == 1) == (limit >= 400)
    again = partition_nodes(mode, source, destination, 400, limit)
    assert [part.tolist() for part in parts] == [part.tolist() for part in again]


def test_natural_takes_nodes_in_their_order() -> None:
    parts = partition_nodes("natural", NONE, NONE, 8, 3)
    assert [part.tolist() for part in parts] == [[0, 1, 2], [3, 4, 5], [6, 7]]


def test_metis_cuts_fewer_edges_than_the_order() -> None:
    edges = grid(20)
    few = cut(partition_nodes("metis", *edges, 400, 110), edges, 400)
    many = cut(partition_nodes("natural", *edges, 400, 110), edges, 400)
    assert few < many / 5
    assert len(partition_nodes("metis", *edges, 400, 110)) == 4


@pytest.mark.parametrize("looped", [np.zeros(0, np.int64), np.arange(9)])
def test_metis_without_edges_between_nodes(looped: np.ndarray) -> None:
    parts = partition_nodes("metis", looped, looped, 9, 4)
    assert sorted(np.concatenate(parts).tolist()) == list(range(9))
    assert max(len(part) for part in parts) <= 4


def test_rows_limit() -> None:
    """tiny: 128 KiB of 64-bit words = 16384; 16 columns take 4 words, 17 take 5."""
    assert part_rows_limit(TINY, 16, None) == 4096
    assert part_rows_limit(TINY, 17, None) == 3276
    assert part_rows_limit(TINY, 16, 4096) == 4096
    assert part_rows_limit(TINY, 16, 1) == 1
    large = GnnConfig(aggregation=AggregationConfig(psum_buffer_bytes=1 << 24))
    assert part_rows_limit(large, 4, None) == 65536  # 2 M words, but destinations are u16


def test_records_of_a_part() -> None:
    """Rows 2..4 of six; edges from inside (2, 4), from outside (0, 5), one twice, one elsewhere."""
    source = np.array([5, 2, 0, 4, 4, 2, 1, 0])
    destination = np.array([3, 2, 4, 3, 3, 4, 5, 2])
    scatter = part_scatter(source, destination, 2, 5, every_row=False)
    assert scatter.rows.tolist() == [2, 4, 0, 5]
    assert edge_stream(scatter, 0).view("<u2").tolist() == [2, 0, 2, 2, 1, 1, 2, 0, 2, 1, 1]
    inner = source >= 2
    every = part_scatter(source[inner] - 2, destination[inner] - 2, 0, 4, every_row=True)
    stream = edge_stream(every, 0).view("<u2").tolist()
    assert stream == [2, 0, 2, 0, 2, 1, 1, 1, 1]


def test_runs_of_sources() -> None:
    """Rows 3..5 and 1 of 8 bytes at 0x1000; a run longer than 65535 beats is two."""
    words = source_words(np.array([3, 4, 5, 1]), 0x1000, 8, 1).view("<u8").tolist()
    assert words == [0x1018 | 3 << 48, 0x1008 | 1 << 48]
    words = source_words(np.arange(70000), 0, 8, 1).view("<u8").tolist()
    assert words == [65535 << 48, 65535 * 8 | 4465 << 48]
    words = source_words(np.arange(40000), 0, 16, 2).view("<u8").tolist()
    assert words == [65534 << 48, 32767 * 16 | 14466 << 48]
    assert source_words(np.zeros(0, np.int64), 0, 8, 1).size == 0


def crowded() -> None:
    """Make a record of 65536 destinations."""
    zeros = np.zeros(65536, np.int64)
    edge_stream(part_scatter(zeros, zeros, 0, 1, every_row=False), 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: part_rows_limit(TINY, 16, 4097),
            (
                "part_rows must be in 1..4096 (rows of 16 columns that "
                "aggregation.psum_buffer_bytes = 131072 holds), not 4097"
            ),
        ),
        (
            lambda: part_rows_limit(TINY, 16, 0),
            (
                "part_rows must be in 1..4096 (rows of 16 columns that "
                "aggregation.psum_buffer_bytes = 131072 holds), not 0"
            ),
        ),
        (
            lambda: part_rows_limit(
                GnnConfig(aggregation=AggregationConfig(psum_buffer_bytes=64)), 36, None
            ),
            (
                "aggregation.psum_buffer_bytes must hold one row of 36 columns = 9 words "
                "of 64 bits, not 8"
            ),
        ),
        (
            lambda: partition_nodes(any_mode("best"), NONE, NONE, 1, 1),
            "partition must be auto, metis or natural, not 'best'",
        ),
        (
            crowded,
            "edges of one row into part 3 must be at most the u16 count = 65535, not 65536",
        ),
    ],
)
def test_refuses(call, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        call()
