"""When each command starts, may go and ends, on a memory that never stalls.

Both engines and the sequencer are processes in time order: each asks for what it reads, and the
port that all streams share gives the beats their cycles. From `go` on a command is a recurrence
over groups and rows (`combination`, `aggregation`). In one part all times equal the gates' to the
cycle, time counters included.

What is left out shows in several parts only, where engines work on different commands: of a
stream whose FIFO is full once, the later bursts are not followed, since they come ahead of need. A
burst of them may stand in front of the other engine's first row or column word, and costs that
command as many cycles as it has beats (`burst_beats`); or it was the last one chosen, and then two
streams that ask at once come in the other order, which moves `go` by what the FIFO of one holds.

Cycles count from the cycle after start, as the counter `cycles` and the command log do.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hw.gnn.format import BITMAP_CHUNK, COMBINE_COLUMN, SOURCE
from hw.gnn.program import Program
from models.cost.bursts import split_bursts
from models.cost.gnn.aggregation import LOGIT_WIDTH, ScatterTimer, code_drain, logit_drain
from models.cost.gnn.beat_words import BeatWords
from models.cost.gnn.combination import CombinationTimer
from models.cost.gnn.commands import (
    Commands,
    command_rows,
    read_commands,
    read_edge_counts,
    read_sources,
)
from models.cost.gnn.edge_decoder import EdgeDecoderCost
from models.cost.gnn.events import segment_beats
from models.cost.gnn.groups import form_groups
from models.cost.gnn.memory import MemoryTiming, WriteTimer
from models.cost.gnn.processes import Arrived, Happened, Process, Until, run_processes
from models.cost.gnn.read_port import Arrivals, Request
from models.cost.gnn.row_writer import RowWriterTimer
from models.cost.gnn.sequencer import Sequencer
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

TABLE_WIDTH = COMBINE_COLUMN.width
"""Bits of a word of a node table, of either engine."""

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


def predict(
    program: Program, inputs: Sequence[Pattern], memory: MemoryTiming, *, sequencer: bool = True
) -> Timing:
    """Return the predicted times of a run.

    Parameters
    ----------
    program : Program
    inputs : sequence of Pattern
        Widths and value positions of each layer's input.
    memory : MemoryTiming
    sequencer : bool
        Whether commands are fetched; else all are there from cycle 0 on.
    """
    return _Schedule(program, inputs, memory).run(sequencer)


class _Schedule:
    """Both queues on their way: an engine each, the sequencer, and the port between."""

    def __init__(self, program: Program, inputs: Sequence[Pattern], memory: MemoryTiming) -> None:
        self.program = program
        self.inputs = inputs
        self.memory = memory
        self.commands: Commands = read_commands(program)
        config = program.config
        self.beat_bytes = config.memory.beat_bytes
        self.port = memory.port(config.memory.fifo_depth)
        self.published: dict[Hashable, Any] = {}
        self.times: dict[str, list[CommandTime]] = {"combine": [], "aggregate": []}
        self.counters: dict[str, int] = dict.fromkeys(TIMES, 0)

    def run(self, sequencer: bool) -> Timing:
        """Run all processes to their end."""
        counts = {name: len(getattr(self.commands, name)) for name in self.times}
        processes = [self._combine(), self._aggregate()]
        if sequencer:
            burst_beats = self.program.config.memory.burst_beats
            fetcher = Sequencer(self.beat_bytes, burst_beats, self.port, self.published)
            processes += fetcher.processes(counts)
        else:
            slots = ((name, at) for name, count in counts.items() for at in range(count))
            self.published |= {("slot", *slot): 0 for slot in slots}
        run_processes(processes, self.port, self.published)
        ends = [t.end for queue in self.times.values() for t in queue]
        commands = (*self.times["combine"], *self.times["aggregate"])
        return Timing(commands, {"cycles": max(ends) + 2, **self.counters})

    def _start(self, queue: str, offered: int) -> int:
        """Return when the next command of `queue`, offered from `offered` on, is taken."""
        done = self.times[queue]
        start = max(offered, done[-1].end + 1) if done else offered
        self.published["start", queue, len(done)] = start
        return start

    def _finish(self, queue: str, command: Fields, start: int, go: int, end: int) -> None:
        done = self.times[queue]
        self.published["end", queue, len(done)] = end
        done.append(CommandTime(queue, command["layer"], command["part"], start, go, end))

    def _request(self, stream: str, cycle: int, address: int, beats: int, **how: Any) -> Arrivals:
        """Ask for `beats` beats at `address`."""
        burst_beats = self.program.config.memory.burst_beats
        lengths = split_bursts([(address, beats)], self.beat_bytes, burst_beats).lengths
        return self.port.request(Request(stream, cycle, lengths.tolist(), **how))

    def _table(self, stream: str, cycle: int, command: Fields) -> tuple[Arrivals, BeatWords]:
        """Ask for a node table; its column words are taken as they come."""
        words = BeatWords(command["columns"], 8 * self.beat_bytes, TABLE_WIDTH)
        arrivals = self._request(
            stream,
            cycle,
            command["nodes_address"],
            command["nodes_beats"],
            taken=words.whole_beats,
            pace=words.pace,
        )
        return arrivals, words

    def _combine(self) -> Process:
        """Run the queue of the combination engine."""
        partners = (c for c in self.commands.aggregate if not c["source_memory"])
        for index, command in enumerate(self.commands.combine):
            start = self._start("combine", (yield Happened(("slot", "combine", index))))
            yield Until(start + 1)
            loads = [self._table("combine_nodes", start + 1, command)]
            if command["load_weights"]:
                loads.append(self._weights(start + 1, command))
            loaded = 0
            for arrivals, words in loads:
                yield Arrived(arrivals, words.beats)
                loaded = max(loaded, words.last(arrivals))
            ready = go = loaded + 2
            if command["wait"]:
                end = yield Happened(("end", "aggregate", command["wait"] - 1))
                go = max(ready, end + 1)
            self.counters["combine_waiting"] += go - ready
            yield Until(go + 1)
            arrivals = self._request("features", go + 1, command["features_address"], 1, taken=1)
            yield Arrived(arrivals, 1)
            decode = stored = arrivals.cycle(0) + 1
            rows = self._input_rows(command)
            beats = segment_beats(self.program, command["layer"], *rows[:2])
            if beats:
                yield Until(decode)
                address = command["features_address"] + self.beat_bytes
                arrivals = self._request("features", decode, address, beats)
                yield Arrived(arrivals, 1)
                stored = arrivals.cycle(0) + 1
            timer = self._combination_timer(command, rows, go, decode, stored)
            if command["sink_memory"]:
                writer = self._row_writer(command)
                self._rows(command, timer, writer.hand)
                end = writer.done() + 1
            else:
                partner = next(partners)
                key = partner["layer"], partner["part"]
                scatter = yield Happened(("scatter", *key))
                end = self._rows(command, timer, scatter.hand) + 1
                self.published["scattered", *key] = end
            self.counters["combine_starved"] += timer.starved
            self.counters["combine_stalled"] += timer.stalled
            self._finish("combine", command, start, go, end)

    def _weights(self, cycle: int, command: Fields) -> tuple[Arrivals, BeatWords]:
        """Ask for weights; all are taken as they come."""
        c = self.program.config.combination
        words = BeatWords(
            command["tiles"] * command["bank_stride"] * c.lanes, 8 * self.beat_bytes, c.word_width
        )
        address, beats = command["weights_address"], command["weights_beats"]
        arrivals = self._request("weights", cycle, address, beats, taken=beats, pace=words.pace)
        return arrivals, words

    def _input_rows(self, command: Fields) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return widths, counts and value indices of the rows of a command."""
        return row_slice(self.inputs[command["layer"]], command_rows(self.program, command))

    def _combination_timer(
        self,
        command: Fields,
        rows: tuple[np.ndarray, np.ndarray, np.ndarray],
        go: int,
        decode: int,
        stored: int,
    ) -> CombinationTimer:
        layer = self.program.layers[command["layer"]]
        groups = form_groups(self.program.config, layer.format, layer.reduction, *rows)
        return CombinationTimer(
            self.program.config, groups, rows[0], command["tiles"], go, decode, stored
        )

    def _rows(self, command: Fields, timer: CombinationTimer, hand: Callable[[int], int]) -> int:
        """Make all rows and give each to `hand`; return the cycle of the last handshake."""
        handed = 0
        for _ in range(command["rows"]):
            handed = hand(timer.row())
            timer.hand(handed)
        return handed

    def _aggregate(self) -> Process:
        """Run the queue of the aggregation engine."""
        for index, command in enumerate(self.commands.aggregate):
            start = self._start("aggregate", (yield Happened(("slot", "aggregate", index))))
            yield Until(start + 1)
            edges = self._listed("edges", start + 1, command)
            sources = self._listed("sources", start + 1, command)
            table, words = self._table("aggregate_nodes", start + 1, command)
            yield Arrived(table, words.beats)
            ready = go = max(start + 2 + command["clear_words"], words.last(table) + 1) + 1
            if command["wait"]:
                end = yield Happened(("end", "combine", command["wait"] - 1))
                go = max(ready, end + 1)
            self.counters["aggregate_waiting"] += go - ready
            yield Arrived(edges, 1)
            first_edge = edges.cycle(0) + EdgeDecoderCost.FIRST - 1 if edges.beats else go
            counts = read_edge_counts(self.program, command)
            timer = ScatterTimer(self.program.config, counts, command["tiles"], go, first_edge)
            if command["source_memory"]:
                yield from self._fetch_rows(command, go, sources, timer)
            else:
                key = command["layer"], command["part"]
                self.published["scatter", *key] = timer
                yield Happened(("scattered", *key))
            end = self._aggregate_end(command, start, go, timer)
            if table.beats < command["nodes_beats"]:
                yield Until(end)
                self.port.note("aggregate_nodes")

    def _listed(self, name: str, cycle: int, command: Fields) -> Arrivals:
        """Ask for edges or sources, if there are any; they stay in the FIFO for now."""
        beats = command[f"{name}_beats"]
        return self._request(name, cycle, command[f"{name}_address"], beats)

    def _fetch_rows(
        self, command: Fields, go: int, sources: Arrivals, timer: ScatterTimer
    ) -> Process:
        """Bring the rows of an AGGREGATE from memory.

        A run of rows is asked for in a cycle of its own, once its SOURCE word is there; beats wait
        where the row queue is full. As many beats as the FIFO holds are followed on the port.
        """
        runs = read_sources(self.program, command)
        each = 8 * self.beat_bytes // SOURCE.width
        yield Arrived(sources, -(-len(runs) // each))
        cycle = go
        followed: list[Arrivals] = []
        for at, (address, beats) in enumerate(runs):
            cycle = max(cycle + 1, sources.cycle(at // each) + at % each)
            yield Until(cycle)
            followed.append(self._request("rows", cycle, address, beats, fresh=not followed))
            if followed[-1].beats < beats:
                break
        for arrivals in followed:
            yield Arrived(arrivals, arrivals.beats)
        beats = command["row_beats"]
        handed = -1
        for at, (_, length) in enumerate(runs):
            for row in range(length // beats):
                complete = handed + beats
                if at < len(followed) and followed[at].offered:
                    complete = max(complete, followed[at].cycle((row + 1) * beats - 1))
                handed = timer.hand(complete)

    def _aggregate_end(self, command: Fields, start: int, go: int, timer: ScatterTimer) -> int:
        """Add the drain and the writes; return the end."""
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
        return end

    def _row_writer(self, command: Fields) -> RowWriterTimer:
        beats = command["row_beats"]
        return RowWriterTimer(beats, self._write(command["rows_address"], beats * command["rows"]))

    def _write(self, address: int, beats: int) -> WriteTimer:
        """Return the timer of a write request."""
        memory = self.program.config.memory
        bursts = split_bursts([(address, beats)], self.beat_bytes, memory.burst_beats)
        return self.memory.write(bursts.lengths.tolist(), memory.fifo_depth)


def _chunk_counts(columns: int, counts: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Return the non-zero codes of each chunk of each row."""
    chunks = -(-columns // BITMAP_CHUNK)
    row = np.repeat(np.arange(len(counts)), counts)
    flat = row * chunks + index // BITMAP_CHUNK
    return np.bincount(flat, minlength=len(counts) * chunks).reshape(len(counts), chunks)
