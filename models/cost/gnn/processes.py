"""Processes in time order: what the engines do while they share the read port."""

from collections.abc import Generator, Hashable
from dataclasses import dataclass
from heapq import heappop, heappush
from math import inf
from typing import Any

from models.cost.gnn.read_port import Arrivals, ReadPort

__all__ = ["Arrived", "Happened", "Process", "Until", "run_processes"]


@dataclass(frozen=True)
class Until:
    """Go on in `cycle`, before the port chooses later."""

    cycle: int


@dataclass(frozen=True)
class Arrived:
    """Go on when the first `beats` beats have their cycle."""

    arrivals: Arrivals
    beats: int


@dataclass(frozen=True)
class Happened:
    """Go on when another process has published `key`; the value is sent in."""

    key: Hashable


Process = Generator[Until | Arrived | Happened, Any, None]


def run_processes(processes: list[Process], port: ReadPort, published: dict[Hashable, Any]) -> None:
    """Run all to their end: requests before the choices that may see them.

    Raises
    ------
    RuntimeError
        If all wait for each other.
    """
    timed: list[tuple[int, int, Process]] = []
    blocked: list[tuple[Arrived | Happened, Process]] = []
    order = 0

    def advance(process: Process, value: Any = None) -> None:
        nonlocal order
        try:
            wish = process.send(value)
        except StopIteration:
            return
        if isinstance(wish, Until):
            order += 1
            heappush(timed, (wish.cycle, order, process))
        else:
            blocked.append((wish, process))

    for process in processes:
        advance(process)
    while timed or blocked:
        if _release(blocked, published, advance):
            continue
        if timed and timed[0][0] < port.next_choice():
            advance(heappop(timed)[2])
        elif port.next_choice() < inf:
            port.choose()
        else:
            raise RuntimeError("the commands of a Program wait for each other")


def _release(
    blocked: list[tuple[Arrived | Happened, Process]], published: dict[Hashable, Any], advance: Any
) -> bool:
    """Advance the processes whose wish came true; return whether there was one."""
    ready = [entry for entry in blocked if _is_true(entry[0], published)]
    for entry in ready:
        blocked.remove(entry)
        wish, process = entry
        advance(process, published[wish.key] if isinstance(wish, Happened) else None)
    return bool(ready)


def _is_true(wish: Arrived | Happened, published: dict[Hashable, Any]) -> bool:
    if isinstance(wish, Happened):
        return wish.key in published
    return wish.arrivals.knows(wish.beats)
