"""When the commands of both queues are offered to their engines."""

from hw.gnn.format import SLOT_BYTES
from models.cost.gnn.memory import MemoryTiming

__all__ = ["SequencerTimer"]

QUEUES = ("combine", "aggregate")


class SequencerTimer:
    """Follow the one fetcher of both queues (`hw.gnn.sequencer`).

    Parameters
    ----------
    beat_bytes : int
    memory : MemoryTiming
    commands : dict of str to int
        Commands of each queue.

    With the last beat of a slot in t its command is offered in t + 2 and the next slot asked for in
    t + 3; a command taken in t lets its queue's next slot be asked for in t + 2.
    """

    def __init__(self, beat_bytes: int, memory: MemoryTiming, commands: dict[str, int]) -> None:
        last_beat = memory.first_beat + SLOT_BYTES // beat_bytes - 1
        self._fetch = last_beat + 2
        self._left = dict(commands)
        self._fetched = last_beat + 2
        self._offered: dict[str, int] = {}
        for queue in QUEUES:
            self._request(queue, 0)

    def start(self, queue: str, free: int) -> int:
        """Return the cycle in which an engine that is free from `free` on takes a command."""
        start = max(self._offered[queue], free)
        self._request(queue, start + 2)
        return start

    def _request(self, queue: str, wanted: int) -> None:
        if self._left[queue]:
            self._left[queue] -= 1
            self._fetched = max(wanted, self._fetched + 1) + self._fetch
            self._offered[queue] = self._fetched
