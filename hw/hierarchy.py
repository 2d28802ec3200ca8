"""The blocks of a design and the streams between them, read from the elaborated gates.

A stream is found where one `valid` is assigned from another, so the picture that is drawn from
this cannot differ from the wiring. A path through a register is a path through the unit that has
the register. Amaranth's stubs leave elaborated gates out, which is why they are `Any` here.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from amaranth.hdl import Fragment, Shape, Signal, Value
from amaranth.hdl._ast import Assign, Switch
from amaranth.lib import wiring
from amaranth.lib.fifo import FIFOInterface
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Out

__all__ = ["Block", "Connection", "End", "StoredMemory", "blocks"]

_CHANNEL = re.compile(r"_?(aw|w|b|ar|r)$")


@dataclass(frozen=True)
class End:
    """A port of a block: the name of the instance, empty for the block itself, and of the port."""

    instance: str
    port: str


@dataclass(frozen=True)
class Connection:
    """A stream, or an AXI bus from manager to subordinate.

    Parameters
    ----------
    source, target : End
    width : int, bits
        Payload of the stream, or data of the bus.
    is_bus : bool
    """

    source: End
    target: End
    width: int
    is_bus: bool


@dataclass(frozen=True)
class StoredMemory:
    """A memory of a block."""

    name: str
    width: int
    depth: int


@dataclass(frozen=True)
class Block:
    """An instance: its name, the class of its component, what it holds and how that is connected.

    Connections are those between the blocks inside, and from and to ports of this block.
    """

    name: str
    kind: str
    blocks: tuple["Block", ...]
    memories: tuple[StoredMemory, ...]
    connections: tuple[Connection, ...]

    def connected(self) -> tuple["Block", ...]:
        """Return the blocks inside that have a connection."""
        names = {end.instance for c in self.connections for end in (c.source, c.target)}
        return tuple(block for block in self.blocks if block.name in names)


def blocks(component: wiring.Component, name: str) -> Block:
    """Elaborate `component`, which must not have been elaborated before, and return its blocks."""
    return _block(Fragment.get(component, None), name)


def _block(fragment: Any, name: str) -> Block:
    origin = _origin(fragment)
    if isinstance(origin, FIFOInterface):
        queue = StoredMemory("storage", origin.width, origin.depth)
        return Block(name, type(origin).__name__, (), (queue,), ())
    components: list[tuple[Any, str]] = []
    memories: list[StoredMemory] = []
    for sub, label, _ in fragment.subfragments:
        inner = _origin(sub)
        if isinstance(inner, Memory):
            memories.append(StoredMemory(str(label), Shape.cast(inner.shape).width, inner.depth))
        elif inner is not None:
            components.append((sub, str(label)))
    return Block(
        name=name,
        kind=type(origin).__name__,
        blocks=tuple(_block(sub, label) for sub, label in components),
        memories=tuple(memories),
        connections=tuple(_connections(fragment, components)),
    )


def _origin(fragment: Any) -> wiring.Component | FIFOInterface | None:
    """Return what a fragment was elaborated from, behind transformers such as a reset."""
    origins: Sequence[Any] = fragment.origins or ()
    return next((o for o in origins if isinstance(o, wiring.Component | FIFOInterface)), None)


@dataclass(frozen=True)
class _Port:
    end: End
    gives: bool
    width: int
    is_bus: bool


def _connections(fragment: Any, components: Sequence[tuple[Any, str]]) -> Iterator[Connection]:
    """Yield what the assignments of a fragment connect, each pair of ends once."""
    ports: dict[int, _Port] = {}
    for sub, label in [(fragment, ""), *components]:
        origin = _origin(sub)
        if isinstance(origin, FIFOInterface):
            ports[id(origin.w_en)] = _Port(End(label, "w"), False, origin.width, False)
            ports[id(origin.r_rdy)] = _Port(End(label, "r"), True, origin.width, False)
        elif origin is not None:
            ports.update(_ports(origin, label))
    seen: set[Connection] = set()
    for left, right in _assignments(fragment):
        target = ports.get(id(left))
        for signal in right:
            source = ports.get(id(signal))
            if source is None or target is None or not source.gives or target.gives:
                continue
            if not source.end.instance and not target.end.instance:
                continue  # a path through the block itself
            found = Connection(source.end, target.end, source.width, source.is_bus)
            if found not in seen:
                seen.add(found)
                yield found


def _ports(component: wiring.Component, label: str) -> Iterator[tuple[int, _Port]]:
    """Yield the `valid` of each stream and of each bus's requests, with its port.

    Seen from inside the block that is looked at: its own inputs give, those of an instance take.
    """
    members = {path: (m, v) for path, m, v in component.signature.flatten(component)}
    for path, (member, value) in members.items():
        *owner, last = map(str, path)
        gives = (member.flow is Out) == bool(label)
        stem = last.removesuffix("valid")
        channel = _CHANNEL.search(stem)
        if last == "valid" and (*path[:-1], "payload") in members:
            payload = Value.cast(members[*path[:-1], "payload"][1])
            end = End(label, ".".join(owner))
            yield id(value), _Port(end, gives, len(payload), False)
        elif last.endswith("valid") and channel is not None and channel[1] in ("aw", "ar"):
            data = f"{stem[: channel.start(1)]}{'r' if channel[1] == 'ar' else 'w'}data"
            end = End(label, ".".join([*owner, stem[: channel.start()]]).strip("."))
            width = len(Value.cast(members[*path[:-1], data][1]))
            yield id(value), _Port(end, gives, width, True)


def _assignments(fragment: Any) -> Iterator[tuple[Signal, Sequence[Signal]]]:
    """Yield each assignment to a whole signal, with the signals on its right."""
    waiting: list[Any] = [s for statements in fragment.statements.values() for s in statements]
    while waiting:
        statement = waiting.pop(0)
        if isinstance(statement, Switch):
            waiting[:0] = [s for _, statements, _ in cast(Any, statement).cases for s in statements]
        elif isinstance(statement, Assign) and isinstance(statement.lhs, Signal):
            yield statement.lhs, list(cast(Any, statement.rhs)._rhs_signals())
