"""The memory for which time is predicted: fixed latency, a beat a cycle, never a stall."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

__all__ = ["BurstTime", "IdealMemory", "MemoryTiming"]

REQUEST_CYCLES = 2
"""From a request's handshake to its address on the bus (`hw.dma_read`)."""

RETURN_CYCLES = 2
"""From a beat on the bus to its offer to the engine (`hw.dma_read`)."""

WRITE_CYCLES = 2
"""From the token that completes a burst to its first beat on the bus (`hw.dma_write`)."""

DONE_CYCLES = 1
"""From the last acknowledgement on the bus to `done` (`hw.dma_write`)."""

BurstTime = tuple[int, int]
"""Cycle of the token that completes a write burst, and the burst's beats."""


class MemoryTiming(Protocol):
    """What a schedule asks of the way to memory and back."""

    @property
    def first_beat(self) -> int:
        """Cycles from a read request to the offer of its first beat."""
        ...

    def write_done(self, last_token: int, bursts: Sequence[BurstTime]) -> int:
        """Return the cycle in which a write request is acknowledged."""
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

    @property
    def first_beat(self) -> int:
        """Cycles from a read request to the offer of its first beat."""
        return REQUEST_CYCLES + self.read_latency + RETURN_CYCLES

    def write_done(self, last_token: int, bursts: Sequence[BurstTime]) -> int:
        """Return the cycle in which a write request is acknowledged.

        A burst begins when all its tokens are there and the burst before it is out.
        """
        end = -1
        for completed, beats in bursts:
            end = max(completed + WRITE_CYCLES, end + 1) + beats - 1
        acknowledged = end + self.write_latency if bursts else last_token
        return max(acknowledged, last_token) + DONE_CYCLES
