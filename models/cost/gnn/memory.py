"""The memory for which time is predicted: fixed latency, a beat a cycle, never a stall."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from models.cost.gnn.read_port import ReadPort, SharedPort

__all__ = ["IdealMemory", "MemoryTiming", "WriteTimer"]

WRITE_CYCLES = 2
"""From the token that completes a burst to its address on the bus (`hw.dma_write`)."""

ADDRESS_CYCLES = 1
"""From a write address to the first beat that the memory takes (`sim/verilog/axi_memory.v`)."""

DONE_CYCLES = 1
"""From the last acknowledgement on the bus to `done` (`hw.dma_write`)."""


class WriteTimer(Protocol):
    """One write request on its way: beats in order, then the end."""

    def take(self, offered: int) -> int:
        """Return the cycle in which the next beat, offered from `offered` on, is taken."""
        ...

    def done(self, last_token: int) -> int:
        """Return the cycle of the acknowledgement; `last_token` is when the end was taken."""
        ...


class MemoryTiming(Protocol):
    """What a schedule asks of the way to memory and back."""

    def port(self, fifo_depth: int) -> ReadPort:
        """Return the way of all read streams."""
        ...

    def write(self, lengths: Sequence[int], fifo_depth: int) -> WriteTimer:
        """Return the timer of a write request of bursts of `lengths` beats."""
        ...


@dataclass(frozen=True)
class IdealMemory:
    """A memory that never stalls behind the DMA: a beat a cycle after a fixed latency.

    Parameters
    ----------
    read_latency, write_latency : int, cycles
        From the address handshake to the first beat; from the last beat to its acknowledgement.
    """

    read_latency: int = 8
    write_latency: int = 8

    def port(self, fifo_depth: int) -> SharedPort:
        """Return the port that all streams share."""
        return SharedPort(fifo_depth, self.read_latency)

    def write(self, lengths: Sequence[int], fifo_depth: int) -> "BurstTimer":
        """Return the timer of a write request of bursts of `lengths` beats."""
        return BurstTimer(self.write_latency, lengths, fifo_depth)


class BurstTimer:
    """Gather tokens into bursts and write each when it is complete (`hw.dma_write`).

    The address of a burst goes out `WRITE_CYCLES` after its last token, or in the cycle after the
    last beat of the burst before; its beats follow, one a cycle. A token waits while the FIFO and
    the register behind it are full of beats that were not sent.

    Parameters
    ----------
    latency : int, cycles
        Of the acknowledgement.
    lengths : sequence of int
        Beats of each burst.
    fifo_depth : int
        Beats of `MemoryConfig.fifo_depth`.
    """

    def __init__(self, latency: int, lengths: Sequence[int], fifo_depth: int) -> None:
        self._latency = latency
        self._lengths = list(reversed(lengths))
        self._places = fifo_depth + 1
        self._tokens = 0
        self._missing = self._lengths.pop() if self._lengths else 0
        self._length = self._missing
        self._sent: list[int] = []

    def take(self, offered: int) -> int:
        """Return the cycle in which the next beat, offered from `offered` on, is taken."""
        full = self._tokens - self._places
        taken = offered if full < 0 else max(offered, self._sent[full] + 1)
        self._tokens += 1
        self._missing -= 1
        if not self._missing:
            address = max(taken + WRITE_CYCLES, self._sent[-1] + 1 if self._sent else 0)
            first = address + ADDRESS_CYCLES
            self._sent += range(first, first + self._length)
            self._length = self._missing = self._lengths.pop() if self._lengths else 0
        return taken

    def done(self, last_token: int) -> int:
        """Return the cycle of the acknowledgement; `last_token` is when the end was taken."""
        acknowledged = self._sent[-1] + self._latency if self._sent else last_token
        return max(acknowledged, last_token) + DONE_CYCLES
