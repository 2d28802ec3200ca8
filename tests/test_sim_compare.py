"""The comparison sees every kind of difference; the runs here are made up, without gates."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hw.gnn.config import PRESETS
from hw.gnn.counters import COUNTERS
from hw.gnn.lower import lower
from hw.gnn.program import Program
from hw.gnn.registers import REGISTERS
from models.golden.gnn.execute import Execution, execute
from quant.graph.synthetic import random_gcn
from sim.build import SimulationError
from sim.compare import compare
from sim.cosim import MismatchError, Run, simulate
from sim.memory import IDEAL, MemoryLog


@pytest.fixture(scope="module")
def lowered() -> tuple[Program, Execution]:
    program = lower(random_gcn(12, hidden=9, classes=3, seed=21), PRESETS["tiny"])
    return program, execute(program)


@pytest.fixture
def run(lowered: tuple[Program, Execution]) -> Run:
    """Return a run that did what the golden model says, with ten beats each way."""
    program, execution = lowered
    rows = np.zeros((24, 32), np.int8)
    rows[:12, :9], rows[12:, :3] = execution.q
    counters = {counter.name: 0 for counter in COUNTERS}
    counters |= {"cycles": 900, "read_bursts": 2, "write_bursts": 1, "read_beats_edges": 4}
    counters |= {"read_beats_features": 6, "write_beats_outputs": 10}
    totals = {"read_bursts": 2, "read_beats": 10, "write_bursts": 1, "write_beats": 10}
    none = np.zeros(0, np.int64)
    no_data = np.zeros((0, 8), np.uint8)
    log = MemoryLog(none, none, no_data, no_data.astype(bool), (), totals)
    return Run(
        simulator="none",
        options=IDEAL,
        folder=Path(),
        status={"busy": False, "done": True, "error": False},
        error=0,
        counters=counters,
        commands={},
        row_cycle=np.arange(24),
        q_rows=rows,
        memory=execution.memory.copy(),
        log=log,
        edges=900,
        build_seconds=0.0,
        run_seconds=1.0,
    )


def test_equal(lowered: tuple[Program, Execution], run: Run) -> None:
    comparison = compare(*lowered, run)
    comparison.require_equal()
    assert comparison.equal
    assert comparison.divergence is None


def _spoil_input(run: Run) -> Run:
    run.memory[140] ^= 1  # a command: nothing that the engine may write
    return run


def _violate(run: Run) -> Run:
    return replace(run, log=replace(run.log, violations=((77, "WVALID withdrawn"),)))


def _count(name: str) -> Callable[[Run], Run]:
    return lambda run: replace(run, counters=run.counters | {name: run.counters[name] + 1})


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_spoil_input, r"memory that is only read, bytes: 1 of \d+ differ"),
        (_violate, "AXI bursts by the rules: 1 of 3 differ"),
        (_count("read_beats_edges"), "read_beats by counter and by memory: 1 of 11 differ"),
        (_count("write_bursts"), "write_bursts by counter and by memory: 1 of 2 differ"),
    ],
)
def test_difference_without_a_value(
    lowered: tuple[Program, Execution], run: Run, spoil: Callable[[Run], Run], message: str
) -> None:
    comparison = compare(*lowered, spoil(run))
    assert not comparison.equal
    with pytest.raises(MismatchError, match=rf"\A{message}\Z"):
        comparison.require_equal()


def test_row_on_chip_comes_before_what_follows_from_it(
    lowered: tuple[Program, Execution], run: Run
) -> None:
    """A wrong row makes wrong logits later; the report names the row."""
    program, _ = lowered
    region = program.outputs()[-1]
    run.memory[region.address] ^= 1
    rows = run.q_rows.copy()
    rows[13, 2] = 7 if rows[13, 2] != 7 else -7
    found = compare(*lowered, replace(run, q_rows=rows)).divergence
    assert found is not None
    assert (found.layer, found.element.row, found.element.column, found.cycle) == (1, 1, 2, 13)


def test_missing_row(lowered: tuple[Program, Execution], run: Run) -> None:
    short = replace(run, q_rows=run.q_rows[:-1], row_cycle=run.row_cycle[:-1])
    comparison = compare(*lowered, short)
    assert [c.different for c in comparison.checks if "on chip" in c.name] == [1]
    assert comparison.divergence is not None


@pytest.mark.rtl
def test_bench_refuses_another_engine_and_an_unmapped_register(
    lowered: tuple[Program, Execution], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("sim.cosim.ID_VALUE", 0x12345678)
        message = "ID reads 0x4e475742, not 0x12345678"
        with pytest.raises(SimulationError, match=message):
            simulate(lowered[0], simulator="icarus", run_dir=tmp_path)
    moved = tuple(replace(r, address=0xFFC) if r.name == "VERSION" else r for r in REGISTERS)
    monkeypatch.setattr("sim.cosim.REGISTERS", moved)
    with pytest.raises(SimulationError, match="read of address 0xffc answered 2, not OKAY"):
        simulate(lowered[0], simulator="icarus", run_dir=tmp_path)
