"""Cuts the nodes into parts whose partial sums fit the aggregation buffer, and renumbers them."""

from typing import Literal

import numpy as np
import pymetis
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hw.gnn.config import GnnConfig

__all__ = ["PartitionMode", "part_rows_limit", "partition_nodes"]

PartitionMode = Literal["auto", "metis", "natural"]

Integers = NDArray[np.int64]

DESTINATIONS = 1 << 16
"""Rows that a u16 in the edge stream can name."""

SLACK = 1.03
"""METIS lets its parts differ by 3 %; without slack about every second one would be cut again."""

SEED = 1


def part_rows_limit(config: GnnConfig, columns: int, part_rows: int | None) -> int:
    """Return the largest number of rows of a part.

    Parameters
    ----------
    config : GnnConfig
    columns : int
        Columns of the widest layer.
    part_rows : int or None
        A smaller limit, by choice.

    Raises
    ------
    ValueError
        If not even one row fits, or `part_rows` asks for more than fit.
    """
    sizes = config.aggregation
    words = -(-columns // sizes.lanes)
    if words > sizes.depth:
        raise ValueError(
            f"aggregation.psum_buffer_bytes must hold one row of {columns} columns = {words} words "
            f"of {sizes.word_width} bits, not {sizes.depth}"
        )
    limit = min(sizes.depth // words, DESTINATIONS)
    if part_rows is None:
        return limit
    if not 1 <= part_rows <= limit:
        raise ValueError(
            f"part_rows must be in 1..{limit} (rows of {columns} columns that "
            f"aggregation.psum_buffer_bytes = {sizes.psum_buffer_bytes} holds), not {part_rows}"
        )
    return part_rows


def partition_nodes(
    mode: PartitionMode, source: Integers, destination: Integers, nodes: int, limit: int
) -> list[Integers]:
    """Return the nodes of each part, ascending; parts stand in the order of their first nodes.

    One part if all nodes fit, whatever the mode. Else ``natural`` cuts the nodes in their order;
    ``metis`` (and ``auto``) cuts few edges: METIS makes the parts, and a part that came out too
    large is cut again. Same input, same parts.

    Raises
    ------
    ValueError
        If the mode is unknown.
    """
    if mode not in ("auto", "metis", "natural"):
        raise ValueError(f"partition must be auto, metis or natural, not {mode!r}")
    everyone = np.arange(nodes)
    if nodes <= limit:
        return [everyone]
    if mode == "natural":
        return [everyone[at : at + limit] for at in range(0, nodes, limit)]
    ones = np.ones(len(source), np.int64)
    one_way = csr_array((ones, (source, destination)), (nodes, nodes))
    adjacency = csr_array(one_way + one_way.T)
    adjacency.setdiag(0)
    adjacency.eliminate_zeros()
    return sorted(_cut(adjacency, everyone, limit), key=lambda part: int(part[0]))


def _cut(adjacency: csr_array, members: Integers, limit: int) -> list[Integers]:
    """Return `members` in parts of at most `limit`; `adjacency` is that of all nodes."""
    if len(members) <= limit:
        return [members]
    inner = csr_array(adjacency[members][:, members])
    inner.sort_indices()
    count = max(2, int(np.ceil(len(members) * SLACK / limit)))
    label = _metis(inner, min(count, len(members)))
    pieces = [members[label == part] for part in range(label.max() + 1)]
    pieces = [piece for piece in pieces if len(piece)]
    if len(pieces) == 1:  # METIS found nothing to cut, as in a graph without edges
        pieces = [members[at : at + limit] for at in range(0, len(members), limit)]
    return [part for piece in pieces for part in _cut(adjacency, piece, limit)]


def _metis(adjacency: csr_array, count: int) -> Integers:
    graph = pymetis.CSRAdjacency(
        [int(i) for i in adjacency.indptr], [int(i) for i in adjacency.indices]
    )
    _, label = pymetis.part_graph(count, graph, options=pymetis.Options(seed=SEED))
    return np.asarray(label, np.int64)
