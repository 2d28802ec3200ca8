"""Sequencer against the memory image that it reads, and engines that take their time."""

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from hw.gnn.config import GnnConfig
from hw.gnn.format import (
    AGGREGATE,
    COMBINE,
    HEADER,
    MAGIC,
    SLOT_BYTES,
    VERSION,
    ErrorCode,
    Opcode,
    Word,
)
from hw.gnn.sequencer import Sequencer
from hw.memory_config import MemoryConfig
from sim.bench import GRID, run
from sim.servers import ReadServer
from sim.streams import Sink, Strobes

CONFIGS = [
    GnnConfig(),
    GnnConfig(memory=MemoryConfig(axi_data_width=256, axi_addr_width=40)),
    GnnConfig(memory=MemoryConfig(axi_data_width=1024)),
]
BASE, COMBINES, AGGREGATES = 0, 1024, 4096


class Engine:
    """Take commands, complete each `work` cycles after it was taken, one at a time."""

    def __init__(self, name: str, port: Any, done: Any, expected: list[int], work: int) -> None:
        self.name = name
        self.sink = Sink(name, port, expected)
        self._port, self._done, self._work = port, done, work
        self._left = 0
        self.done_cycles: list[int] = []

    @property
    def finished(self) -> bool:
        """Whether all commands are complete."""
        return self.sink.finished and not self._left

    def signals(self) -> Sequence[Any]:
        """Return the command stream."""
        return self.sink.signals()

    def start(self, ctx: Any) -> None:
        """Be ready."""
        ctx.set(self._port.ready, 1)

    def step(self, ctx: Any, cycle: int, values: Sequence[int]) -> bool:
        """Take a command if at rest; strobe when the work is done."""
        progress = self.sink.step(ctx, cycle, values)
        if progress:
            self._left = self._work
        elif self._left:
            self._left -= 1
            progress = True
        finishing = self._left == 1
        if finishing:
            self.done_cycles.append(cycle + 1)
        ctx.set(self._done, int(finishing))
        ctx.set(self._port.ready, int(self._left == 0))
        return progress


class Pulse:
    """Set a port to 1 in the given cycles."""

    name = "pulse"
    finished = True

    def __init__(self, signal: Any, cycles: Sequence[int]) -> None:
        self._signal, self._cycles = signal, cycles

    def signals(self) -> Sequence[Any]:
        """Return nothing."""
        return ()

    def start(self, ctx: Any) -> None:
        """Set cycle 0."""
        ctx.set(self._signal, int(0 in self._cycles))

    def step(self, ctx: Any, cycle: int, values: Sequence[int]) -> bool:
        """Set the next cycle."""
        ctx.set(self._signal, int(cycle + 1 in self._cycles))
        return False


def _random(word: Word, rng: Random, **fixed: int) -> int:
    values = {n: rng.getrandbits(w) for n, w, _ in word.fields if not n.startswith("_")}
    return word.pack(**values | fixed)


def _program(
    config: GnnConfig, combines: int, aggregates: int, **header: int
) -> tuple[bytearray, list[int], list[int]]:
    """Return a memory and the commands of both queues in it."""
    rng = Random(1)
    memory = bytearray(rng.randbytes(16384))
    fields = {
        "magic": MAGIC,
        "version": VERSION,
        "config_hash": config.hash,
        "combine_commands": combines,
        "aggregate_commands": aggregates,
        "combine_address": COMBINES,
        "aggregate_address": AGGREGATES,
    }
    _put(memory, BASE, HEADER, HEADER.pack(**fields | header))
    queues = []
    for word, opcode, base, count in (
        (COMBINE, Opcode.COMBINE, COMBINES, combines),
        (AGGREGATE, Opcode.AGGREGATE, AGGREGATES, aggregates),
    ):
        queues.append([_random(word, rng, opcode=opcode) for _ in range(count)])
        for index, command in enumerate(queues[-1]):
            _put(memory, base + index * SLOT_BYTES, word, command)
    return memory, queues[0], queues[1]


