"""The DMA as one unit sees it in Amaranth's simulator: requests answered from a memory.

Both are agents of `sim.bench.run`.
"""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Signal, Value

from sim.streams import Sink, Source, StreamRuleError

__all__ = ["ReadServer", "WriteServer"]


class ReadServer:
    """Answer the read requests of one unit from `memory`, one beat a cycle unless idle.

    A request is always taken at once; its first beat is offered `latency` cycles after the request
    at the earliest (1: in the next cycle). `requests` lists (address, beats), `cycles` when.
    """

    finished = True

    def __init__(
        self,
        name: str,
        request: Any,
        beats: Any,
        memory: bytes | bytearray,
        latency: int = 1,
        idle: float = 0.0,
        seed: int = 0,
    ) -> None:
        self.name = name
        self._request = Sink(f"{name} request", request)
        self._source = Source(name, beats, [], idle, seed)
        self._beat_bytes = Value.cast(beats.payload).shape().width // 8
        self._memory = memory
        self._latency = latency
        self._address_width = len(request.payload.address)
        self._due: list[tuple[int, list[int]]] = []
        self.requests: list[tuple[int, int]] = []

    @property
    def cycles(self) -> list[int]:
        """Cycles in which a request was taken."""
        return self._request.cycles

    @property
    def beat_cycles(self) -> list[int]:
        """Cycles in which a beat was handed over."""
        return self._source.cycles

    def signals(self) -> Sequence[Any]:
        """Return what sink and source need."""
        return (*self._request.signals(), *self._source.signals())

    def start(self, ctx: Any) -> None:
        """Get ready for requests."""
        self._request.start(ctx)
        self._source.start(ctx)

    def step(self, ctx: Any, cycle: int, values: Sequence[int]) -> bool:
        """Take a request, read it, hand over beats that are due."""
        taken = self._request.step(ctx, cycle, values[:3])
        if taken:
            word = self._request.values[-1]
            address, beats = word & (1 << self._address_width) - 1, word >> self._address_width
            self.requests.append((address, beats))
            self._due.append((cycle + self._latency, self._read(address, beats)))
        while self._due and self._due[0][0] <= cycle + 1:
            self._source.push(self._due.pop(0)[1])
        return self._source.step(ctx, cycle, values[3:]) or taken

    def _read(self, address: int, beats: int) -> list[int]:
        size = self._beat_bytes
        if address % size or address + beats * size > len(self._memory):
            raise AssertionError(f"{self.name}: read of {beats} beats at {address:#x} is outside")
        return [
            int.from_bytes(self._memory[a : a + size], "little")
            for a in range(address, address + beats * size, size)
        ]


class WriteServer:
    """Carry out the write requests of one unit on `memory` and acknowledge each.

    `done` is raised `latency` cycles after the last token of a request (1: in the next cycle).
    `requests` lists (address, beats) as they end.
    """

    finished = True

    def __init__(
        self,
        name: str,
        request: Any,
        tokens: Any,
        done: Signal,
        memory: bytearray,
        latency: int = 1,
        stall: float = 0.0,
        seed: int = 0,
    ) -> None:
        self.name = name
        self._request = Sink(f"{name} request", request)
        self._tokens = Sink(name, tokens, None, stall, seed)
        self._done = done
        self._memory = memory
        self._latency = latency
        self._width = len(tokens.payload.data)
        self._pending: list[list[int]] = []
        self._due: list[int] = []
        self.requests: list[tuple[int, int]] = []

    @property
    def cycles(self) -> list[int]:
        """Cycles in which a token was taken."""
        return self._tokens.cycles

    def signals(self) -> Sequence[Any]:
        """Return what the two sinks need."""
        return (*self._request.signals(), *self._tokens.signals())

    def start(self, ctx: Any) -> None:
        """Get ready for requests and tokens."""
        self._request.start(ctx)
        self._tokens.start(ctx)

    def step(self, ctx: Any, cycle: int, values: Sequence[int]) -> bool:
        """Take a request or a token, acknowledge what is due."""
        progress = self._request.step(ctx, cycle, values[:3])
        if progress:
            self._pending.append([self._request.values[-1], 0])
        if self._tokens.step(ctx, cycle, values[3:]):
            progress = True
            self._write(cycle, self._tokens.values[-1])
        due = bool(self._due and self._due[0] <= cycle + 1)
        if due:
            self._due.pop(0)
        ctx.set(self._done, int(due))
        return progress

    def _write(self, cycle: int, token: int) -> None:
        if not self._pending:
            raise StreamRuleError(f"{self.name}: token before its request in cycle {cycle}")
        at, size = self._pending[0], self._width // 8
        if token >> self._width & 1:
            address = at[0] + at[1] * size
            if address % size or address + size > len(self._memory):
                raise AssertionError(f"{self.name}: write at {address:#x} is outside")
            beat = token & (1 << self._width) - 1
            self._memory[address : address + size] = beat.to_bytes(size, "little")
            at[1] += 1
        if token >> self._width + 1:
            address, beats = self._pending.pop(0)
            self.requests.append((address, beats))
            self._due.append(cycle + self._latency)
