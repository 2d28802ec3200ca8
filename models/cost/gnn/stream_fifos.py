"""Cost of the FIFO of each memory stream (`hw.dma_read`, `hw.dma_write`)."""

from hw.gnn.config import GnnConfig
from hw.gnn.counters import READ_STREAMS, WRITE_STREAMS
from models.cost.actions import sram_area, sram_read_energy, sram_write_energy
from models.cost.tables import Band
from models.cost.unit import Action, Counters

__all__ = ["StreamFifosCost"]


class StreamFifosCost:
    """Every beat is written into a FIFO and read from it."""

    def __init__(self, config: GnnConfig) -> None:
        self._width = config.memory.axi_data_width
        self._size_bytes = config.memory.fifo_depth * config.memory.beat_bytes

    def actions(self, counters: Counters) -> tuple[Action, ...]:
        """Return writes and reads."""
        beats = sum(counters[f"read_beats_{name}"] for name in READ_STREAMS)
        beats += sum(counters[f"write_beats_{name}"] for name in WRITE_STREAMS)
        return (
            Action("write", beats, sram_write_energy(self._size_bytes, self._width)),
            Action("read", beats, sram_read_energy(self._size_bytes, self._width)),
        )

    def area(self) -> Band:
        """Return the area of the FIFOs of all streams, um2."""
        streams = len(READ_STREAMS) + len(WRITE_STREAMS)
        return sram_area(self._size_bytes).times(streams)
