"""AXI4 and AXI4-Lite: the channels as tables of flat signals, seen from the manager.

A table maps the signal's name (lower case, as in the specification) to its member: `Out` is driven
by the manager, `In` by the subordinate. A component holds the channels as one port of signature
`bus(table)`; the top holds them flat, as `prefix` + name, and joins the two with `join`.

**Source**: AMBA AXI and ACE Protocol Specification, IHI 0022H: A2 (signals), A3.4.1 (bursts),
A4.4 (memory types), A3.4.4 (responses).
"""

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import Flow, In, Out

from hw.memory_config import MemoryConfig

__all__ = [
    "CACHE_NORMAL",
    "ID_WIDTH",
    "INCR",
    "PAGE_BYTES",
    "SLVERR",
    "burst_limit",
    "bus",
    "flat",
    "join",
    "lite",
    "read_channels",
    "write_channels",
]

ID_WIDTH = 4
"""Bits of a transaction ID: one ID per stream."""

INCR = 0b01
"""AxBURST of an incrementing burst."""

CACHE_NORMAL = 0b0011
"""AxCACHE of normal, non-cacheable, bufferable memory."""

PAGE_BYTES = 4096
"""A burst never crosses a multiple of this (2^12)."""

SLVERR = 0b10
"""Response of a subordinate that refuses; bit 1 tells an error of either kind."""

Table = dict[str, wiring.Member]


def _address(prefix: str, memory: MemoryConfig) -> Table:
    widths = {
        "id": ID_WIDTH,
        "addr": memory.axi_addr_width,
        "len": 8,
        "size": 3,
        "burst": 2,
        "lock": 1,
        "cache": 4,
        "prot": 3,
        "qos": 4,
        "valid": 1,
    }
    return {prefix + name: Out(width) for name, width in widths.items()} | {prefix + "ready": In(1)}


def read_channels(memory: MemoryConfig) -> Table:
    """Return channels AR and R."""
    return {
        **_address("ar", memory),
        "rid": In(ID_WIDTH),
        "rdata": In(memory.axi_data_width),
        "rresp": In(2),
        "rlast": In(1),
        "rvalid": In(1),
        "rready": Out(1),
    }


def write_channels(memory: MemoryConfig) -> Table:
    """Return channels AW, W and B."""
    return {
        **_address("aw", memory),
        "wdata": Out(memory.axi_data_width),
        "wstrb": Out(memory.beat_bytes),
        "wlast": Out(1),
        "wvalid": Out(1),
        "wready": In(1),
        "bid": In(ID_WIDTH),
        "bresp": In(2),
        "bvalid": In(1),
        "bready": Out(1),
    }


def lite(addr_width: int) -> Table:
    """Return the channels of a 32-bit AXI4-Lite interface."""
    return {
        "awaddr": Out(addr_width),
        "awprot": Out(3),
        "awvalid": Out(1),
        "awready": In(1),
        "wdata": Out(32),
        "wstrb": Out(4),
        "wvalid": Out(1),
        "wready": In(1),
        "bresp": In(2),
        "bvalid": In(1),
        "bready": Out(1),
        "araddr": Out(addr_width),
        "arprot": Out(3),
        "arvalid": Out(1),
        "arready": In(1),
        "rdata": In(32),
        "rresp": In(2),
        "rvalid": In(1),
        "rready": Out(1),
    }


def bus(table: Table) -> wiring.Signature:
    """Return the signature of a port that holds the channels of `table`."""
    return wiring.Signature(table)


def flat(prefix: str, table: Table, flow: Flow = Out) -> Table:
    """Return `table` as flat ports named `prefix` + name; ``In`` on the side of a subordinate."""
    members = {prefix + name: member for name, member in table.items()}
    if flow is Out:
        return members
    return {name: member.flip() for name, member in members.items()}


def join(m: Module, top: Any, prefix: str, port: Any, table: Table) -> None:
    """Wire `port` of a component inside `top` to the flat ports of `top`, in either role."""
    for name in table:
        outer, inner = getattr(top, prefix + name), getattr(port, name)
        drives_outward = top.signature.members[prefix + name].flow is Out
        m.d.comb += outer.eq(inner) if drives_outward else inner.eq(outer)


def burst_limit(address: Signal, memory: MemoryConfig) -> Value:
    """Return the longest burst from `address` on: `burst_beats`, or what is left of the page."""
    log2_beat_bytes = (memory.beat_bytes - 1).bit_length()
    to_page = PAGE_BYTES // memory.beat_bytes - address[log2_beat_bytes:12]
    return Mux(to_page < memory.burst_beats, to_page, memory.burst_beats)
