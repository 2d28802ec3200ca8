"""Run one component in Amaranth's simulator, with agents at its ports.

`check` is the one call of a unit's test: values in, values expected, idle and stall. `run` takes
any agents (memories, tallies) for units that ask for what they need.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from amaranth.sim import Simulator

from sim.streams import Agent, Sink, Source, StreamRuleError

__all__ = ["GRID", "DeadlockError", "Result", "StreamRuleError", "check", "run"]

GRID: tuple[tuple[float, float], ...] = ((0.0, 0.0), (0.4, 0.0), (0.0, 0.4), (0.4, 0.4))
"""Probabilities (idle, stall) under which every unit is run."""


class DeadlockError(TimeoutError):
    """Nothing moved for too long, or the run took too many cycles."""


@dataclass(frozen=True)
class Result:
    """Cycles of all handshakes, by port.

    `cycles` counts from the first clock edge up to and with the last progress of any agent.
    """

    cycles: int
    taken: dict[str, list[int]]
    given: dict[str, list[int]]
    values: dict[str, list[int]]


def run(
    dut: Any,
    agents: Sequence[Agent],
    *,
    constants: Mapping[str, int] | None = None,
    patience: int = 1000,
    settle: int = 32,
    limit: int = 1_000_000,
) -> int:
    """Simulate until all agents are finished, then `settle` cycles more; return the cycles.

    Parameters
    ----------
    dut : Component
    agents : sequence of Agent
        Stepped in order after every clock edge, with what was sampled just before it.
    constants : mapping
        Input ports that keep one value.
    patience, settle, limit : int, cycles
        Longest time without progress; time that is run on, so that an output too many is seen;
        longest run.

    Returns
    -------
    int
        Cycles up to and with the last progress.

    Raises
    ------
    DeadlockError
        If an agent is not finished after `patience` or `limit`.
    StreamRuleError
        If a stream breaks a rule.
    """
    last = -1

    async def bench(ctx: Any) -> None:
        nonlocal last
        for name, value in (constants or {}).items():
            ctx.set(getattr(dut, name), value)
        sampled: list[Any] = []
        spans: list[tuple[Agent, int, int]] = []
        for agent in agents:
            agent.start(ctx)
            signals = agent.signals()
            spans.append((agent, len(sampled), len(sampled) + len(signals)))
            sampled += signals
        cycle = 0
        while not (cycle - last > settle and all(agent.finished for agent in agents)):
            _, _, *values = await ctx.tick().sample(*sampled)
            for agent, start, stop in spans:
                if agent.step(ctx, cycle, values[start:stop]):
                    last = cycle
            cycle += 1
            _watch(agents, cycle, last, patience, limit)

    simulator = Simulator(dut)
    simulator.add_clock(1e-8)
    simulator.add_testbench(bench)
    simulator.run()
    return last + 1


def _watch(agents: Sequence[Agent], cycle: int, last: int, patience: int, limit: int) -> None:
    waiting = ", ".join(agent.name for agent in agents if not agent.finished)
    if waiting and cycle - last > patience:
        raise DeadlockError(f"no progress after cycle {last}; waiting for {waiting}")
    if cycle >= limit:
        raise DeadlockError(f"not done after {limit} cycles; waiting for {waiting or 'quiet'}")


def check(
    dut: Any,
    inputs: Mapping[str, Iterable[Any]],
    outputs: Mapping[str, Iterable[Any]],
    *,
    idle: float = 0.0,
    stall: float = 0.0,
    seed: int = 0,
    constants: Mapping[str, int] | None = None,
    extra: Sequence[Agent] = (),
    settle: int = 32,
) -> Result:
    """Feed `inputs`, expect `outputs` exactly, hold every output stream to the rules.

    Parameters
    ----------
    dut : Component
    inputs, outputs : mapping
        Values by stream port: integers, or dicts where the payload is a layout. ``i_x[0]`` names
        an element of an array of ports.
    idle, stall : float
        Probability of a cycle without offer, and of a cycle without ready.
    seed : int
    constants : mapping
        Input ports that keep one value.
    extra : sequence of Agent
        Further agents.
    settle : int, cycles
        Cycles run on after the last progress.

    Returns
    -------
    Result

    Raises
    ------
    StreamRuleError
        If an output differs, is one too many, or breaks a rule; the message holds the cycle.
    DeadlockError
        If outputs are missing or inputs are not taken.
    """
    sources = [Source(n, _port(dut, n), v, idle, seed) for n, v in inputs.items()]
    sinks = [Sink(n, _port(dut, n), v, stall, seed) for n, v in outputs.items()]
    agents: list[Agent] = [*sources, *sinks, *extra]
    cycles = run(dut, agents, constants=constants, settle=settle)
    return Result(
        cycles,
        {source.name: source.cycles for source in sources},
        {sink.name: sink.cycles for sink in sinks},
        {sink.name: sink.values for sink in sinks},
    )


def _port(dut: Any, name: str) -> Any:
    base, _, index = name.partition("[")
    port = getattr(dut, base)
    return port[int(index.rstrip("]"))] if index else port
