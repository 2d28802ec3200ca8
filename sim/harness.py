"""A component's Verilated model, run in batches of whole streams: millions of cycles a second.

For sweeps: bulk runs whose expected values NumPy computes at once. Where single cycles are looked
at, `sim.bench` is simpler.
"""

import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from amaranth.hdl import Shape
from amaranth.lib import wiring
from numpy.typing import NDArray

from hw.verilog import emit
from sim import packing
from sim.bench import DeadlockError, StreamRuleError
from sim.harness_library import Batch, Library, Outcome, Rows, StreamData
from sim.harness_ports import Port, component_ports
from sim.harness_source import build_harness
from sim.packing import Words, word_count
from sim.units import UNITS

__all__ = ["Harness", "HarnessResult", "unit_harness"]

LIMIT = 1 << 32
"""Cycles after which a batch is given up, unless it is told otherwise."""

BROKEN_RULES = {
    Outcome.WITHDRAWN: "payload withdrawn",
    Outcome.CHANGED: "payload changed",
    Outcome.TOO_MANY: "output {count} too many",
}


@dataclass(frozen=True)
class HarnessResult:
    """What one batch gave.

    Parameters
    ----------
    outputs : dict of str to ndarray [n, W], uint32
        Packed payloads by stream, as many as came.
    taken, given : dict of str to ndarray [n], uint64
        Cycles of the handshakes by stream, counted from the batch's first; empty unless asked for.
    samples : dict of str to ndarray [cycles, W], uint32
        Values of the sampled outputs, one a cycle.
    events : dict of str to int
        Each output that is no stream, field by field, added up over all cycles of the batch.
    cycles : int
        Cycles up to and with the last progress (a handshake, a row of a table, a sample).
    simulated : int
        All cycles of the batch.
    complete : bool
        Whether everything was taken and came before the limit.
    """

    outputs: dict[str, Words]
    taken: dict[str, NDArray[np.uint64]]
    given: dict[str, NDArray[np.uint64]]
    samples: dict[str, Words]
    events: dict[str, int]
    cycles: int
    simulated: int
    complete: bool


