"""The C side of a harness, by ctypes: structures as `sim/cpp/harness.cpp` has them, and calls."""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.packing import Words

__all__ = ["Batch", "Library", "Outcome", "Rows", "StreamData"]


class Outcome(IntEnum):
    """How a batch ended."""

    DONE = 0
    LIMIT = 1
    WITHDRAWN = 2
    CHANGED = 3
    TOO_MANY = 4


@dataclass
class StreamData:
    """Packed payloads of a stream (offered, or room for what comes) and how many were moved.

    `cycles` is None, or has room for the cycle of each handshake.
    """

    words: Words
    cycles: NDArray[np.uint64] | None
    done: int = 0


@dataclass(frozen=True)
class Rows:
    """Packed values of one port, one a cycle: driven at an input, or noted at an output."""

    port: int
    words: Words


@dataclass
class Batch:
    """One batch: what goes in and has room, and after it how it ended.

    `stream` is the number of the output stream that broke a rule.
    """

    sources: Sequence[StreamData]
    sinks: Sequence[StreamData]
    tables: Sequence[Rows]
    samples: Sequence[Rows]
    totals: NDArray[np.uint64]
    limit: int
    settle: int
    seed: int
    idle: float
    stall: float
    cycles: int = 0
    simulated: int = 0
    outcome: Outcome = Outcome.DONE
    stream: int = 0


class _Lane(ctypes.Structure):
    _fields_ = [
        ("words", ctypes.c_void_p),
        ("cycles", ctypes.c_void_p),
        ("count", ctypes.c_uint64),
        ("done", ctypes.c_uint64),
    ]


class _Rows(ctypes.Structure):
    _fields_ = [
        ("words", ctypes.c_void_p),
        ("rows", ctypes.c_uint64),
        ("port", ctypes.c_uint32),
        ("row_words", ctypes.c_uint32),
    ]


class _Batch(ctypes.Structure):
    _fields_ = [
        ("sources", ctypes.c_void_p),
        ("sinks", ctypes.c_void_p),
        ("tables", ctypes.c_void_p),
        ("samples", ctypes.c_void_p),
        ("totals", ctypes.c_void_p),
        ("table_count", ctypes.c_uint64),
        ("sample_count", ctypes.c_uint64),
        ("limit", ctypes.c_uint64),
        ("settle", ctypes.c_uint64),
        ("seed", ctypes.c_uint64),
        ("idle", ctypes.c_double),
        ("stall", ctypes.c_double),
        ("cycles", ctypes.c_uint64),
        ("simulated", ctypes.c_uint64),
        ("outcome", ctypes.c_uint32),
        ("stream", ctypes.c_uint32),
    ]


class Library:
    """A loaded shared object; models are made, driven and deleted by it."""

    def __init__(self, path: Path) -> None:
        library = ctypes.CDLL(str(path))
        library.harness_new.restype = ctypes.c_void_p
        for name in ("harness_delete", "harness_set", "harness_run"):
            getattr(library, name).restype = None
        library.harness_delete.argtypes = [ctypes.c_void_p]
        library.harness_set.argtypes = [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p]
        library.harness_run.argtypes = [ctypes.c_void_p, ctypes.POINTER(_Batch)]
        self._library = library

    def new(self) -> int:
        """Return a model in power-up state."""
        return self._library.harness_new()

    def delete(self, model: int) -> None:
        """Give a model back."""
        self._library.harness_delete(model)

    def set(self, model: int, port: int, words: Words) -> None:
        """Give input number `port` a value."""
        self._library.harness_set(model, port, words.ctypes.data)

    def run(self, model: int, batch: Batch) -> None:
        """Run a batch and note in it how it ended."""
        sources = _array(_Lane, [_lane(data) for data in batch.sources])
        sinks = _array(_Lane, [_lane(data) for data in batch.sinks])
        tables = _array(_Rows, [_rows(rows) for rows in batch.tables])
        samples = _array(_Rows, [_rows(rows) for rows in batch.samples])
        structure = _Batch(
            sources=ctypes.addressof(sources),
            sinks=ctypes.addressof(sinks),
            tables=ctypes.addressof(tables),
            samples=ctypes.addressof(samples),
            totals=batch.totals.ctypes.data,
            table_count=len(batch.tables),
            sample_count=len(batch.samples),
            limit=batch.limit,
            settle=batch.settle,
            seed=batch.seed,
            idle=batch.idle,
            stall=batch.stall,
        )
        self._library.harness_run(model, ctypes.byref(structure))
        for data, lane in zip((*batch.sources, *batch.sinks), (*sources, *sinks), strict=True):
            data.done = lane.done
        batch.cycles, batch.simulated = structure.cycles, structure.simulated
        batch.outcome, batch.stream = Outcome(structure.outcome), structure.stream


def _array(kind: Any, items: Sequence[Any]) -> Any:
    return (kind * len(items))(*items)


def _lane(data: StreamData) -> _Lane:
    times = None if data.cycles is None else data.cycles.ctypes.data
    return _Lane(data.words.ctypes.data, times, len(data.words), 0)


def _rows(rows: Rows) -> _Rows:
    return _Rows(rows.words.ctypes.data, len(rows.words), rows.port, rows.words.shape[1])
