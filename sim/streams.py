"""What stands at the ports of a unit in Amaranth's simulator: sources, sinks, strobes, tallies.

Each is an agent of `sim.bench.run`: it names the values that it wants sampled before each clock
edge, and acts after the edge. An agent's random choices come from its own seeded generator.
"""

from collections.abc import Iterable, Sequence
from random import Random
from typing import Any, Protocol

from amaranth.hdl import Const, Shape, Value
from amaranth.lib import data

__all__ = [
    "Agent",
    "Sink",
    "Source",
    "StreamRuleError",
    "Strobes",
    "Tally",
    "encode",
]


class StreamRuleError(AssertionError):
    """A stream broke a rule: a payload withdrawn or changed, wrong, or one too many."""


class Agent(Protocol):
    """What `sim.bench.run` needs of an agent; `name` and `finished` also serve its messages."""

    name: str

    @property
    def finished(self) -> bool:
        """Whether the agent has nothing left to wait for."""
        ...

    def signals(self) -> Sequence[Any]:
        """Return the values to be sampled before each edge."""
        ...

    def start(self, ctx: Any) -> None:
        """Set the inputs of cycle 0."""
        ...

    def step(self, ctx: Any, cycle: int, values: Sequence[int]) -> bool:
        """Act on the values sampled in `cycle`, set the inputs of the next; return progress."""
        ...


def encode(shape: Any, value: Any) -> int:
    """Return the bits of `value` (an integer, or a dict for a layout) as a port carries them."""
    if isinstance(value, dict):
        return Const.cast(shape.const(value)).value
    if isinstance(value, data.Const):
        return value.as_bits()
    return int(value)


def _bits(shape: Any, value: Any) -> int:
    return encode(shape, value) & (1 << Shape.cast(shape).width) - 1


def _payload(port: Any) -> tuple[Any, Value]:
    shape = port.signature.members["payload"].shape
    return shape, Value.cast(port.payload).as_unsigned()


class Source:
    """Offer `values` one after another; before each, idle a cycle with probability `idle`.

    `cycles` tells in which cycle each value was taken. Unless `needed`, the run may end before all
    were taken.
    """

    def __init__(
        self,
        name: str,
        port: Any,
        values: Iterable[Any],
        idle: float = 0.0,
        seed: int = 0,
        needed: bool = True,
    ) -> None:
        self.name = name
        self._port = port
        self._shape, self._bits = _payload(port)
        self._queue = [_bits(self._shape, value) for value in values]
        self._idle = idle
        self._random = Random(f"{seed} {name}")
        self._needed = needed
        self._offered = False
        self.cycles: list[int] = []

    @property
    def finished(self) -> bool:
        """Whether all values were taken, or need not be."""
        return not self._needed or self._left == 0

    @property
    def _left(self) -> int:
        return len(self._queue) - len(self.cycles)

    def push(self, values: Iterable[Any]) -> None:
        """Append values, for agents that make them as they go."""
        self._queue += [_bits(self._shape, value) for value in values]

    def signals(self) -> Sequence[Any]:
        """Return valid and ready."""
        return self._port.valid, self._port.ready

    def start(self, ctx: Any) -> None:
        """Offer the first value, or idle."""
        self._offer(ctx)

    def step(self, ctx: Any, cycle: int, values: Sequence[int]) -> bool:
        """Count a handshake and offer the next value."""
        valid, ready = values
        taken = bool(valid and ready)
        if taken:
            self.cycles.append(cycle)
            self._offered = False
        if not self._offered:
            self._offer(ctx)
        return taken

    def _offer(self, ctx: Any) -> None:
        self._offered = self._left > 0 and self._random.random() >= self._idle
        ctx.set(self._port.valid, int(self._offered))
        if self._offered:
            ctx.set(self._bits, self._queue[len(self.cycles)])


