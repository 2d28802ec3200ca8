"""Choices of the AXI4 master that every engine has."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from hw.config_base import Frozen, require_power_of_two

__all__ = ["MemoryConfig"]


class MemoryConfig(Frozen):
    """The AXI4 master: its width, its bursts and how many may be in flight.

    Parameters
    ----------
    axi_data_width : int, bits
        Width of one beat, a power of two in 64..1024.
    axi_addr_width : int, bits
        Width of a byte address, 16..48.
    burst_beats : int
        Longest burst in beats, a power of two in 1..256. A burst never crosses 4 KiB.
    stream_bursts : int
        Bursts that the FIFO of one read or write stream holds (credits of a read stream).
    """

    axi_data_width: int = 64
    axi_addr_width: Annotated[int, Field(ge=16, le=48)] = 32
    burst_beats: int = 16
    stream_bursts: Annotated[int, Field(ge=1, le=16)] = 2

    @model_validator(mode="after")
    def _check(self) -> Self:
        require_power_of_two(self.axi_data_width, "memory.axi_data_width", 64, 1024)
        require_power_of_two(self.burst_beats, "memory.burst_beats", 1, 256)
        if self.burst_beats * self.beat_bytes > 4096:
            raise ValueError(
                f"memory.burst_beats x memory.axi_data_width must be at most 4096 bytes, "
                f"not {self.burst_beats * self.beat_bytes}"
            )
        return self

    @property
    def beat_bytes(self) -> int:
        """Bytes of one beat."""
        return self.axi_data_width // 8

    @property
    def fifo_depth(self) -> int:
        """Beats that the FIFO of one stream holds."""
        return self.burst_beats * self.stream_bursts
