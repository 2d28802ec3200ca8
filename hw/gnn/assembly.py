"""Lays an integer network out in memory and writes the commands that run it.

Regions that serve all parts have part -1: weights, the input, the node table of layer 0's
combination, q rows. All others belong to one part, 0 if there is only one.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hw.gnn.codes import bitmap_segment, index_segment
from hw.gnn.config import Q_WIDTH, GnnConfig
from hw.gnn.format import (
    AGGREGATE,
    AGGREGATE_COLUMN,
    AGGREGATE_NODE,
    BITMAP_CHUNK,
    COMBINE,
    COMBINE_COLUMN,
    COMBINE_NODE,
    HEADER,
    MAGIC,
    SLOT_BYTES,
    VERSION,
    Format,
    Opcode,
    Word,
)
from hw.gnn.image import (
    Bytes,
    Layout,
    pack_weights,
    pack_words,
)
from hw.gnn.network import IntegerLayer
from hw.gnn.program import Kind, Layer, Program, Region
from hw.gnn.scatter import Scatter, edge_stream, part_scatter, source_words

__all__ = ["Assembly"]

Integers = NDArray[np.int64]

ENTRIES_MAX = (1 << 16) - 1
"""Entries of one index list that the node word can count."""

LOGIT_BYTES = 8


class Assembly:
    """One lowering: the layers, the parts, and what has been placed so far.

    Parameters
    ----------
    config : GnnConfig
    network : sequence of IntegerLayer
        In the order of the BitGraph's nodes.
    members : sequence of ndarray, int64
        Nodes of each part, in the order of their rows.
    """

    def __init__(
        self, config: GnnConfig, network: Sequence[IntegerLayer], members: Sequence[Integers]
    ) -> None:
        self.config, self.network = config, network
        self.order = np.concatenate(members)
        self.row_of = np.empty_like(self.order)
        self.row_of[self.order] = np.arange(len(self.order))
        bounds = np.cumsum([0, *(len(part) for part in members)]).tolist()
        self.parts = tuple(pairwise(bounds))
        self.layout = Layout(config.memory)
        self.layers: list[Layer] = []
        self.combines: list[dict[str, int]] = []
        self.aggregates: list[dict[str, int]] = []

    def program(self, graph_hash: str) -> Program:
        """Return the finished Program."""
        depth, parts = len(self.network), len(self.parts)
        header = self.layout.place(Kind.PROGRAM, -1, -1, SLOT_BYTES)
        slots = 1 + (depth - 1) * parts + depth * parts
        commands = self.layout.place(Kind.COMMANDS, -1, -1, slots * SLOT_BYTES)
        for index, layer in enumerate(self.network):
            self._layer(index, layer)
        self.aggregates[0]["clear_words"] = max(c["rows"] * c["tiles"] for c in self.aggregates)
        self._commands(header, commands)
        return Program(
            config=self.config,
            graph_hash=graph_hash,
            layers=tuple(self.layers),
            parts=self.parts,
            node_order=self.order,
            regions=tuple(self.layout.regions),
            image=self.layout.image(),
        )

    def _commands(self, header: Region, commands: Region) -> None:
        """Write the header and both queues, combination first."""
        queues = ((COMBINE, self.combines), (AGGREGATE, self.aggregates))
        slots = [_slot(word, command) for word, queue in queues for command in queue]
        self.layout.fill(commands, np.concatenate(slots))
        fields = {
            "magic": MAGIC,
            "version": VERSION,
            "config_hash": self.config.hash,
            "combine_commands": len(self.combines),
            "aggregate_commands": len(self.aggregates),
            "combine_address": commands.address,
            "aggregate_address": commands.address + len(self.combines) * SLOT_BYTES,
        }
        self.layout.fill(header, _slot(HEADER, fields))

    def _layer(self, index: int, layer: IntegerLayer) -> None:
        sizes = self.config.combination
        weights = pack_weights(layer.weights, sizes.lanes, sizes.cols)
        region = self.layout.put(Kind.WEIGHTS, index, -1, weights)
        common = self._common(index, layer)
        if index == 0:
            common |= self._input(layer)
        reduction, columns = layer.weights.shape
        self.layers.append(
            Layer(reduction, columns, layer.signed, common["format"], common["index_width"],
                  layer.last)
        )  # fmt: skip
        q_rows = self._q_rows(index, columns)
        for part, (begin, end) in enumerate(self.parts if index else ((0, len(self.order)),)):
            command = common | self._combine(index, layer, part, begin, end)
            if part == 0:
                beats = self.layout.beats(region.size_bytes)
                command |= {"load_weights": 1, "weights_address": region.address,
                            "weights_beats": beats}  # fmt: skip
            if q_rows:
                row_bytes = self._row_bytes(columns)
                command |= {"sink_memory": 1, "rows_address": q_rows.address + begin * row_bytes,
                            "row_beats": self.layout.beats(row_bytes)}  # fmt: skip
            self.combines.append(command)
        for part in range(len(self.parts)):
            self.aggregates.append(self._aggregate(index, layer, part, q_rows))

    def _common(self, index: int, layer: IntegerLayer) -> dict[str, int]:
        sizes, (reduction, columns) = self.config.combination, layer.weights.shape
        return {
            "opcode": Opcode.COMBINE,
            "signed": int(layer.signed),
            "format": Format.BITMAP,
            "index_width": 0,
            "tiles": -(-columns // sizes.cols),
            "columns": columns,
            "bank_stride": -(-reduction // sizes.lanes),
            "reduction": reduction,
            "layer": index,
        }

    def _input(self, layer: IntegerLayer) -> dict[str, int]:
        """Place the features of layer 0 in the format that takes fewer bits."""
        assert layer.codes is not None
        codes = layer.codes.renumbered(self.row_of)
        self.counts, form = codes.count, Format.INDEX
        index_width = max(1, (codes.reduction - 1).bit_length())
        data, bits = index_segment(codes, index_width, self.config.combination.lanes)
        bitmap, bitmap_bits = bitmap_segment(codes)
        if bitmap_bits < bits or self.counts.max() > ENTRIES_MAX:
            data, form, index_width = bitmap, Format.BITMAP, 0
            self.counts = np.zeros_like(self.counts)
        header = np.zeros(self.config.memory.beat_bytes, np.uint8)
        header[:4] = np.array([self.layout.beats(data.size)], "<u4").view(np.uint8)
        region = self.layout.put(Kind.INPUT, 0, -1, np.concatenate((header, data)))
        return {"format": form, "index_width": index_width, "features_address": region.address}

    def _row_bytes(self, columns: int) -> int:
        beat_bytes = self.config.memory.beat_bytes
        return -(-columns * Q_WIDTH // (8 * beat_bytes)) * beat_bytes

    def _q_rows(self, index: int, columns: int) -> Region | None:
        """Place the q rows of a layer, where they go through memory."""
        if len(self.parts) == 1:
            return None
        return self.layout.place(Kind.Q_ROWS, index, -1, len(self.order) * self._row_bytes(columns))

    def _table(
        self, kind: Kind, index: int, part: int, words: tuple[Bytes, Bytes]
    ) -> dict[str, int]:
        region = self.layout.put(kind, index, part, np.concatenate(words))
        beats = self.layout.beats(region.size_bytes)
        return {"nodes_address": region.address, "nodes_beats": beats}

    def _combine(
        self, index: int, layer: IntegerLayer, part: int, begin: int, end: int
    ) -> dict[str, int]:
        nodes, factors = self.order[begin:end], layer.combine
        count = 0 if index else self.counts
        columns = pack_words(COMBINE_COLUMN, len(factors.n), n=factors.n, f=factors.f)
        rows = pack_words(COMBINE_NODE, len(nodes), width=layer.width[nodes], m=factors.m[nodes],
                          e=factors.e[nodes], count=count)  # fmt: skip
        place = part if index else -1
        command = self._table(Kind.COMBINE_NODES, index, place, (columns, rows))
        command |= {"rows": end - begin, "part": part, "wait": 0}
        if index:
            features = next(
                r
                for r in self.layout.regions
                if (r.kind, r.layer, r.part) == (Kind.FEATURES, index - 1, part)
            )
            command["features_address"] = features.address
            command["wait"] = (index - 1) * len(self.parts) + part + 1
        return command

    def _aggregate(
        self, index: int, layer: IntegerLayer, part: int, q_rows: Region | None
    ) -> dict[str, int]:
        begin, end = self.parts[part]
        columns = layer.weights.shape[1]
        source, destination = self.row_of[layer.source], self.row_of[layer.destination]
        scatter = part_scatter(source, destination, begin, end, every_row=q_rows is None)
        edges = self.layout.put(Kind.EDGES, index, part, edge_stream(scatter, part))
        nodes, factors = self.order[begin:end], layer.aggregate
        command = self._table(
            Kind.AGGREGATE_NODES, index, part, (
                pack_words(AGGREGATE_COLUMN, columns, n=factors.n, r=factors.r, b=factors.b),
                pack_words(AGGREGATE_NODE, len(nodes), m=factors.m[nodes], e=factors.e[nodes],
                           m_next=factors.m_next[nodes], e_next=factors.e_next[nodes],
                           width_next=layer.width_next[nodes]),
            ),
        )  # fmt: skip
        if q_rows:
            command |= self._sources(index, part, columns, scatter, q_rows)
        return command | {
            "opcode": Opcode.AGGREGATE,
            "last_layer": int(layer.last),
            "signed_next": int(layer.signed_next),
            "tiles": -(-columns // self.config.aggregation.lanes),
            "columns": columns,
            "rows": end - begin,
            "edges_address": edges.address,
            "edges_beats": self.layout.beats(edges.size_bytes),
            "source_rows": len(scatter.rows),
            "out_address": self._output(index, layer, part, nodes).address,
            "layer": index,
            "part": part,
        }

    def _sources(
        self, index: int, part: int, columns: int, scatter: Scatter, q_rows: Region
    ) -> dict[str, int]:
        """Place the list of q rows that a part reads; it waits for all of the layer's."""
        row_bytes = self._row_bytes(columns)
        row_beats = self.layout.beats(row_bytes)
        words = source_words(scatter.rows, q_rows.address, row_bytes, row_beats)
        region = self.layout.put(Kind.SOURCES, index, part, words)
        return {
            "source_memory": 1,
            "row_beats": row_beats,
            "sources_address": region.address,
            "source_words": words.size // 8,
            "sources_beats": self.layout.beats(region.size_bytes),
            "wait": 1 + index * len(self.parts),
        }

    def _output(self, index: int, layer: IntegerLayer, part: int, nodes: Integers) -> Region:
        columns = layer.weights.shape[1]
        if layer.last:
            size = len(nodes) * columns * LOGIT_BYTES
            return self.layout.place(Kind.LOGITS, index, part, size)
        width = layer.width_next[nodes]
        chunks = -(-columns // BITMAP_CHUNK)
        bits = chunks * BITMAP_CHUNK + columns * (width + layer.signed_next)
        size = -(-int(bits[width > 0].sum()) // 8)
        beat_bytes = self.config.memory.beat_bytes
        size = beat_bytes + self.layout.beats(size) * beat_bytes
        return self.layout.place(Kind.FEATURES, index, part, size)


def _slot(word: Word, fields: dict[str, int]) -> Bytes:
    return np.frombuffer(word.pack(**fields).to_bytes(SLOT_BYTES, "little"), np.uint8)