class Sink:
    """Take values, not ready in a cycle with probability `stall`, and hold the stream to its rules.

    With `expected`, each value is compared and one more than expected is an error. `values` are
    the bits taken (unsigned), `cycles` the cycles of the handshakes.
    """

    def __init__(
        self,
        name: str,
        port: Any,
        expected: Iterable[Any] | None = None,
        stall: float = 0.0,
        seed: int = 0,
    ) -> None:
        self.name = name
        self._port = port
        shape, self._bits = _payload(port)
        self._expected = None if expected is None else [_bits(shape, v) for v in expected]
        self._stall = stall
        self._random = Random(f"{seed} {name}")
        self._withheld: int | None = None
        self.values: list[int] = []
        self.cycles: list[int] = []

    @property
    def finished(self) -> bool:
        """Whether everything expected has come."""
        return self._expected is None or len(self.values) >= len(self._expected)

    def signals(self) -> Sequence[Any]:
        """Return valid, ready and payload."""
        return self._port.valid, self._port.ready, self._bits

    def start(self, ctx: Any) -> None:
        """Choose the first ready."""
        ctx.set(self._port.ready, int(self._random.random() >= self._stall))

    def step(self, ctx: Any, cycle: int, values: Sequence[int]) -> bool:
        """Check the rules, take a value, choose the next ready."""
        valid, ready, payload = values
        if self._withheld is not None:
            if not valid:
                raise StreamRuleError(f"{self.name}: payload withdrawn in cycle {cycle}")
            if payload != self._withheld:
                raise StreamRuleError(
                    f"{self.name}: payload changed in cycle {cycle} "
                    f"from {self._withheld:#x} to {payload:#x}"
                )
        self._withheld = payload if valid and not ready else None
        if valid and ready:
            self._take(cycle, payload)
        ctx.set(self._port.ready, int(self._random.random() >= self._stall))
        return bool(valid and ready)

    def _take(self, cycle: int, payload: int) -> None:
        index = len(self.values)
        if self._expected is not None:
            if index >= len(self._expected):
                raise StreamRuleError(
                    f"{self.name}: output {index} too many in cycle {cycle}: {payload:#x}"
                )
            if payload != self._expected[index]:
                raise StreamRuleError(
                    f"{self.name}: output {index} in cycle {cycle} must be "
                    f"{self._expected[index]:#x} ({self._expected[index]}), "
                    f"not {payload:#x} ({payload})"
                )
        self.values.append(payload)
        self.cycles.append(cycle)


class Strobes:
    """Note the cycles in which `signal` is not 0; `count` of them are waited for, none more.

    Without `count` a strobe is no progress, so a level may be noted as well.
    """

    def __init__(self, name: str, signal: Any, count: int | None = None) -> None:
        self.name = name
        self._signal = signal
        self._count = count
        self.cycles: list[int] = []

    @property
    def finished(self) -> bool:
        """Whether `count` strobes have come."""
        return self._count is None or len(self.cycles) >= self._count

    def signals(self) -> Sequence[Any]:
        """Return the signal."""
        return (self._signal,)

    def start(self, ctx: Any) -> None:
        """Do nothing."""

    def step(self, ctx: Any, cycle: int, values: Sequence[int]) -> bool:
        """Note a strobe."""
        if values[0]:
            if self._count is not None and len(self.cycles) >= self._count:
                raise StreamRuleError(f"{self.name}: strobe too many in cycle {cycle}")
            self.cycles.append(cycle)
        return bool(values[0]) and self._count is not None


class Tally:
    """Add up each field of an `events` struct over all cycles, in `totals`."""

    name = "events"
    finished = True

    def __init__(self, events: Any) -> None:
        self._names = [name for name, _ in events.shape()]
        self._fields = [Value.cast(events[name]) for name in self._names]
        self.totals = dict.fromkeys(self._names, 0)

    def signals(self) -> Sequence[Any]:
        """Return all fields."""
        return self._fields

    def start(self, ctx: Any) -> None:
        """Do nothing."""

    def step(self, ctx: Any, cycle: int, values: Sequence[int]) -> bool:
        """Add."""
        for name, value in zip(self._names, values, strict=True):
            self.totals[name] += value
        return False