class Harness:
    """One Verilated model of a component, with power-up state when it is made.

    Parameters
    ----------
    component : wiring.Component
        Not elaborated before. Its streams are fed and emptied in batches, its other inputs are set
        or follow tables, its other outputs are added up.
    name : str, optional
        Name of the Verilog module.

    Raises
    ------
    ToolchainError
        If the model cannot be built.
    """

    def __init__(self, component: wiring.Component, name: str | None = None) -> None:
        self.name = name or type(component).__name__
        self._ports = component_ports(component)
        shared = build_harness(emit(component, self.name), self.name, self._ports)
        self._library = Library(shared)
        self._release = weakref.finalize(self, int)
        self.restart()

    def restart(self) -> None:
        """Return to the state of power-up, all inputs 0."""
        self._release()
        self._model = self._library.new()
        self._release = weakref.finalize(self, self._library.delete, self._model)

    def shape(self, port: str) -> Any:
        """Return the shape of a port, or of a stream's payload."""
        ports = self._ports
        everything = (*ports.sources, *ports.sinks, *ports.inputs, *ports.outputs)
        return everything[self._find(port, everything, "port")].shape

    def zeros(self, port: str, count: int) -> NDArray[Any]:
        """Return `count` values of a port, all zero, to be filled (see `sim.packing`)."""
        return packing.zeros(self.shape(port), count)

    def pack(self, port: str, values: Any) -> Words:
        """Return values of a port as packed words (see `sim.packing.pack`)."""
        return packing.pack(self.shape(port), values, port)

    def unpack(self, port: str, words: Words) -> NDArray[Any]:
        """Return packed words of a port as values (see `sim.packing.unpack`)."""
        return packing.unpack(self.shape(port), words)

    def run(
        self,
        inputs: Mapping[str, Words] | None = None,
        outputs: Mapping[str, int] | None = None,
        *,
        constants: Mapping[str, int] | None = None,
        tables: Mapping[str, Words] | None = None,
        samples: Mapping[str, int] | None = None,
        idle: float = 0.0,
        stall: float = 0.0,
        seed: int = 0,
        limit: int = LIMIT,
        settle: int = 32,
        handshakes: bool = False,
        complete: bool = True,
    ) -> HarnessResult:
        """Run until all inputs are taken and all outputs came, then `settle` cycles more.

        The model goes on from where the last batch left it.

        Parameters
        ----------
        inputs : mapping of str to ndarray [n, W], uint32
            Packed payloads by stream; a stream that is not named offers nothing.
        outputs : mapping of str to int
            How many payloads each stream gives; one that is not named gives none.
        constants : mapping of str to int
            Values of inputs that are no streams, kept in later batches too.
        tables : mapping of str to ndarray [cycles, W], uint32
            Packed values of such inputs, one a cycle from the first on, afterwards what was before.
        samples : mapping of str to int
            Outputs to be noted, and for how many cycles.
        idle, stall : float
            Probability that a cycle offers nothing, and that one is not ready.
        seed : int
            Of both.
        limit : int, cycles
            The batch is given up after it.
        settle : int, cycles
            So that an output too many is seen.
        handshakes : bool
            Note the cycle of each handshake.
        complete : bool
            Whether reaching the limit is an error; if not, what came is returned.

        Raises
        ------
        ValueError
            If there is no such port, or its words have another number or too many bits.
        DeadlockError
            If the limit is reached: which streams wait, and what came.
        StreamRuleError
            If an output is one too many, or was withdrawn or changed while it waited.

        After an error or an incomplete batch only `restart` gives a defined state.
        """
        ports = self._ports
        self._set(constants or {})
        offered = self._by_port(inputs or {}, ports.sources, "input stream")
        wanted = self._by_port(outputs or {}, ports.sinks, "output stream")
        driven = self._by_port(tables or {}, ports.inputs, "input")
        noted = self._by_port(samples or {}, ports.outputs, "output")
        packed = [_words(port, offered.get(k, ())) for k, port in enumerate(ports.sources)]
        room = [_room(port, wanted.get(k, 0)) for k, port in enumerate(ports.sinks)]
        batch = Batch(
            sources=[StreamData(words, _times(words, handshakes)) for words in packed],
            sinks=[StreamData(words, _times(words, handshakes)) for words in room],
            tables=[Rows(k, _words(ports.inputs[k], words)) for k, words in driven.items()],
            samples=[Rows(k, _room(ports.outputs[k], cycles)) for k, cycles in noted.items()],
            totals=np.zeros(len(ports.fields), np.uint64),
            limit=limit,
            settle=settle,
            seed=seed,
            idle=idle,
            stall=stall,
        )
        self._library.run(self._model, batch)
        self._check(batch, complete)
        return self._result(batch)

    def _set(self, values: Mapping[str, int]) -> None:
        for name, value in values.items():
            number = self._find(name, self._ports.inputs, "input")
            shape = Shape.cast(self._ports.inputs[number].shape)
            low = -(1 << shape.width - 1) if shape.signed else 0
            high = low + (1 << shape.width) - 1
            if not low <= value <= high:
                raise ValueError(f"{name} must be in {low}..{high}, not {value}")
            bits = int(value) & (1 << shape.width) - 1
            text = bits.to_bytes(4 * word_count(shape.width) + 4, "little")
            self._library.set(self._model, number, np.frombuffer(text, np.uint32))

    def _find(self, name: str, ports: Sequence[Port], kind: str) -> int:
        names = [port.name for port in ports]
        if name not in names:
            known = f"its {kind}s are {', '.join(names)}" if names else "it has none"
            raise ValueError(f"{self.name} has no {kind} {name!r}: {known}")
        return names.index(name)

    def _by_port(self, values: Mapping[str, Any], ports: Sequence[Port], kind: str) -> dict:
        return {self._find(name, ports, kind): value for name, value in values.items()}

    def _check(self, batch: Batch, complete: bool) -> None:
        if batch.outcome in BROKEN_RULES:
            sink, port = batch.sinks[batch.stream], self._ports.sinks[batch.stream]
            text = BROKEN_RULES[batch.outcome].format(count=sink.done)
            raise StreamRuleError(f"{port.name}: {text} in cycle {batch.cycles - 1}")
        if complete and batch.outcome is Outcome.LIMIT:
            waiting = [
                f"{port.name} {verb} {data.done} of {len(data.words)}"
                for verb, ports, lanes in (
                    ("gave", self._ports.sinks, batch.sinks),
                    ("took", self._ports.sources, batch.sources),
                )
                for port, data in zip(ports, lanes, strict=True)
                if data.done < len(data.words)
            ]
            left = ", ".join(waiting) or "a table or a sample is longer"
            raise DeadlockError(f"{self.name} is not done after {batch.limit} cycles: {left}")

    def _result(self, batch: Batch) -> HarnessResult:
        ports = self._ports
        sources = list(zip(ports.sources, batch.sources, strict=True))
        sinks = list(zip(ports.sinks, batch.sinks, strict=True))
        totals = zip(ports.fields, batch.totals.tolist(), strict=True)
        return HarnessResult(
            outputs={port.name: data.words[: data.done] for port, data in sinks},
            taken={p.name: d.cycles[: d.done] for p, d in sources if d.cycles is not None},
            given={p.name: d.cycles[: d.done] for p, d in sinks if d.cycles is not None},
            samples={ports.outputs[rows.port].name: rows.words for rows in batch.samples},
            events={field.name: total for field, total in totals},
            cycles=batch.cycles,
            simulated=batch.simulated,
            complete=batch.outcome is Outcome.DONE,
        )


def unit_harness(name: str, config: Any) -> Harness:
    """Return the harness of a unit in the registry `sim.units`.

    Raises
    ------
    ValueError
        If the registry has no such unit.
    """
    components = {unit.name: unit.component for unit in UNITS}
    if name not in components:
        raise ValueError(f"unit must be one of {', '.join(components)}, not {name!r}")
    module, _, component = components[name].rpartition(".")
    return Harness(getattr(import_module(module), component)(config))


def _words(port: Port, words: Any) -> Words:
    """Return the words as C wants them, checked."""
    if not len(words):
        return _room(port, 0)
    array = np.ascontiguousarray(words)
    if array.dtype != np.uint32 or array.ndim != 2 or array.shape[1] != port.words:
        raise ValueError(
            f"{port.name} must be packed words [n, {port.words}] of uint32, "
            f"not {list(array.shape)} of {array.dtype}"
        )
    unused = 32 * port.words - port.width
    if unused and (array[:, -1] >> np.uint32(32 - unused)).any():
        row = int(np.flatnonzero(array[:, -1] >> np.uint32(32 - unused))[0])
        raise ValueError(f"{port.name} must have {port.width} bits, not more as in row {row}")
    return array


def _room(port: Port, count: int) -> Words:
    return np.zeros((count, port.words), np.uint32)


def _times(words: Words, wanted: bool) -> NDArray[np.uint64] | None:
    return np.zeros(len(words), np.uint64) if wanted else None
