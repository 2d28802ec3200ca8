"""Ports of a component as the harness sees them: streams, inputs that are set, outputs to watch."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Shape
from amaranth.lib import stream, wiring

from sim.packing import leaves, word_count

__all__ = ["Field", "Port", "Ports", "component_ports"]

COUNTED_WIDTH_MAX = 32
"""Widest field of an output that is added up over the cycles."""


@dataclass(frozen=True)
class Port:
    """A port, or the payload of a stream: its name in Python, its stem in Verilog, its shape."""

    name: str
    verilog: str
    shape: Any

    @property
    def width(self) -> int:
        """Bits."""
        return Shape.cast(self.shape).width

    @property
    def words(self) -> int:
        """Words of 32 bits."""
        return word_count(self.width)


@dataclass(frozen=True)
class Field:
    """A field of a watched output that is added up: name, number of the output, place in it."""

    name: str
    output: int
    offset: int
    width: int


@dataclass(frozen=True)
class Ports:
    """All ports but clock and reset.

    Parameters
    ----------
    sources, sinks : tuple of Port
        Streams into and out of the component.
    inputs, outputs : tuple of Port
        The other ports.
    """

    sources: tuple[Port, ...]
    sinks: tuple[Port, ...]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]

    @property
    def fields(self) -> tuple[Field, ...]:
        """Fields of the outputs that are narrow enough to be strobes or increments."""
        return tuple(
            Field(port.name + leaf.name, number, leaf.offset, leaf.width)
            for number, port in enumerate(self.outputs)
            for leaf in leaves(port.shape)
            if 0 < leaf.width <= COUNTED_WIDTH_MAX
        )


def component_ports(component: wiring.Component) -> Ports:
    """Sort the ports of `component`; ``i_x[0]`` names an element of an array of ports."""
    sources, sinks, inputs, outputs = [], [], [], []
    for port, is_input, is_stream in _walk(component.signature):
        if is_stream:
            (sources if is_input else sinks).append(port)
        else:
            (inputs if is_input else outputs).append(port)
    return Ports(tuple(sources), tuple(sinks), tuple(inputs), tuple(outputs))


def _walk(signature: Any, name: str = "", verilog: str = "") -> Iterator[tuple[Port, bool, bool]]:
    """Yield each port with whether it is an input, and whether it is a stream."""
    for key, member in signature.members.items():
        named, stem = f"{name}.{key}" if name else key, f"{verilog}__{key}" if verilog else key
        for indices, suffix in _elements(member.dimensions):
            where = named + indices, stem + suffix
            if member.is_port:
                yield Port(*where, member.shape), member.flow is wiring.In, False
            elif isinstance(member.signature, stream.Signature):
                # The signature of an `In` member is flipped, so its payload is `In` too.
                payload = member.signature.members["payload"]
                yield Port(*where, payload.shape), payload.flow is wiring.In, True
            else:
                yield from _walk(member.signature, *where)


def _elements(dimensions: tuple[int, ...]) -> Iterator[tuple[str, str]]:
    if not dimensions:
        yield "", ""
        return
    for index in range(dimensions[0]):
        for name, verilog in _elements(dimensions[1:]):
            yield f"[{index}]{name}", f"__{index}{verilog}"
