"""Generated citation graphs: a degree-corrected block model with measured statistics.

The built-in tier. A set made here has the class sizes, degrees, homophily and words a node of a
real citation graph, and none of its contents: an accuracy on it is no published figure.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from .graph_data import GraphData, Tier

__all__ = ["PRESETS", "CitationStatistics", "generate"]

REPAIR_ROUNDS = 200


@dataclass(frozen=True)
class CitationStatistics:
    """What a generated graph must look like.

    Parameters
    ----------
    class_nodes : tuple of int
        Nodes of each class.
    edges : int
        Undirected edges.
    degree_shares : tuple of (int, float)
        Share of nodes with at most this degree, rising; between two entries and up to
        `degree_max` the degrees follow a power law.
    degree_p99, degree_max : int
        99th percentile and maximum of the degree.
    homophily : float
        Share of edges whose ends have the same class.
    words : int
        Features.
    words_mean, words_max : float, int
        Words of a node.
    topic_share : float
        Share of a node's words that come from the table of its class.
    topic_words : int
        Words in the table of a class.
    real : bool
        Whether features are TF-IDF weights instead of 0/1.
    train_per_class, val_nodes, test_nodes : int
        The split.
    """

    class_nodes: tuple[int, ...]
    edges: int
    degree_shares: tuple[tuple[int, float], ...]
    degree_p99: int
    degree_max: int
    homophily: float
    words: int
    words_mean: float
    words_max: int
    topic_share: float
    topic_words: int
    real: bool = False
    train_per_class: int = 20
    val_nodes: int = 500
    test_nodes: int = 1000

    @property
    def nodes(self) -> int:
        """Nodes of all classes."""
        return sum(self.class_nodes)


PRESETS = {
    "cora-like": CitationStatistics(
        (351, 217, 418, 818, 426, 298, 180), 5278,
        ((0, 0.0), (1, 0.179), (2, 0.394), (3, 0.599), (4, 0.742), (8, 0.946)), 19, 168,
        0.810, 1433, 18.2, 30, 0.15, 120,
    ),
    "citeseer-like": CitationStatistics(
        (249, 590, 668, 701, 596, 523), 4552,
        ((0, 0.0144), (1, 0.414), (2, 0.653), (3, 0.785), (4, 0.856), (8, 0.959)), 15, 99,
        0.738, 3703, 31.6, 54, 0.17, 300,
    ),
    "pubmed-like": CitationStatistics(
        (4103, 7739, 7875), 44324,
        ((0, 0.0), (1, 0.461), (2, 0.631), (3, 0.712), (4, 0.758), (8, 0.853), (12, 0.905)),
        35, 171, 0.802, 500, 50.1, 122, 0.12, 60, real=True,
    ),
    "demo": CitationStatistics(
        (90, 80, 70, 60), 600,
        ((0, 0.01), (1, 0.179), (2, 0.394), (3, 0.599), (4, 0.742), (8, 0.940)), 19, 40,
        0.810, 128, 10.0, 20, 0.22, 24, train_per_class=15, val_nodes=80, test_nodes=140,
    ),
}  # fmt: skip
"""Statistics by name. The first three are those of Cora, CiteSeer and PubMed (Planetoid), `demo`
is a small graph with Cora's degrees. The topic tables are chosen so that a GCN reaches roughly
its accuracy on the real set."""


def generate(name: str, seed: int = 0) -> GraphData:
    """Draw the built-in graph `name`; the same name and seed give the same graph.

    Raises
    ------
    ValueError
        If `name` is not one of `PRESETS`.
    """
    if name not in PRESETS:
        raise ValueError(f"the generated graph must be one of {', '.join(PRESETS)}, not {name!r}")
    statistics = PRESETS[name]
    rng = np.random.default_rng(seed)
    sizes = statistics.class_nodes
    labels = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    edge_index = _edges(statistics, labels, rng)
    features = _features(statistics, labels, rng)
    train_idx, val_idx, test_idx = _split(statistics, labels, rng)
    return GraphData(
        name=name,
        tier=Tier.BUILT_IN,
        features=features,
        edge_index=edge_index,
        labels=labels,
        train_idx=train_idx,
        val_idx=val_idx,
        test_idx=test_idx,
        classes=len(sizes),
        provenance=f"generated citation graph {name}, seed {seed}; not real data",
    )


def _degrees(statistics: CitationStatistics, rng: np.random.Generator) -> np.ndarray:
    """Draw degrees whose quantiles are the given ones and whose sum is 2 * edges."""
    nodes = statistics.nodes
    knots = [*statistics.degree_shares, (statistics.degree_p99, 0.99), (statistics.degree_max, 1.0)]
    share = (np.arange(nodes) + 0.5) / nodes
    degrees = np.zeros(nodes, np.int64)
    for (low, below), (high, upto) in zip(knots, knots[1:], strict=False):
        inside = (share > below) & (share <= upto)
        at = (share[inside] - below) / (upto - below)
        degrees[inside] = _power_law(low + 1, high, at)
    degrees[-1] = statistics.degree_max
    _correct_sum(degrees, 2 * statistics.edges, statistics.degree_shares[-1][0])
    return rng.permutation(degrees)


def _power_law(low: int, high: int, at: np.ndarray) -> np.ndarray:
    """Quantiles `at` of a law d^-3 on low..high."""
    values = np.arange(low, high + 1)
    weights = values.astype(float) ** -3
    return values[np.searchsorted(np.cumsum(weights) / weights.sum(), at, side="left")]


def _correct_sum(degrees: np.ndarray, total: int, floor: int) -> None:
    """Spread what is missing to `total` over the nodes of the tail, one by one."""
    tail = np.flatnonzero(degrees[:-1] > floor)[::-1]
    if not tail.size:
        tail = np.arange(degrees.size)
    position = 0
    while (missing := total - int(degrees.sum())) != 0:
        node = tail[position % tail.size]
        degrees[node] = max(degrees[node] + np.sign(missing), 0)
        position += 1


def _edges(
    statistics: CitationStatistics, labels: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Match stubs inside the classes and across them, then mend loops and repeats."""
    stubs = rng.permutation(np.repeat(np.arange(statistics.nodes), _degrees(statistics, rng)))
    inner, outer = [], []
    for label in range(len(statistics.class_nodes)):
        mine = stubs[labels[stubs] == label]
        pairs = round(statistics.homophily * mine.size / 2)
        inner.append(mine[: 2 * pairs].reshape(-1, 2))
        outer.append(mine[2 * pairs :])
    across = rng.permutation(np.concatenate(outer))
    across = across[: across.size // 2 * 2].reshape(-1, 2)
    same = [_mend(pairs, np.zeros_like(labels), False, rng) for pairs in inner]
    pairs = np.concatenate([*same, _mend(across, labels, True, rng)])
    both = np.concatenate([pairs, pairs[:, ::-1]])
    return np.unique(both, axis=0).T


def _mend(
    pairs: np.ndarray, labels: np.ndarray, across: bool, rng: np.random.Generator
) -> np.ndarray:
    """Swap ends of loops, repeats and (if `across`) pairs of one class with random other pairs.

    What is still wrong after `REPAIR_ROUNDS` rounds is left out.
    """
    for _ in range(REPAIR_ROUNDS):
        bad = _wrong(pairs, labels, across)
        if not bad.any():
            break
        wrong, right = rng.permutation(np.flatnonzero(bad)), rng.permutation(np.flatnonzero(~bad))
        first, second = wrong[: right.size], right[: wrong.size]
        swapped = pairs.copy()
        swapped[first, 1], swapped[second, 1] = pairs[second, 1], pairs[first, 1]
        still = _wrong(swapped, labels, across)
        good = ~(still[first] | still[second])
        pairs[first[good]], pairs[second[good]] = swapped[first[good]], swapped[second[good]]
    return pairs[~_wrong(pairs, labels, across)]


def _wrong(pairs: np.ndarray, labels: np.ndarray, across: bool) -> np.ndarray:
    ordered = np.sort(pairs, axis=1)
    _, first = np.unique(ordered, axis=0, return_index=True)
    repeated = np.ones(len(pairs), bool)
    repeated[first] = False
    ends = labels[pairs]
    return repeated | (pairs[:, 0] == pairs[:, 1]) | (across & (ends[:, 0] == ends[:, 1]))


def _features(
    statistics: CitationStatistics, labels: np.ndarray, rng: np.random.Generator
) -> sp.csr_array:
    """Draw each node's words from a common table and from the table of its class."""
    common = 1 / (10 + np.arange(statistics.words))
    common = rng.permutation(common / common.sum())
    deviation = statistics.words_mean / 3.5
    counts = rng.normal(statistics.words_mean, deviation, labels.size).round()
    counts = np.clip(counts, 1, statistics.words_max).astype(np.int64)
    tables = np.stack([_log_table(statistics, common, rng) for _ in statistics.class_nodes])
    pairs = zip(labels, counts, strict=True)
    words = [_draw_words(tables[label], count, rng) for label, count in pairs]
    indptr = np.concatenate([[0], np.cumsum(counts)])
    indices = np.concatenate(words)
    values = np.ones(indices.size, np.float32)
    matrix = sp.csr_array((values, indices, indptr), shape=(labels.size, statistics.words))
    return _tf_idf(matrix, statistics.words, rng) if statistics.real else matrix


def _log_table(
    statistics: CitationStatistics, common: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Mix the common words with drawn words of one class; log-probabilities."""
    topic = rng.choice(statistics.words, statistics.topic_words, replace=False)
    table = (1 - statistics.topic_share) * common
    table[topic] += statistics.topic_share / statistics.topic_words
    return np.log(table)


def _draw_words(log_table: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draw `count` different words with the given log-probabilities (Gumbel's top-k trick)."""
    keys = log_table + rng.gumbel(size=log_table.size)
    return np.sort(np.argpartition(keys, -count)[-count:])


def _tf_idf(matrix: sp.csr_array, words: int, rng: np.random.Generator) -> sp.csr_array:
    """Weigh words by a drawn frequency in the text and their rarity among the nodes."""
    nodes = matrix.indptr.size - 1
    documents = np.maximum(np.bincount(matrix.indices, minlength=words), 1)
    frequency = rng.geometric(0.6, matrix.nnz) / 60
    matrix.data = (frequency * np.log(nodes / documents)[matrix.indices] + 1e-3).astype(np.float32)
    return matrix


def _split(
    statistics: CitationStatistics, labels: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw a fixed number of training nodes a class, then validation and test nodes."""
    order = rng.permutation(labels.size)
    train = np.concatenate(
        [order[labels[order] == c][: statistics.train_per_class] for c in np.unique(labels)]
    )
    rest = order[~np.isin(order, train)]
    ends = statistics.val_nodes, statistics.val_nodes + statistics.test_nodes
    return np.sort(train), np.sort(rest[: ends[0]]), np.sort(rest[ends[0] : ends[1]])
