"""Event counters of a run in closed form: equal to the counters of the gates, difference 0.

Each count is a sum over commands of products of a command's fields and its rows' statistics; the
rule of each counter stands in `hw.gnn.counters`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hw.gnn.counters import COUNTERS, READ_STREAMS, WRITE_STREAMS
from hw.gnn.format import BITMAP_CHUNK, SLOT_BYTES, Format
from hw.gnn.program import Program
from models.cost.bursts import Bursts, split_bursts
from models.cost.gnn.commands import (
    Commands,
    command_rows,
    read_commands,
    read_edge_counts,
    read_sources,
)
from models.cost.gnn.statistics import LayerStatistics

__all__ = ["Traffic", "count_events", "segment_beats", "traffic"]

LOGIT_WIDTH = 64
WORD_WIDTH = 64


def segment_beats(program: Program, layer: int, widths: np.ndarray, values: np.ndarray) -> int:
    """Return the data beats of a feature segment, rows of the input of `layer`.

    A row of width 0 stores nothing; others store their positions (a list of indices or a bitmap
    in chunks of 16) and B or B + 1 bits a value.
    """
    info = program.layers[layer]
    stored = (widths + info.signed) * values
    if info.format == Format.INDEX:
        positions = info.index_width * values
    else:
        chunks = -(-info.reduction // BITMAP_CHUNK)
        positions = np.where(widths > 0, BITMAP_CHUNK * chunks, 0)
    bits = int((stored + positions).sum())
    return -(-bits // program.config.memory.axi_data_width)


@dataclass(frozen=True)
class Traffic:
    """Bursts of every stream, by name; reads and writes apart."""

    reads: dict[str, Bursts]
    writes: dict[str, Bursts]


def traffic(program: Program, commands: Commands, statistics: Sequence[LayerStatistics]) -> Traffic:
    """Return what each stream moves."""
    beat = program.config.memory.beat_bytes
    requests: dict[str, list[tuple[int, int]]] = {
        name: [] for name in (*READ_STREAMS, *WRITE_STREAMS)
    }
    slot = SLOT_BYTES // beat
    requests["program"].append((0, slot))
    for queue, list_ in (("combine", commands.combine), ("aggregate", commands.aggregate)):
        base = commands.header[f"{queue}_address"]
        requests["program"] += [(base + i * SLOT_BYTES, slot) for i in range(len(list_))]
    for command in commands.combine:
        _combine_requests(program, command, statistics, requests)
    for command in commands.aggregate:
        _aggregate_requests(program, command, statistics, requests)
    bursts = {
        name: split_bursts(list_, beat, program.config.memory.burst_beats)
        for name, list_ in requests.items()
    }
    return Traffic(
        {name: bursts[name] for name in READ_STREAMS},
        {name: bursts[name] for name in WRITE_STREAMS},
    )


def _combine_requests(
    program: Program,
    command: dict[str, int],
    statistics: Sequence[LayerStatistics],
    requests: dict[str, list[tuple[int, int]]],
) -> None:
    beat = program.config.memory.beat_bytes
    if command["load_weights"]:
        requests["weights"].append((command["weights_address"], command["weights_beats"]))
    requests["combine_nodes"].append((command["nodes_address"], command["nodes_beats"]))
    layer = command["layer"]
    rows = command_rows(program, command)
    known = statistics[layer]
    beats = segment_beats(program, layer, known.widths[rows], known.values[rows])
    address = command["features_address"]
    requests["features"] += [(address, 1), (address + beat, beats)]
    if command["sink_memory"]:
        requests["q_rows"].append((command["rows_address"], command["rows"] * command["row_beats"]))


def _aggregate_requests(
    program: Program,
    command: dict[str, int],
    statistics: Sequence[LayerStatistics],
    requests: dict[str, list[tuple[int, int]]],
) -> None:
    beat = program.config.memory.beat_bytes
    for stream, name in (("edges", "edges"), ("aggregate_nodes", "nodes")):
        requests[stream].append((command[f"{name}_address"], command[f"{name}_beats"]))
    if command["source_memory"]:
        requests["sources"].append((command["sources_address"], command["sources_beats"]))
        requests["rows"] += read_sources(program, command)
    address = command["out_address"]
    if command["last_layer"]:
        bits = command["rows"] * command["columns"] * LOGIT_WIDTH
        requests["outputs"].append((address, -(-bits // (8 * beat))))
        return
    layer = command["layer"] + 1
    rows, known = command_rows(program, command), statistics[layer]
    beats = segment_beats(program, layer, known.widths[rows], known.values[rows])
    requests["outputs"] += [(address + beat, beats), (address, 1)]


def _combine_events(
    program: Program, command: dict[str, int], statistics: LayerStatistics
) -> dict[str, int]:
    rows = command_rows(program, command)
    widths, values = statistics.widths[rows], statistics.values[rows]
    groups = statistics.groups[rows]
    tiles, lanes = command["tiles"], program.config.combination.lanes
    return {
        "weight_writes": command["load_weights"] * tiles * command["bank_stride"] * lanes,
        "weight_reads": int(values.sum()) * tiles,
        "combine_values": int(values.sum()),
        "combine_groups": int(groups.sum()),
        "combine_conflicts": int(statistics.conflicts[rows].sum()),
        "combine_planes": int((groups * widths).sum()) * tiles,
        "combine_bit_ops": int((values * widths).sum()) * tiles,
        "requantize_words": command["rows"] * tiles,
        "combine_rows": command["rows"],
    }


def _aggregate_events(
    program: Program, command: dict[str, int], statistics: Sequence[LayerStatistics]
) -> dict[str, int]:
    edges = int(read_edge_counts(program, command).sum())
    if command["last_layer"]:
        outputs = command["rows"] * command["columns"]
    else:
        rows = command_rows(program, command)
        outputs = int(statistics[command["layer"] + 1].values[rows].sum())
    return {
        "aggregate_rows": command["source_rows"],
        "aggregate_edges": edges,
        "psum_updates": edges * command["tiles"],
        "psum_clears": command["clear_words"],
        "psum_drains": command["rows"] * command["tiles"],
        "output_values": outputs,
    }


def _memory_events(moved: Traffic) -> dict[str, int]:
    return {
        "read_bursts": sum(b.bursts for b in moved.reads.values()),
        **{f"read_beats_{name}": b.beats for name, b in moved.reads.items()},
        "write_bursts": sum(b.bursts for b in moved.writes.values()),
        **{f"write_beats_{name}": b.beats for name, b in moved.writes.items()},
    }


def count_events(program: Program, statistics: Sequence[LayerStatistics]) -> dict[str, int]:
    """Return every event counter of a run of `program`.

    Parameters
    ----------
    program : Program
    statistics : sequence of LayerStatistics
        One for the input features of each layer.
    """
    commands = read_commands(program)
    totals = {c.name: 0 for c in COUNTERS if not c.is_time}
    parts = [
        *(_combine_events(program, c, statistics[c["layer"]]) for c in commands.combine),
        *(_aggregate_events(program, c, statistics) for c in commands.aggregate),
        _memory_events(traffic(program, commands, statistics)),
    ]
    for part in parts:
        for name, value in part.items():
            totals[name] += value
    return totals
