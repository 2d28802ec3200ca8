"""The memory for which time is predicted: fixed latency, a beat a cycle, never a stall."""

from dataclasses import dataclass

__all__ = ["IdealMemory"]

REQUEST_CYCLES = 2
"""From a request's handshake to its address on the bus (`hw.dma_read`)."""

RETURN_CYCLES = 2
"""From a beat on the bus to its offer to the engine (`hw.dma_read`)."""


@dataclass(frozen=True)
class IdealMemory:
    """A memory that never stalls: a beat a cycle after a fixed latency.

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
