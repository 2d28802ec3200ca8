"""Bursts on AXI4: how requests are cut, and what they move."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

__all__ = ["Bursts", "split_bursts"]

PAGE_BYTES = 4096
"""No AXI burst crosses a multiple of this."""


@dataclass(frozen=True)
class Bursts:
    """Beats of each burst of a set of requests.

    Parameters
    ----------
    lengths : ndarray [bursts], int64, beats
    """

    lengths: np.ndarray

    @classmethod
    def join(cls, several: Iterable["Bursts"]) -> "Bursts":
        """Return the bursts of all."""
        return cls(np.concatenate([bursts.lengths for bursts in several]))

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


def split_bursts(requests: Iterable[tuple[int, int]], beat_bytes: int, burst_beats: int) -> Bursts:
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
