"""When the commands of both queues are offered to their engines."""

from collections.abc import Hashable
from typing import Any

from hw.gnn.format import SLOT_BYTES
from models.cost.gnn.processes import Arrived, Happened, Process, Until
from models.cost.gnn.read_port import ReadPort, Request

__all__ = ["Sequencer"]

TAKE_CYCLES = 3
"""From the last beat of a slot to the next request; its command is offered a cycle earlier."""

REFETCH_CYCLES = 2
"""From a command taken to the request for its queue's next slot."""


class Sequencer:
    """The one fetcher of both queues (`hw.gnn.sequencer`).

    Publishes ``("slot", queue, index)``: the cycle from which a command is offered. Needs
    ``("start", queue, index)``: the cycle in which it was taken.

    Parameters
    ----------
    beat_bytes, burst_beats : int
    port : ReadPort
    published : dict
    """

    def __init__(
        self, beat_bytes: int, burst_beats: int, port: ReadPort, published: dict[Hashable, Any]
    ) -> None:
        beats = SLOT_BYTES // beat_bytes
        self._beats = beats
        self._lengths = [min(burst_beats, beats)] * -(-beats // burst_beats)
        self._port = port
        self._published = published
        self._tickets = 0

    def processes(self, commands: dict[str, int]) -> list[Process]:
        """Return the processes that fetch the header and as many commands of each queue."""
        return [
            self._slot(None, 0),
            *(self._slot(queue, index) for queue, n in commands.items() for index in range(n)),
        ]

    def _slot(self, queue: str | None, index: int) -> Process:
        """Fetch one slot, the header if there is no queue; slots go in the order of their wish."""
        wanted = 0
        if queue and not index:
            wanted = yield Happened("header")
        elif queue:
            taken = yield Happened(("start", queue, index - 1))
            wanted = taken + REFETCH_CYCLES
        yield Until(wanted)
        ticket, self._tickets = self._tickets, self._tickets + 1
        if ticket:
            free = yield Happened(("fetched", ticket - 1))
            wanted = max(wanted, free)
            yield Until(wanted)
        request = Request("program", wanted, self._lengths, taken=self._beats)
        arrivals = self._port.request(request)
        yield Arrived(arrivals, self._beats)
        free = arrivals.cycle(self._beats - 1) + TAKE_CYCLES
        if queue:
            self._published["slot", queue, index] = free - 1
        else:
            self._published["header"] = free
        self._published["fetched", ticket] = free
