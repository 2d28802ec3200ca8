"""When each command starts, may go and ends, on a memory that never stalls.

A schedule over the two queues: a command's times follow from the end of the one before it, from
the completions it waits for, and from the rows that pass between the engines. Requests see the
memory's latency; contention of streams for the one read port is left out, which is the residue
that a comparison with the gates shows (a few cycles a command, see `tests`).

Cycles count from the cycle after start, as the counter `cycles` and the command log do.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from hw.gnn.format import BITMAP_CHUNK
from hw.gnn.program import Program
from models.cost.bursts import split_bursts
from models.cost.gnn.aggregation import ScatterTimer, code_drain, logit_drain
from models.cost.gnn.combination import CombinationTimer
from models.cost.gnn.commands import (
    Commands,
    command_rows,
    read_commands,
    read_edge_counts,
    read_sources,
)
from models.cost.gnn.groups import form_groups
from models.cost.gnn.memory import MemoryTiming
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

EDGE_LATENCY = 4
"""From the first beat of edges to the first edge at scatter-add (`hw.gnn.edge_decoder`)."""


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
            hand = begun[2].hand
        else:
            begun = None
            hand = _RowWriterTimer(command["row_beats"]).hand
        handed = [hand(timer.row())]
        timer.hand(handed[-1])
        for _ in range(command["rows"] - 1):
            handed.append(hand(timer.row()))
            timer.hand(handed[-1])
        end = handed[-1] + 1
        if command["sink_memory"]:
            end = self._rows_written(command, np.array(handed)) + 1
        self._finish("combine", command, start, go, end)
        self.counters["combine_starved"] += timer.starved
        self.counters["combine_stalled"] += timer.stalled
        if partner and begun:
            self._aggregate_end(partner, *begun)

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
        groups = form_groups(
            layer.format, layer.reduction, self.program.config.combination.lanes, *rows
        )
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
            self.program.config, edges, command["tiles"], go, start + 1 + first + EDGE_LATENCY - 1
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
        if command["last_layer"]:
            drain = logit_drain(config, columns, command["rows"])
            end = self._written(command["out_address"], timer.end + drain.tokens)
        else:
            widths, counts, index = row_slice(self.inputs[command["layer"] + 1], rows)
            nonzero = _chunk_counts(columns, counts, index)
            stored = widths + self.program.layers[command["layer"] + 1].signed
            drain = code_drain(config, columns, widths, stored, nonzero)
            address = command["out_address"] + self.beat_bytes
            data = self._written(address, timer.end + drain.tokens, timer.end + drain.last)
            end = self._written(command["out_address"], np.array([data + 2]))
        self._finish("aggregate", command, start, go, end)
        self.counters["aggregate_starved"] += timer.starved
        self.counters["post_stalled"] += drain.stalled

    def _rows_written(self, command: Fields, handed: np.ndarray) -> int:
        """Return when rows are acknowledged; the beats of each follow from the next cycle on."""
        tokens = handed[:, None] + 1 + np.arange(command["row_beats"])
        return self._written(command["rows_address"], tokens.ravel())

    def _written(self, address: int, tokens: np.ndarray, last: int | None = None) -> int:
        """Return the cycle of `write_done` of a request whose beats are offered in `tokens`."""
        lengths = split_bursts(
            [(address, len(tokens))], self.beat_bytes, self.program.config.memory.burst_beats
        ).lengths
        completed = tokens[np.cumsum(lengths) - 1].tolist()
        last = completed[-1] if last is None else last
        return self.memory.write_done(last, list(zip(completed, lengths.tolist(), strict=True)))


class _RowWriterTimer:
    """Follow the rows into memory: a row is taken with the last beat of the row before."""

    def __init__(self, row_beats: int) -> None:
        self._row_beats = row_beats
        self._handed = -row_beats

    def hand(self, offered: int) -> int:
        """Return the cycle in which a row is taken."""
        self._handed = max(offered, self._handed + self._row_beats)
        return self._handed


def _chunk_counts(columns: int, counts: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Return the non-zero codes of each chunk of each row."""
    chunks = -(-columns // BITMAP_CHUNK)
    row = np.repeat(np.arange(len(counts)), counts)
    flat = row * chunks + index // BITMAP_CHUNK
    return np.bincount(flat, minlength=len(counts) * chunks).reshape(len(counts), chunks)
