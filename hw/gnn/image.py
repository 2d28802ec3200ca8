"""Packs bits and words as `hw.gnn.format` says, and lays regions out in the memory image."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hw.gnn.format import REGION_ALIGNMENT, Word
from hw.gnn.program import Kind, Region
from hw.memory_config import MemoryConfig

__all__ = [
    "Bytes",
    "Layout",
    "pack_fields",
    "pack_weights",
    "pack_words",
]

Integers = NDArray[np.int64]
Bytes = NDArray[np.uint8]


def pack_fields(values: Integers, widths: Integers) -> Bytes:
    """Return the fields one after another, lowest bit first, in whole bytes.

    Examples
    --------
    >>> pack_fields(np.array([4, 0x23]), np.array([4, 8])).tolist()
    [52, 2]
    """
    begin = np.cumsum(widths) - widths
    bits = np.zeros(int(widths.sum()), np.uint8)
    for bit in range(int(widths.max(initial=0))):
        has = widths > bit
        bits[begin[has] + bit] = values[has] >> bit & 1
    return np.packbits(bits, bitorder="little")


def pack_words(word: Word, count: int, /, **fields: Integers | int) -> Bytes:
    """Return `count` words of 64 bits; each field is one value or one per word.

    Raises
    ------
    ValueError
        If a value does not fit its field.
    """
    packed, at = np.zeros(count, np.uint64), 0
    for name, width, signed in word.fields:
        value = np.broadcast_to(np.asarray(fields.get(name, 0), np.int64), count)
        low, high = (-(1 << width - 1), (1 << width - 1) - 1) if signed else (0, (1 << width) - 1)
        wrong = (value < low) | (value > high)
        if wrong.any():
            raise ValueError(f"{word.name}.{name} must be in {low}..{high}, not {value[wrong][0]}")
        packed |= (value & (1 << width) - 1).astype(np.uint64) << np.uint64(at)
        at += width
    return packed.astype("<u8").view(np.uint8)


def pack_weights(weights: Integers, lanes: int, cols: int) -> Bytes:
    """Return the weights [reduction, columns] in the order in which the banks are written."""
    reduction, columns = weights.shape
    stride, tiles = -(-reduction // lanes), -(-columns // cols)
    padded = np.zeros((stride * lanes, tiles * cols), np.int64)
    padded[:reduction, :columns] = weights
    words = padded.reshape(stride * lanes, tiles, cols).swapaxes(0, 1).reshape(-1)
    return pack_fields(words & 15, np.full(words.size, 4))


@dataclass
class Layout:
    """Regions in the order in which they are placed, and the bytes of those that have any.

    Parameters
    ----------
    memory : MemoryConfig
    """

    memory: MemoryConfig
    regions: list[Region] = field(default_factory=list)
    data: list[tuple[int, Bytes]] = field(default_factory=list)
    end: int = 0

    def beats(self, size_bytes: int) -> int:
        """Return the whole beats that hold `size_bytes`."""
        return -(-size_bytes // self.memory.beat_bytes)

    def place(self, kind: Kind, layer: int, part: int, size_bytes: int) -> Region:
        """Place a region of `size_bytes`, rounded up to whole beats, behind all others."""
        whole = self.beats(size_bytes) * self.memory.beat_bytes
        region = Region(kind, layer, part, self.end, whole)
        self.end += -(-whole // REGION_ALIGNMENT) * REGION_ALIGNMENT
        self.regions.append(region)
        return region

    def put(self, kind: Kind, layer: int, part: int, data: Bytes) -> Region:
        """Place a region that starts out as `data`."""
        region = self.place(kind, layer, part, data.size)
        self.fill(region, data)
        return region

    def fill(self, region: Region, data: Bytes) -> None:
        """Say what a region that was placed starts out as."""
        self.data.append((region.address, data))

    def image(self) -> Bytes:
        """Return the whole memory.

        Raises
        ------
        ValueError
            If it is larger than the address space.
        """
        space = 1 << self.memory.axi_addr_width
        if self.end > space:
            raise ValueError(
                f"memory image must be at most 2^{self.memory.axi_addr_width} bytes "
                f"(memory.axi_addr_width), not {self.end}"
            )
        image = np.zeros(self.end, np.uint8)
        for address, data in self.data:
            image[address : address + data.size] = data
        return image
