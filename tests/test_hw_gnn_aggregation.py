"""AggregationEngine against NumPy on small random graphs: memory, events and cycles."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

from hw.gnn.aggregation import AggregationEngine
from hw.gnn.format import AGGREGATE
from hw.verilog import emit, module_ports
from models.golden.gnn.post_processor import post_process
from sim.aggregation_cases import LAYERS, Case, aggregation_case, segment
from sim.bench import GRID, run
from sim.servers import ReadServer, WriteServer
from sim.streams import Source, Strobes, Tally


@dataclass
class Outcome:
    """What a run left."""

    memory: bytearray
    totals: dict[str, int]
    commands: list[int]
    go: list[int]
    done: list[int]


def _run(
    case: Case,
    idle: float = 0.0,
    stall: float = 0.0,
    combines_done: int = 9,
    extra: Callable[[AggregationEngine], list] = lambda dut: [],
) -> Outcome:
    dut = AggregationEngine(case.config)
    memory = bytearray(case.image.before)
    read = {"memory": memory, "idle": idle, "seed": 3}
    commands = Source("i_command", dut.i_command, case.commands)
    go = Strobes("go", dut.go, len(case.commands))
    done = Strobes("done", dut.done, len(case.commands))
    tally = Tally(dut.events)
    rows = case.rows if case.layer.parts == 1 else []
    latency = 4 if stall else 1
    agents = [
        commands,
        Source("i_rows", dut.i_rows, rows, idle, 5),
        ReadServer("edges", dut.o_request_edges, dut.i_edges, **read),
        ReadServer("sources", dut.o_request_sources, dut.i_sources, **read),
        ReadServer("rows", dut.o_request_rows, dut.i_row_beats, **read),
        ReadServer("nodes", dut.o_request_nodes, dut.i_nodes, **read),
        WriteServer(
            "output", dut.o_write_request, dut.o_write, dut.write_done, memory, latency, stall, 7
        ),
        go, done, tally, *extra(dut),
    ]  # fmt: skip
    run(dut, agents, constants={"combines_done": combines_done})
    return Outcome(memory, tally.totals, commands.cycles, go.cycles, done.cycles)


@pytest.mark.parametrize(
    ("name", "idle", "stall"),
    [(name, *grid) for name in ("one part", "parts, last", "parts, odd") for grid in GRID]
    + [(name, *GRID[-1]) for name in LAYERS],
)
def test_memory_and_events_equal_numpy(name, idle, stall):
    case = aggregation_case(name)
    outcome = _run(case, idle, stall)
    assert outcome.memory == case.after, _difference(outcome.memory, case.after)
    assert {key: outcome.totals[key] for key in case.events} == case.events


def _difference(got: bytearray, expected: bytearray) -> str:
    at = next(k for k in range(len(got)) if got[k] != expected[k])
    return f"byte {at:#x}: got {got[at : at + 16].hex()}, expected {expected[at : at + 16].hex()}"


def _predict(case: Case) -> tuple[list[int], list[int], dict[str, int]]:
    """Cycles of go and done of each command, by the rules of the docstrings.

    Every beat comes in the cycle after its request or after the beat before it, so edges and
    node words are always there in time.
    """
    depth = case.config.aggregation.row_fifo_depth
    t, starved, stalled = 0, 0, 0
    gos, dones = [], []
    for command, records, (widths, values) in zip(
        case.commands, case.records, case.outputs, strict=True
    ):
        go = t + 2 + max(command["clear_words"], command["columns"]) + 1
        gos.append(go)
        end, written, ends = go, go + 1 if command["source_memory"] else -1, []
        for r, record in enumerate(records):
            step = command["row_beats"] if command["source_memory"] else 1
            freed = ends[r - depth] + 1 if r >= depth else 0
            written = max(written + step, freed)
            begin = max(end, written)
            starved += begin - end
            end = begin + max(len(record) * command["tiles"], 1)
            ends.append(end)
        done, held = _predict_drain(case, command, end, widths, values)
        dones.append(done)
        stalled += held
        t = dones[-1] + 1
    return gos, dones, {"aggregate_starved": starved, "post_stalled": stalled}


def _predict_drain(
    case: Case, command: dict[str, int], x: int, widths: list[int], values: np.ndarray
) -> tuple[int, int]:
    """Return the cycle of done and the stalled cycles, given the last cycle of scatter."""
    if case.layer.last:
        return x + 6 + values.size - 1 + 2, values.size - len(values) * command["tiles"]
    taken, given, held = x + 8, 0, 0
    for width, row in zip(widths, values, strict=True):
        for start in range(0, command["columns"], 16):
            chunk = row[start : start + 16]
            words = -(-len(chunk) // case.layer.lanes)
            held += max(given - words, 0)
            taken += max(given, words)
            given = (1 + np.count_nonzero(chunk)) * (width > 0)
    return int(taken + given + 1 + 5), int(held)


@pytest.mark.parametrize("name", LAYERS)
def test_cycles_follow_the_stated_rules(name):
    case = aggregation_case(name)
    outcome = _run(case)
    assert outcome.memory == case.after, _difference(outcome.memory, case.after)
    gos, dones, times = _predict(case)
    assert outcome.go == gos
    assert outcome.done == dones
    assert outcome.commands == [0, *(done + 1 for done in dones[:-1])]
    assert {name: outcome.totals[name] for name in times} == times


class Ramp(Strobes):
    """Let the other engine complete its third command in cycle `ready`."""

    def __init__(self, dut: AggregationEngine, ready: int) -> None:
        super().__init__("ramp", dut.done)
        self._port, self._ready = dut.combines_done, ready

    def step(self, ctx, cycle, values) -> bool:
        """Set what is complete in the next cycle."""
        ctx.set(self._port, 3 if cycle + 1 >= self._ready else 2)
        return super().step(ctx, cycle, values)


def test_a_command_waits_for_the_other_engine():
    case = aggregation_case("one part")
    case = replace(case, commands=[case.commands[0] | {"wait": 3}])
    outcome = _run(case, combines_done=2, extra=lambda dut: [Ramp(dut, 200)])
    assert outcome.go == [200]
    assert outcome.totals["aggregate_waiting"] == 200 - _predict(case)[0][0]
    assert outcome.memory == case.after


def test_clearing_takes_its_words_and_no_other():
    """Leave all rows but the first undrained, clear two, do it again: the rest counts twice."""
    case = aggregation_case("one part")
    command, tiles = case.commands[0], case.commands[0]["tiles"]
    first = command | {"rows": 1, "nodes_beats": command["columns"] + 1}
    second = command | {"clear_words": 2 * tiles}
    operands = dict(case.operands[0])
    operands["acc"] = operands["acc"] * np.where(np.arange(case.layer.nodes) < 2, 1, 2)[:, None]
    output = segment(case.layer, case.outputs[0][0], post_process(**operands))
    after = bytearray(case.image.before)
    after[command["out_address"] : command["out_address"] + len(output)] = output
    outcome = _run(replace(case, commands=[first, second], rows=case.rows * 2))
    assert outcome.memory == after, _difference(outcome.memory, after)


@pytest.mark.parametrize("name", ["one part", "one word a row", "parts, odd"])
def test_the_verilog_has_the_ports_of_the_config(name):
    config = aggregation_case(name).config
    text = emit(AggregationEngine(config), "aggregation_engine")
    ports = {port.name: port.width for port in module_ports(text, "aggregation_engine")}
    assert ports["i_command__payload"] == AGGREGATE.width
    assert ports["i_rows__payload"] == config.row_width
    assert ports["i_edges__payload"] == config.memory.axi_data_width
    assert ports["o_write__payload"] == config.memory.axi_data_width + 2
    assert ports["o_request_rows__payload"] == config.memory.axi_addr_width + 32
