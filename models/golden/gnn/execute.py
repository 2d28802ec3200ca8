"""Executes a graph Program from its memory image, bit for bit as the engine must.

Both command queues are run with their `wait` counts, so a Program whose order cannot work is
found here; all values come from memory or from the rows handed over on chip, as in the gates.
"""

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array

from hw.gnn.format import (
    AGGREGATE,
    AGGREGATE_COLUMN,
    AGGREGATE_NODE,
    COMBINE,
    COMBINE_COLUMN,
    COMBINE_NODE,
    HEADER,
    MAGIC,
    SLOT_BYTES,
    VERSION,
    Opcode,
    Word,
)
from hw.gnn.program import Program
from models.golden.gnn.decode import (
    Features,
    read_edges,
    read_features,
    read_q_rows,
    read_sources,
    read_weights,
    read_word,
    read_words,
)
from models.golden.gnn.encode import bitmap_stream, q_row_bytes
from models.golden.gnn.post_processor import post_process
from models.golden.gnn.requantizer import requantize
from quant.rounding import check_signed

__all__ = ["Execution", "execute"]

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Execution:
    """All values of one run; rows stand in the Program's order.

    Parameters
    ----------
    inputs : tuple of Features
        Per layer: widths, counts, indices and codes of its input, in stored order.
    psums : tuple of ndarray [rows, columns], int64
        Per layer: the combination's partial sums P.
    q : tuple of ndarray [rows, columns], int8
        Per layer: the aggregation operands.
    acc : tuple of ndarray [rows, columns], int64
        Per layer: the sums over the neighbours.
    codes : tuple of ndarray [rows, columns], int16
        Per layer but the last: the codes x' that it writes.
    logits : ndarray [rows, columns], int64
    predictions : ndarray [nodes], int64
        Class of each node, in the BitGraph's order; the lowest index wins ties.
    memory : ndarray [bytes], uint8
        The image as the engine must leave it.
    """

    inputs: tuple[Features, ...]
    psums: tuple[Integers, ...]
    q: tuple[NDArray[np.int8], ...]
    acc: tuple[Integers, ...]
    codes: tuple[NDArray[np.int16], ...]
    logits: Integers
    predictions: Integers
    memory: NDArray[np.uint8]

    @property
    def widths(self) -> tuple[Integers, ...]:
        """Magnitude bits [rows] of each layer's input."""
        return tuple(features.width for features in self.inputs)

    @property
    def nonzero(self) -> tuple[Integers, ...]:
        """Non-zero codes [rows] of each layer's input."""
        return tuple(features.count for features in self.inputs)


def execute(program: Program) -> Execution:
    """Return every value that the engine computes for `program`.

    Raises
    ------
    ValueError
        If the image is foreign, a value leaves its width, or the queues wait for each other.
    """
    return _Machine(program).run()


