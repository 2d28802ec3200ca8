"""Cost of `hw.gnn.psum_buffer`."""

from hw.gnn.config import GnnConfig
from models.cost.actions import sram_area, sram_read_energy, sram_write_energy
from models.cost.tables import Band
from models.cost.unit import Action, Counters

__all__ = ["PsumBufferCost"]


class PsumBufferCost:
    """An update or a drain reads and writes a word; a clear writes it."""

    READ_CYCLES = 1
    """From a word's address to the word."""

    def __init__(self, config: GnnConfig) -> None:
        self._config = config.aggregation

    def cycles(self, operations: int) -> int:
        """Return the cycles of operations in a row: one each.

        >>> PsumBufferCost(GnnConfig()).cycles(7)
        7
        """
        return operations

    def actions(self, counters: Counters) -> tuple[Action, ...]:
        """Return reads and writes."""
        size, width = self._config.psum_buffer_bytes, self._config.word_width
        reads = counters["psum_updates"] + counters["psum_drains"]
        writes = reads + counters["psum_clears"]
        return (
            Action("read", reads, sram_read_energy(size, width)),
            Action("write", writes, sram_write_energy(size, width)),
        )

    def area(self) -> Band:
        """Return the area of the memory, um2."""
        return sram_area(self._config.psum_buffer_bytes)
