"""The one read port of all streams: which burst goes when, and when its beats are offered.

Rules of `hw.dma_read` and `hw.round_robin`: a stream asks for a burst from the cycle after its
request on, as long as its FIFO has room for all of it; one burst a cycle is chosen, the next stream
above the last chosen one; its address is on the bus a cycle later. Rules of an ideal memory: a
burst's first beat comes `read_latency` cycles after its address, or after the last beat of the
burst before; then a beat a cycle. A beat on the bus is offered two cycles later.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Protocol

from hw.gnn.counters import READ_STREAMS

__all__ = ["Arrivals", "ReadPort", "Request", "SharedPort"]

RETURN_CYCLES = 2
"""From a beat on the bus to its offer (`hw.dma_read`)."""


@dataclass
class Request:
    """A read request: its bursts, and how the engine takes the beats.

    Parameters
    ----------
    stream : str
        One of `hw.gnn.counters.READ_STREAMS`.
    cycle : int
        In which it is handed over.
    lengths : sequence of int
        Beats of each burst.
    taken : int
        Beats that are taken as they come; those behind them stay in the FIFO.
    pace : int, cycles
        Between one beat taken and the next.
    fresh : bool
        Whether nothing of a request before is left in the FIFO.
    """

    stream: str
    cycle: int
    lengths: Sequence[int]
    taken: int = 0
    pace: int = 1
    fresh: bool = True


@dataclass
class Arrivals:
    """When the beats of a request are offered, as far as that is known.

    Parameters
    ----------
    beats : int
        Beats of the request that the port follows; those behind come ahead of need.
    """

    beats: int
    offered: list[int] = field(default_factory=list)

    def cycle(self, beat: int) -> int:
        """Return when `beat` is offered; beyond what is followed, one a cycle."""
        last = len(self.offered) - 1
        return self.offered[min(beat, last)] + max(0, beat - last)

    def knows(self, beats: int) -> bool:
        """Return whether the first `beats` beats have their cycle."""
        return len(self.offered) >= min(beats, self.beats)


class ReadPort(Protocol):
    """Where requests go."""

    def request(self, request: Request) -> Arrivals:
        """Take a request; no later call may be of an earlier cycle."""
        ...

    def note(self, stream: str) -> None:
        """Say that the burst chosen last was one of `stream` that is not followed."""
        ...

    def next_choice(self) -> float:
        """Return the cycle of the next choice, infinity if nothing waits."""
        ...

    def choose(self) -> None:
        """Make the next choice."""
        ...


class _Stream:
    """Bursts that wait, and the room in the FIFO."""

    def __init__(self, room: int) -> None:
        self.bursts: deque[tuple[int, int, Request, Arrivals]] = deque()
        self.room = room
        self.followed = 0
        self.given_back: deque[int] = deque()
        self.last_taken = -1

    def wants(self) -> float:
        """Return the first cycle in which the next burst may be chosen."""
        if not self.bursts:
            return inf
        ready, length, _, _ = self.bursts[0]
        missing = length - self.room
        if missing <= 0:
            return ready
        if missing > len(self.given_back):
            return inf
        return max(ready, self.given_back[missing - 1])


class SharedPort:
    """All streams on one port.

    Parameters
    ----------
    fifo_depth : int
        Beats of `MemoryConfig.fifo_depth`.
    read_latency : int, cycles
    """

    def __init__(self, fifo_depth: int, read_latency: int) -> None:
        self._depth = fifo_depth
        self._latency = read_latency
        self._streams = [_Stream(fifo_depth) for _ in READ_STREAMS]
        self._last = len(READ_STREAMS) - 1
        self._now = 0
        self._bus_free = 0

    def request(self, request: Request) -> Arrivals:
        """Take a request.

        Beats that nobody takes while a command begins stay in the FIFO, so only as many bursts
        are followed as fit beside them; they are gone again when the stream's next request comes.
        """
        stream = self._streams[READ_STREAMS.index(request.stream)]
        if request.fresh:
            stream.room = self._depth
            stream.followed = 0
            stream.given_back.clear()
        followed: list[int] = []
        for length in request.lengths:
            if stream.followed + length > request.taken + self._depth:
                break
            stream.followed += length
            followed.append(length)
        arrivals = Arrivals(sum(followed))
        stream.bursts += [(request.cycle + 1, n, request, arrivals) for n in followed]
        return arrivals

    def note(self, stream: str) -> None:
        """Say that the burst chosen last was one of `stream` that is not followed."""
        self._last = READ_STREAMS.index(stream)

    def next_choice(self) -> float:
        """Return the cycle of the next choice, infinity if nothing waits."""
        return max(self._now, min(stream.wants() for stream in self._streams))

    def choose(self) -> None:
        """Choose a burst and give its beats their cycles."""
        cycle = int(self.next_choice())
        count = len(self._streams)
        order = ((self._last + step) % count for step in range(1, count + 1))
        self._last = next(at for at in order if self._streams[at].wants() <= cycle)
        stream = self._streams[self._last]
        _, length, request, arrivals = stream.bursts.popleft()
        while stream.given_back and stream.given_back[0] <= cycle:
            stream.given_back.popleft()
            stream.room += 1
        stream.room -= length
        first = max(cycle + 1 + self._latency, self._bus_free)
        self._bus_free = first + length
        self._now = cycle + 1
        for beat in range(first + RETURN_CYCLES, first + RETURN_CYCLES + length):
            if len(arrivals.offered) < request.taken:
                stream.last_taken = max(stream.last_taken, beat - 1) + request.pace
                stream.given_back.append(stream.last_taken + 1)
            arrivals.offered.append(beat)
