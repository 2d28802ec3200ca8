"""Counters of the graph engine: one table from which gates, registers and cost model are made.

Event counters are equal between gates and cost model, difference 0. Time counters depend on
latency and are compared with the gate of the contract. All are 48 bits, cleared by start,
readable at any time; they stand still when the engine is done.
"""

from dataclasses import dataclass

__all__ = ["COUNTERS", "READ_STREAMS", "WRITE_STREAMS", "Counter"]

READ_STREAMS = (
    "program",
    "weights",
    "combine_nodes",
    "features",
    "edges",
    "sources",
    "rows",
    "aggregate_nodes",
)
"""Read streams in the order of their AXI IDs."""

WRITE_STREAMS = ("q_rows", "outputs")
"""Write streams in the order of their AXI IDs."""


@dataclass(frozen=True)
class Counter:
    """One counter: its name, whether it is a time, its owner, what it counts.

    `unit` is the component that raises it: ``top``, ``combine``, ``aggregate``, ``memory``.
    """

    name: str
    is_time: bool
    unit: str
    doc: str


COUNTERS: tuple[Counter, ...] = (
    Counter("cycles", True, "top", "cycles from start to done"),
    Counter("combine_waiting", True, "combine", "cycles a command waits for the other engine"),
    Counter("combine_starved", True, "combine", "cycles the array lacks a group of values"),
    Counter("combine_stalled", True, "combine", "cycles the array lacks a free psum row"),
    Counter("aggregate_waiting", True, "aggregate", "cycles a command waits for the other engine"),
    Counter("aggregate_starved", True, "aggregate", "cycles scatter-add lacks a q row or an edge"),
    Counter("post_stalled", True, "aggregate", "cycles the encoder holds the post-processor"),
    Counter("weight_writes", False, "combine", "weight words written to a bank"),
    Counter("weight_reads", False, "combine", "weight words read from a bank"),
    Counter("combine_values", False, "combine", "non-zero feature values taken by the array"),
    Counter("combine_groups", False, "combine", "groups of values taken by the array"),
    Counter("combine_conflicts", False, "combine", "groups closed early, a lane free: bank taken"),
    Counter("combine_planes", False, "combine", "cycles the array works on a bit plane (busy)"),
    Counter("combine_bit_ops", False, "combine", "lane-cycles with a valid value; x cols bit-MACs"),
    Counter("requantize_words", False, "combine", "words of `cols` psums requantized to s4"),
    Counter("combine_rows", False, "combine", "q rows made"),
    Counter("aggregate_rows", False, "aggregate", "q rows taken by scatter-add"),
    Counter("aggregate_edges", False, "aggregate", "edges added"),
    Counter("psum_updates", False, "aggregate", "psum words read, added and written (busy)"),
    Counter("psum_clears", False, "aggregate", "psum words set to zero at the head of a command"),
    Counter("psum_drains", False, "aggregate", "psum words read for post-processing and cleared"),
    Counter("output_values", False, "aggregate", "non-zero codes, or logits, written"),
    Counter("read_bursts", False, "memory", "AXI read bursts"),
    *(
        Counter(f"read_beats_{stream}", False, "memory", f"beats read by stream {stream}")
        for stream in READ_STREAMS
    ),
    Counter("write_bursts", False, "memory", "AXI write bursts"),
    *(
        Counter(f"write_beats_{stream}", False, "memory", f"beats written by stream {stream}")
        for stream in WRITE_STREAMS
    ),
)
"""All counters, in register order."""