def _put(memory: bytearray, address: int, word: Word, value: int) -> None:
    memory[address : address + word.width // 8] = value.to_bytes(word.width // 8, "little")


def _server(dut: Sequencer, memory: bytearray, **settings: Any) -> ReadServer:
    return ReadServer("program", dut.o_request, dut.i_beats, memory, **settings)


@pytest.mark.parametrize(("idle", "stall"), GRID)
@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize(("combines", "aggregates"), [(5, 3), (1, 0), (0, 2)])
def test_every_command_reaches_its_engine(config, idle, stall, combines, aggregates):
    """Beats come with idle cycles; `stall` makes the engines slow."""
    dut = Sequencer(config)
    memory, combine, aggregate = _program(config, combines, aggregates)
    engines = [
        Engine("combine", dut.o_combine, dut.combine_done, combine, 90 if stall else 2),
        Engine("aggregate", dut.o_aggregate, dut.aggregate_done, aggregate, 55 if stall else 3),
    ]
    server, done = _server(dut, memory, idle=idle), Strobes("done", dut.done, 1)
    counts = [Strobes("c", dut.combines_done == combines)]
    run(
        dut,
        [Pulse(dut.start, [0]), server, *engines, done, *counts],
    )
    last = max(cycle for engine in engines for cycle in engine.done_cycles)
    assert done.cycles == [last + 1]
    assert counts[0].cycles[-1] > last
    assert sorted(server.requests) == sorted(
        (address, SLOT_BYTES // config.memory.beat_bytes)
        for address in [
            BASE,
            *range(COMBINES, COMBINES + combines * SLOT_BYTES, SLOT_BYTES),
            *range(AGGREGATES, AGGREGATES + aggregates * SLOT_BYTES, SLOT_BYTES),
        ]
    )


@pytest.mark.parametrize("config", CONFIGS)
def test_cycles_of_requests_and_commands(config):
    """Start in 0, request in 1; last beat in t, command in t + 2, next request in t + 3."""
    dut = Sequencer(config)
    memory, combine, aggregate = _program(config, 2, 1)
    engines = [
        Engine("combine", dut.o_combine, dut.combine_done, combine, 200),
        Engine("aggregate", dut.o_aggregate, dut.aggregate_done, aggregate, 2),
    ]
    server = _server(dut, memory, latency=3)
    done = Strobes("done", dut.done, 1)
    run(
        dut,
        [Pulse(dut.start, [0]), server, *engines, done],
    )
    beats = SLOT_BYTES // config.memory.beat_bytes
    # The server offers the first beat 3 cycles after the request and has no idle cycles.
    period = 3 + beats - 1 + 3
    assert server.cycles == [1, 1 + period, 1 + 2 * period, 1 + 3 * period]
    taken = [1 + 2 * period - 1, 1 + 3 * period - 1]
    assert engines[0].sink.cycles[0] == taken[0]
    assert engines[1].sink.cycles[0] == taken[1]
    # The second combination command is fetched while the first is executed.
    assert engines[0].sink.cycles[1] == engines[0].done_cycles[0] + 1
    assert done.cycles == [engines[0].done_cycles[1] + 1]


def test_a_rested_fetcher_asks_two_cycles_after_a_command_is_taken():
    config = CONFIGS[2]
    dut = Sequencer(config)
    memory, combine, _ = _program(config, 3, 0)
    engine = Engine("combine", dut.o_combine, dut.combine_done, combine, 50)
    server = _server(dut, memory)
    run(dut, [Pulse(dut.start, [0]), server, engine])
    assert server.cycles[-1] == engine.sink.cycles[1] + 2


@pytest.mark.parametrize("blocked", [0, 1])
def test_a_blocked_queue_does_not_block_the_other(blocked):
    config = CONFIGS[0]
    dut = Sequencer(config)
    memory, combine, aggregate = _program(config, 4, 4)
    queues = combine, aggregate
    ports = [(dut.o_combine, dut.combine_done), (dut.o_aggregate, dut.aggregate_done)]
    port, done_port = ports[1 - blocked]
    free = Engine("free", port, done_port, queues[1 - blocked], 2)
    stuck = Sink("stuck", ports[blocked][0], None, stall=1.0)
    done = Strobes("done", dut.done)
    run(
        dut,
        [Pulse(dut.start, [0]), _server(dut, memory), free, stuck, done],
        settle=100,
    )
    assert len(free.done_cycles) == 4
    assert (stuck.values, done.cycles) == ([], [])


def test_a_second_run_starts_from_zero():
    config = CONFIGS[1]
    dut = Sequencer(config)
    memory, combine, aggregate = _program(config, 2, 2)
    engines = [
        Engine("combine", dut.o_combine, dut.combine_done, combine * 2, 2),
        Engine("aggregate", dut.o_aggregate, dut.aggregate_done, aggregate * 2, 2),
    ]
    done = Strobes("done", dut.done, 2)
    # The start in cycle 20 falls into the first run.
    run(
        dut,
        [Pulse(dut.start, [0, 20, 300]), _server(dut, memory), *engines, done],
        settle=300,
    )
    assert done.cycles[0] < 300 < done.cycles[1]
    assert done.cycles[1] - 300 == done.cycles[0]


def test_a_program_without_commands_is_done():
    config = CONFIGS[0]
    dut = Sequencer(config)
    memory, _, _ = _program(config, 0, 0)
    server, done = _server(dut, memory), Strobes("done", dut.done, 1)
    run(dut, [Pulse(dut.start, [0]), server, done])
    assert done.cycles == [server.beat_cycles[-1] + 2]


def _error(dut: Sequencer, memory: bytearray, *agents: Any) -> tuple[int, ReadServer]:
    """Run into an error; return its code and the server."""
    codes: list[int] = []

    class Code:
        """Note the error code in the end."""

        name = "code"
        finished = True

        def signals(self):
            return (dut.error,)

        def start(self, ctx):
            pass

        def step(self, ctx, cycle, values):
            codes.append(values[0])
            return False

    server, done = _server(dut, memory), Strobes("done", dut.done, None)
    agents = (Pulse(dut.start, [0, 150]), server, Code(), done, *agents)
    run(dut, agents, settle=200)
    assert done.cycles == []
    return codes[-1], server


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize(
    ("header", "code"),
    [
        ({"magic": MAGIC ^ 1 << 31}, ErrorCode.BAD_MAGIC),
        ({"version": VERSION + 1}, ErrorCode.BAD_VERSION),
        ({"config_hash": 0}, ErrorCode.BAD_CONFIG),
        ({"magic": 0, "version": 0, "config_hash": 0}, ErrorCode.BAD_MAGIC),
    ],
)
def test_a_foreign_header_stops_the_run(config, header, code):
    """Nothing is fetched after the header, nor by a later start."""
    memory, _, _ = _program(config, 2, 2, **header)
    got, server = _error(Sequencer(config), memory)
    assert got == code
    assert len(server.requests) == 1


@pytest.mark.parametrize("queue", [0, 1])
def test_a_foreign_opcode_stops_the_run(queue):
    config = CONFIGS[0]
    dut = Sequencer(config)
    memory, combine, aggregate = _program(config, 2, 2)
    # Each queue gets a command of the other one, in its second slot.
    memory[(COMBINES, AGGREGATES)[queue] + SLOT_BYTES] = (Opcode.AGGREGATE, Opcode.COMBINE)[queue]
    sinks = [Sink("c", dut.o_combine), Sink("a", dut.o_aggregate)]
    code, _ = _error(dut, memory, *sinks)
    assert code == ErrorCode.BAD_OPCODE
    assert sinks[queue].values == [(combine, aggregate)[queue][0]]


@pytest.mark.parametrize(
    ("port", "code"),
    [("read_error", ErrorCode.READ_ERROR), ("write_error", ErrorCode.WRITE_ERROR)],
)
def test_a_bus_error_stops_the_run(port, code):
    config = CONFIGS[0]
    dut = Sequencer(config)
    memory, _, _ = _program(config, 4, 4)
    sinks = [Sink("c", dut.o_combine), Sink("a", dut.o_aggregate)]
    got, server = _error(dut, memory, *sinks, Pulse(getattr(dut, port), range(50, 1000)))
    assert got == code
    assert all(cycle <= 52 for cycle in server.cycles)
