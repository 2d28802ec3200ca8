"""Commands of a Program, read back from its image, and the bursts that they cause."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from hw.gnn.format import AGGREGATE, COMBINE, HEADER, SLOT_BYTES, SOURCE, Word
from hw.gnn.program import Program

__all__ = ["Bursts", "Commands", "read_commands", "split_bursts"]

PAGE_BYTES = 4096
"""No AXI burst crosses a multiple of this."""


@dataclass(frozen=True)
class Commands:
    """Both queues, each command as the fields of its word."""

    header: dict[str, int]
    combine: tuple[dict[str, int], ...]
    aggregate: tuple[dict[str, int], ...]


def _word_at(image: np.ndarray, address: int, word: Word) -> dict[str, int]:
    raw = image[address : address + word.width // 8].tobytes()
    return word.unpack(int.from_bytes(raw, "little"))


def read_commands(program: Program) -> Commands:
    """Return the commands of `program`."""
    header = _word_at(program.image, 0, HEADER)

    def queue(name: str, word: Word) -> tuple[dict[str, int], ...]:
        base = header[f"{name}_address"]
        return tuple(
            _word_at(program.image, base + index * SLOT_BYTES, word)
            for index in range(header[f"{name}_commands"])
        )

    return Commands(header, queue("combine", COMBINE), queue("aggregate", AGGREGATE))


def read_sources(program: Program, command: dict[str, int]) -> list[tuple[int, int]]:
    """Return (address, beats) of each run of q rows that an AGGREGATE command reads."""
    base = command["sources_address"]
    words = (
        _word_at(program.image, base + 8 * index, SOURCE)
        for index in range(command["source_words"])
    )
    return [(word["address"], word["beats"]) for word in words]


@dataclass(frozen=True)
class Bursts:
    """Bursts and beats of a set of requests, and the beats of each burst."""

    lengths: np.ndarray

    @property
    def bursts(self) -> int:
        """Number of bursts."""
        return len(self.lengths)

    @property
    def beats(self) -> int:
        """Number of beats."""
        return int(self.lengths.sum())

    def padded_bytes(self, beat_bytes: int, burst_bytes: int) -> int:
        """Return the bytes that DRAM moves when each burst is padded to `burst_bytes`."""
        moved = self.lengths * beat_bytes
        return int((-(-moved // burst_bytes) * burst_bytes).sum())


def split_bursts(
    requests: Iterable[tuple[int, int]], beat_bytes: int, burst_beats: int
) -> Bursts:
    """Return the bursts of `requests`, each (byte address, beats).

    The rule of the DMA: a burst ends after `burst_beats`, at a multiple of 4 KiB, or with its
    request, whichever comes first.

    >>> split_bursts([(4096 - 16, 20)], 8, 16).lengths
    array([ 2, 16,  2])
    """
    lengths: list[int] = []
    for address, beats in requests:
        while beats:
            page = (PAGE_BYTES - address % PAGE_BYTES) // beat_bytes
            length = min(beats, burst_beats, page)
            lengths.append(length)
            address += length * beat_bytes
            beats -= length
    return Bursts(np.array(lengths, np.int64))