class _Machine:
    """Memory, weight buffer and row FIFO, and what was seen so far."""

    def __init__(self, program: Program) -> None:
        self.program, self.config = program, program.config
        self.beat_bytes = program.config.memory.beat_bytes
        self.memory = program.image.copy()
        self.weights = np.zeros((0, 0), np.int64)
        self.fifo: deque[Integers] = deque()
        self.seen: dict[tuple[str, int], list] = {}

    def run(self) -> Execution:
        header = read_word(self.memory, 0, HEADER)
        expected = {"magic": MAGIC, "version": VERSION, "config_hash": self.config.hash}
        for field, value in expected.items():
            if header[field] != value:
                raise ValueError(f"HEADER.{field} must be {value:#x}, not {header[field]:#x}")
        combines = self._queue(header, "combine", COMBINE, Opcode.COMBINE)
        aggregates = self._queue(header, "aggregate", AGGREGATE, Opcode.AGGREGATE)
        done = [0, 0]
        while done != [len(combines), len(aggregates)]:
            if done[0] < len(combines) and combines[done[0]]["wait"] <= done[1]:
                self._combine(combines[done[0]])
                done[0] += 1
            elif done[1] < len(aggregates) and self._ready(aggregates[done[1]], done[0]):
                self._aggregate(aggregates[done[1]])
                done[1] += 1
            else:
                raise ValueError(f"both queues wait: {done[0]} combines, {done[1]} aggregates done")
        return self._result()

    def _ready(self, command: dict[str, int], combines: int) -> bool:
        return command["wait"] <= combines and bool(command["source_memory"] or self.fifo)

    def _queue(self, header: dict, name: str, word: Word, opcode: Opcode) -> list[dict[str, int]]:
        begin = header[f"{name}_address"]
        slots = range(begin, begin + header[f"{name}_commands"] * SLOT_BYTES, SLOT_BYTES)
        commands = [read_word(self.memory, slot, word) for slot in slots]
        for command in commands:
            if command["opcode"] != opcode:
                raise ValueError(f"{word.name}.opcode must be {opcode}, not {command['opcode']}")
        return commands

    def _see(self, kind: str, layer: int, value: object) -> None:
        self.seen.setdefault((kind, layer), []).append(value)

    def _tables(self, command: dict[str, int], column: Word, node: Word) -> tuple[dict, dict]:
        begin, columns = command["nodes_address"], command["columns"]
        return (
            read_words(self.memory, begin, columns, column),
            read_words(self.memory, begin + 8 * columns, command["rows"], node),
        )

    def _write(self, address: int, data: NDArray[np.uint8]) -> int:
        """Write `data`, padded to whole beats, and return the beats."""
        beats = -(-data.size // self.beat_bytes)
        self.memory[address : address + beats * self.beat_bytes] = 0
        self.memory[address : address + data.size] = data.reshape(-1)
        return beats

    def _combine(self, command: dict[str, int]) -> None:
        sizes, layer = self.config.combination, command["layer"]
        if command["load_weights"]:
            self.weights = read_weights(self.memory, command, sizes.lanes, sizes.cols)
        column, node = self._tables(command, COMBINE_COLUMN, COMBINE_NODE)
        features = read_features(self.memory, command, node, self.beat_bytes)
        psum = check_signed(
            "P", features.matrix(command["reduction"]) @ self.weights, sizes.psum_width
        )
        q = requantize(psum, node["m"][:, None], node["e"][:, None], column["n"], column["f"])
        for kind, value in (("inputs", features), ("psums", psum), ("q", q.astype(np.int8))):
            self._see(kind, layer, value)
        if command["sink_memory"]:
            row_bytes = command["row_beats"] * self.beat_bytes
            self._write(command["rows_address"], q_row_bytes(q, row_bytes))
        else:
            self.fifo.append(q)

    def _aggregate(self, command: dict[str, int]) -> None:
        if command["source_memory"]:
            addresses = read_sources(self.memory, command, self.beat_bytes)
            q = read_q_rows(self.memory, addresses, command["columns"])
        else:
            q = self.fifo.popleft()
        if len(q) != command["source_rows"]:
            raise ValueError(f"source rows must be {command['source_rows']}, not {len(q)}")
        record, destination = read_edges(self.memory, command, self.beat_bytes)
        ones = np.ones(len(record), np.int64)
        edges = coo_array((ones, (destination, record)), (command["rows"], len(q)))
        acc = check_signed("acc", edges.tocsr() @ q, self.config.aggregation.psum_width)
        self._see("acc", command["layer"], acc)
        self._post_process(command, acc)

    def _post_process(self, command: dict[str, int], acc: Integers) -> None:
        column, node = self._tables(command, AGGREGATE_COLUMN, AGGREGATE_NODE)
        if column["r"].any():
            raise ValueError("the self factor r must be 0: the self path is not built yet")
        signed, last = bool(command["signed_next"]), bool(command["last_layer"])
        names = ("m", "e", "m_next", "e_next", "width_next")
        m, e, m_next, e_next, width_next = (node[name][:, None] for name in names)
        out = post_process(
            acc, m, e, column["n"], column["r"], column["b"], 0,
            m_next, e_next, width_next, signed, last,
        )  # fmt: skip
        if last:
            self._see("logits", command["layer"], out)
            self._write(command["out_address"], np.ascontiguousarray(out, "<i8").view(np.uint8))
            return
        self._see("codes", command["layer"], out.astype(np.int16))
        stream = bitmap_stream(out, node["width_next"], signed=signed)
        beats = self._write(command["out_address"] + self.beat_bytes, stream)
        self._write(command["out_address"], np.array([beats], "<u4").view(np.uint8))

    def _result(self) -> Execution:
        layers = range(len(self.program.layers))

        def joined(kind: str, layer: int) -> np.ndarray:
            return np.concatenate(self.seen[kind, layer])

        logits = joined("logits", layers[-1])
        predictions = np.empty(len(logits), np.int64)
        predictions[self.program.node_order] = logits.argmax(axis=1)
        return Execution(
            inputs=tuple(_join(self.seen["inputs", layer]) for layer in layers),
            psums=tuple(joined("psums", layer) for layer in layers),
            q=tuple(joined("q", layer) for layer in layers),
            acc=tuple(joined("acc", layer) for layer in layers),
            codes=tuple(joined("codes", layer) for layer in layers[:-1]),
            logits=logits,
            predictions=predictions,
            memory=self.memory,
        )


def _join(pieces: list[Features]) -> Features:
    fields = ("width", "count", "index", "code")
    return Features(*(np.concatenate([getattr(p, field) for p in pieces]) for field in fields))
