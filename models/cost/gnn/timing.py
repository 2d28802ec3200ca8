"""When each command starts, may go and ends, on a memory that never stalls.

A schedule over the two queues: a command's times follow from the end of the one before it, from
the completions it waits for, and from the rows that pass between the engines. Requests see the
memory's latency; contention of streams for the one read port is left out, which is the residue
that a comparison with the gates shows (a few cycles a command, see `tests`).

Cycles count from the cycle after start, as the counter `cycles` and the command log do.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hw.gnn.format import BITMAP_CHUNK, SLOT_BYTES
from hw.gnn.program import Program
from models.cost.bursts import split_bursts
from models.cost.gnn.aggregation import ScatterTimer, code_drain_cycles, logit_drain_cycles
from models.cost.gnn.combination import CombinationTimer
from models.cost.gnn.commands import (
    Commands,
    command_rows,
    read_commands,
    read_edge_counts,
    read_sources,
)
from models.cost.gnn.groups import form_groups
from models.cost.gnn.memory import IdealMemory
from models.cost.gnn.statistics import Pattern, row_slice

__all__ = ["CommandTime", "Timing", "predict"]

Fields = dict[str, int]


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


def predict(program: Program, inputs: Sequence[Pattern], memory: IdealMemory) -> Timing:
    """Return the predicted times of a run.

    Parameters
    ----------
    program : Program
    inputs : sequence of Pattern
        Widths and value positions of each layer's input.
    memory : IdealMemory
    """
    return _Schedule(program, inputs, memory).run()


class _Schedule:
    """Both queues on their way: what is done, when the next command of either is there."""

    def __init__(self, program: Program, inputs: Sequence[Pattern], memory: IdealMemory) -> None:
        self.program = program
        self.inputs = inputs
        self.memory = memory
        self.commands: Commands = read_commands(program)
        self.beat_bytes = program.config.memory.beat_bytes
        self.times: dict[str, list[CommandTime]] = {"combine": [], "aggregate": []}
        self.counters = dict.fromkeys(
            (
                "combine_waiting",
                "combine_starved",
                "combine_stalled",
                "aggregate_waiting",
                "aggregate_starved",
                "post_stalled",
            ),
            0,
        )
        slot = SLOT_BYTES // self.beat_bytes - 1
        self._fetch = memory.first_beat + slot + 2
        header = memory.first_beat + slot
        self._offered = {"combine": header + 3 + self._fetch}
        self._offered["aggregate"] = self._offered["combine"] + 1 + self._fetch

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
        """Return when the next command of `queue` is taken, and fetch the one behind it."""
        done = self.times[queue]
        start = max(self._offered[queue], done[-1].end + 1 if done else 0)
        self._offered[queue] = start + 2 + self._fetch
        return start

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
        scatter = None
        if partner:
            scatter = self._aggregate_begin(partner)
        handed = go
        for _ in range(command["rows"]):
            offered = timer.row()
            handed = scatter[2].hand(offered) if scatter else offered
            timer.hand(handed)
        end = handed + 1
        if command["sink_memory"]:
            beats = command["rows"] * command["row_beats"]
            burst = self._last_burst(command["rows_address"], beats)
            end = self._written(handed + command["row_beats"], burst) + 1
        self._finish("combine", command, start, go, end)
        self.counters["combine_starved"] += timer.starved
        self.counters["combine_stalled"] += timer.stalled
        if partner and scatter:
            self._aggregate_end(partner, *scatter)

    def _combine_begin(self, command: Fields) -> tuple[int, int, CombinationTimer]:
        """Return start and go of a COMBINE, and its timer, ready for the first row."""
        first = self.memory.first_beat
        start = self._start("combine")
        loaded = start + 1 + first + command["columns"] - 1
        if command["load_weights"]:
            words = command["tiles"] * command["bank_stride"]
            loaded = max(loaded, start + first + words * self.program.config.combination.lanes)
        go = self._wait(command, "aggregate", loaded + 2)
        header = go + 1 + first
        layer = self.program.layers[command["layer"]]
        rows = row_slice(self.inputs[command["layer"]], command_rows(self.program, command))
        groups = form_groups(
            layer.format, layer.reduction, self.program.config.combination.lanes, *rows
        )
        timer = CombinationTimer(
            self.program.config, groups, rows[0], command["tiles"], header + 1 + first + 1
        )
        return start, go, timer

    def _aggregate_begin(self, command: Fields) -> tuple[int, int, ScatterTimer]:
        """Return start and go of an AGGREGATE, and its timer, ready for the first row."""
        first = self.memory.first_beat
        start = self._start("aggregate")
        columns = start + 1 + first + command["columns"]
        go = self._wait(command, "combine", max(start + 2 + command["clear_words"], columns) + 1)
        edges = read_edge_counts(self.program, command)
        timer = ScatterTimer(
            self.program.config, edges, command["tiles"], go, start + 1 + first + 4
        )
        return start, go, timer

    def _aggregate_alone(self, command: Fields) -> None:
        """Time an AGGREGATE that fetches its rows from memory."""
        start, go, timer = self._aggregate_begin(command)
        arrived = go + 1 + self.memory.first_beat
        for _, beats in read_sources(self.program, command):
            for _ in range(beats // command["row_beats"]):
                arrived += command["row_beats"]
                timer.hand(arrived)
        self._aggregate_end(command, start, go, timer)

    def _aggregate_end(self, command: Fields, start: int, go: int, timer: ScatterTimer) -> None:
        """Add the drain and the writes."""
        config, rows = self.program.config, command_rows(self.program, command)
        columns = command["columns"]
        address = command["out_address"]
        if command["last_layer"]:
            cycles, stalled = logit_drain_cycles(config, columns, command["rows"])
            beats = -(-command["rows"] * columns * 8 // self.beat_bytes)
            end = self._written(timer.end + cycles + 1, self._last_burst(address, beats))
        else:
            widths, counts, index = row_slice(self.inputs[command["layer"] + 1], rows)
            nonzero = _chunk_counts(columns, counts, index)
            cycles, stalled = code_drain_cycles(config, columns, widths, nonzero)
            beats = self._stored_beats(command, widths, counts)
            data = self._written(
                timer.end + cycles + 1, self._last_burst(address + self.beat_bytes, beats)
            )
            end = self._written(data + 2, 1)
        self._finish("aggregate", command, start, go, end)
        self.counters["aggregate_starved"] += timer.starved
        self.counters["post_stalled"] += stalled

    def _stored_beats(self, command: Fields, widths: np.ndarray, counts: np.ndarray) -> int:
        """Return the data beats of the segment that an AGGREGATE writes."""
        layer = self.program.layers[command["layer"] + 1]
        bitmaps = BITMAP_CHUNK * -(-layer.reduction // BITMAP_CHUNK)
        bits = int((np.where(widths > 0, bitmaps, 0) + (widths + layer.signed) * counts).sum())
        return -(-bits // (8 * self.beat_bytes))

    def _last_burst(self, address: int, beats: int) -> int:
        """Return the beats of the last burst of a write request."""
        lengths = split_bursts(
            [(address, beats)], self.beat_bytes, self.program.config.memory.burst_beats
        ).lengths
        return int(lengths[-1]) if len(lengths) else 0

    def _written(self, last_token: int, burst: int) -> int:
        """Return the cycle of `done` of a write whose last token is taken in `last_token`."""
        if not burst:
            return last_token + 1
        return last_token + 2 + burst - 1 + self.memory.write_latency + 1


def _chunk_counts(columns: int, counts: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Return the non-zero codes of each chunk of each row."""
    chunks = -(-columns // BITMAP_CHUNK)
    row = np.repeat(np.arange(len(counts)), counts)
    flat = row * chunks + index // BITMAP_CHUNK
    return np.bincount(flat, minlength=len(counts) * chunks).reshape(len(counts), chunks)
