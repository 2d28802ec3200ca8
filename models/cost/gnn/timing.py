"""When each command starts, may go and ends, on a memory that never stalls.

A schedule over the two queues: a command's times follow from the end of the one before it, from
the completions it waits for, and from the rows that pass between the engines. With every stream on
a port of its own both engines' times equal the gates' to the cycle, counters of time included.

The residue against the whole accelerator has one cause: the eight read streams share one port,
here each has its own. It shows where commands begin, since a stream then asks for as many bursts as
its FIFO holds (`stream_bursts`), and beats come in the order of their bursts:

- the second command slot waits for the first bursts of weights and node words;
- a weight burst waits for the first bursts of edges and node words of the other engine, once;
- column words of AGGREGATE wait for the first bursts of edges and sources, `go` by as much;
- the feature segment behind its header, and the first q rows of a part, wait for all of these.

Each is at most `stream_bursts` bursts for each stream in front: some tens of cycles a command at
the `tiny` preset, whatever the size of the graph. Later bursts come ahead of need and hide.

Cycles count from the cycle after start, as the counter `cycles` and the command log do.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from hw.gnn.format import BITMAP_CHUNK
from hw.gnn.program import Program
from models.cost.bursts import split_bursts
from models.cost.gnn.aggregation import LOGIT_WIDTH, ScatterTimer, code_drain, logit_drain
from models.cost.gnn.combination import CombinationTimer
from models.cost.gnn.commands import (
    Commands,
    command_rows,
    read_commands,
    read_edge_counts,
    read_sources,
)
from models.cost.gnn.edge_decoder import EdgeDecoderCost
from models.cost.gnn.groups import form_groups
from models.cost.gnn.memory import MemoryTiming, WriteTimer
from models.cost.gnn.sequencer import SequencerTimer
from models.cost.gnn.statistics import Pattern, row_slice

__all__ = ["CommandTime", "Timing", "predict"]

Fields = dict[str, int]

TIMES = (
    "combine_waiting",
    "combine_starved",
    "combine_stalled",
    "aggregate_waiting",
    "aggregate_starved",
    "post_stalled",
)
"""Time counters that a schedule adds up, besides `cycles`."""

HEADER_CYCLES = 2
"""From the acknowledgement of a segment's data to its header's beat (`hw.gnn.segment_writer`)."""


@dataclass(frozen=True)
class CommandTime:
    """Cycles of one command, as the command log keeps them.

    Parameters
    ----------
    queue : str
        ``combine`` or ``aggregate``.
    layer, part : int
    start, go, end : int, cycle
    """

    queue: str
    layer: int
    part: int
    start: int
    go: int
    end: int


@dataclass(frozen=True)
class Timing:
    """Times of all commands, combination queue first, and the time counters."""

    commands: tuple[CommandTime, ...]
    counters: dict[str, int]


class Fetch(Protocol):
    """Where commands come from."""

    def start(self, queue: str, free: int) -> int:
        """Return the cycle in which an engine that is free from `free` on takes a command."""
        ...


def predict(
    program: Program,
    inputs: Sequence[Pattern],
    memory: MemoryTiming,
    fetch: Fetch | None = None,
) -> Timing:
    """Return the predicted times of a run.

    Parameters
    ----------
    program : Program
    inputs : sequence of Pattern
        Widths and value positions of each layer's input.
    memory : MemoryTiming
    fetch : Fetch, optional
        Where commands come from, if not from the sequencer.
    """
    return _Schedule(program, inputs, memory, fetch).run()


class _Schedule:
    """Both queues on their way: what is done, when the next command of either is there."""

    def __init__(
        self, program: Program, inputs: Sequence[Pattern], memory: MemoryTiming, fetch: Fetch | None
    ) -> None:
        self.program = program
        self.inputs = inputs
        self.memory = memory
        self.commands: Commands = read_commands(program)
        queues = {"combine": self.commands.combine, "aggregate": self.commands.aggregate}
        self.beat_bytes = program.config.memory.beat_bytes
        self.fetch = fetch or SequencerTimer(
            self.beat_bytes, memory, {name: len(queue) for name, queue in queues.items()}
        )
        self.times: dict[str, list[CommandTime]] = {name: [] for name in queues}
        self.counters: dict[str, int] = dict.fromkeys(TIMES, 0)

    def run(self) -> Timing:
        """Take commands in an order in which all that they wait for is known."""
        combine, aggregate = list(self.commands.combine), list(self.commands.aggregate)
        while combine or aggregate:
            if combine and combine[0]["wait"] <= len(self.times["aggregate"]):
                command = combine.pop(0)
                self._together(command, None if command["sink_memory"] else aggregate.pop(0))
            else:
                self._aggregate_alone(aggregate.pop(0))
        ends = [t.end for queue in self.times.values() for t in queue]
        commands = (*self.times["combine"], *self.times["aggregate"])
        return Timing(commands, {"cycles": max(ends) + 2, **self.counters})

    def _start(self, queue: str) -> int:
        """Return when the next command of `queue` is taken."""
        done = self.times[queue]
        return self.fetch.start(queue, done[-1].end + 1 if done else 0)

    def _wait(self, command: Fields, other: str, ready: int) -> int:
        """Return the cycle of `go`: `ready`, or the one in which the awaited completion shows."""
        wait = command["wait"]
        go = max(ready, self.times[other][wait - 1].end + 1) if wait else ready
        self.counters[f"{'combine' if other == 'aggregate' else 'aggregate'}_waiting"] += go - ready
        return go

    def _finish(self, queue: str, command: Fields, start: int, go: int, end: int) -> None:
        self.times[queue].append(
            CommandTime(queue, command["layer"], command["part"], start, go, end)
        )

    def _together(self, command: Fields, partner: Fields | None) -> None:
        """Time a COMBINE, and the AGGREGATE that takes its rows on chip, if there is one."""
        start, go, timer = self._combine_begin(command)
        if partner:
            begun = self._aggregate_begin(partner)
            end = self._rows(command, timer, begun[2].hand) + 1
            self._aggregate_end(partner, *begun)
        else:
            writer = self._row_writer(command)
            self._rows(command, timer, writer.hand)
            end = writer.done() + 1
        self._finish("combine", command, start, go, end)
        self.counters["combine_starved"] += timer.starved
        self.counters["combine_stalled"] += timer.stalled

    def _rows(self, command: Fields, timer: CombinationTimer, hand: Callable[[int], int]) -> int:
        """Make all rows and give each to `hand`; return the cycle of the last handshake."""
        handed = 0
        for _ in range(command["rows"]):
            handed = hand(timer.row())
            timer.hand(handed)
        return handed

    def _combine_begin(self, command: Fields) -> tuple[int, int, CombinationTimer]:
        """Return start and go of a COMBINE, and its timer, ready for the first row."""
        first = self.memory.first_beat
        start = self._start("combine")
        loaded = start + first + command["columns"]
        if command["load_weights"]:
            loaded = max(loaded, start + first + self._weight_cycles(command))
        go = self._wait(command, "aggregate", loaded + 2)
        header = go + 1 + first
        layer = self.program.layers[command["layer"]]
        rows = row_slice(self.inputs[command["layer"]], command_rows(self.program, command))
        groups = form_groups(self.program.config, layer.format, layer.reduction, *rows)
        timer = CombinationTimer(
            self.program.config,
            groups,
            rows[0],
            command["tiles"],
            go,
            decode=header + 1,
            stored=header + 1 + first + 1,
        )
        return start, go, timer

    def _weight_cycles(self, command: Fields) -> int:
        """Return the cycles of the words from the first beat on: one, or its beats, each."""
        config = self.program.config
        words = command["tiles"] * command["bank_stride"] * config.combination.lanes
        return words * max(1, config.combination.word_width // config.memory.axi_data_width)

    def _aggregate_begin(self, command: Fields) -> tuple[int, int, ScatterTimer]:
        """Return start and go of an AGGREGATE, and its timer, ready for the first row."""
        first = self.memory.first_beat
        start = self._start("aggregate")
        columns = start + 1 + first + command["columns"]
        go = self._wait(command, "combine", max(start + 2 + command["clear_words"], columns) + 1)
        edges = read_edge_counts(self.program, command)
        timer = ScatterTimer(
            self.program.config, edges, command["tiles"], go, start + first + EdgeDecoderCost.FIRST
        )
        return start, go, timer

    def _aggregate_alone(self, command: Fields) -> None:
        """Time an AGGREGATE that fetches its rows from memory.

        A run of rows is asked for in a cycle of its own, once its SOURCE word is there; beats come
        one a cycle, and wait where the row queue is full.
        """
        start, go, timer = self._aggregate_begin(command)
        first, beats = self.memory.first_beat, command["row_beats"]
        request = max(go, start + first)
        handed = -1
        for _, length in read_sources(self.program, command):
            request += 1
            complete = max(handed + beats, request + first + beats - 1)
            for _ in range(length // beats):
                handed = timer.hand(complete)
                complete = handed + beats
        self._aggregate_end(command, start, go, timer)

    def _aggregate_end(self, command: Fields, start: int, go: int, timer: ScatterTimer) -> None:
        """Add the drain and the writes."""
        config, rows = self.program.config, command_rows(self.program, command)
        columns = command["columns"]
        address = command["out_address"]
        if command["last_layer"]:
            beats = -(-command["rows"] * columns * LOGIT_WIDTH // (8 * self.beat_bytes))
            write = self._write(address, beats)
            last, stalled = logit_drain(config, columns, command["rows"], timer.end, write)
            end = write.done(last)
        else:
            widths, counts, index = row_slice(self.inputs[command["layer"] + 1], rows)
            nonzero = _chunk_counts(columns, counts, index)
            stored = widths + self.program.layers[command["layer"] + 1].signed
            drain = code_drain(config, columns, widths, stored, nonzero)
            stalled = drain.stalled
            write = self._write(address + self.beat_bytes, len(drain.tokens))
            for token in (timer.end + drain.tokens).tolist():
                write.take(token)
            header = write.done(timer.end + drain.last) + HEADER_CYCLES
            write = self._write(address, 1)
            end = write.done(write.take(header))
        self._finish("aggregate", command, start, go, end)
        self.counters["aggregate_starved"] += timer.starved
        self.counters["post_stalled"] += stalled

    def _row_writer(self, command: Fields) -> "_RowWriterTimer":
        beats = command["row_beats"]
        return _RowWriterTimer(beats, self._write(command["rows_address"], beats * command["rows"]))

    def _write(self, address: int, beats: int) -> WriteTimer:
        """Return the timer of a write request."""
        memory = self.program.config.memory
        bursts = split_bursts([(address, beats)], self.beat_bytes, memory.burst_beats)
        return self.memory.write(bursts.lengths.tolist(), memory.fifo_depth)


class _RowWriterTimer:
    """Follow the rows into memory: a row is taken with the last beat of the row before."""

    def __init__(self, row_beats: int, write: WriteTimer) -> None:
        self._row_beats = row_beats
        self._write = write
        self._token = -1

    def hand(self, offered: int) -> int:
        """Return the cycle in which a row is taken; its beats follow from the next one on."""
        handed = self._token = max(offered, self._token)
        for _ in range(self._row_beats):
            self._token = self._write.take(self._token + 1)
        return handed

    def done(self) -> int:
        """Return the cycle in which all rows are acknowledged."""
        return self._write.done(self._token)


def _chunk_counts(columns: int, counts: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Return the non-zero codes of each chunk of each row."""
    chunks = -(-columns // BITMAP_CHUNK)
    row = np.repeat(np.arange(len(counts)), counts)
    flat = row * chunks + index // BITMAP_CHUNK
    return np.bincount(flat, minlength=len(counts) * chunks).reshape(len(counts), chunks)
