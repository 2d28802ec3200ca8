"""The generated drivers on the gates: C++ through the header, and the Python module."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hw.gnn.config import PRESETS
from hw.gnn.driver_sources import python_driver
from hw.gnn.format import ErrorCode
from hw.gnn.lower import lower
from hw.gnn.program import Kind, Program
from models.golden.gnn.execute import Execution, execute
from quant.graph.synthetic import CORNERS, random_gcn
from sim.bench import DeadlockError
from sim.build import SimulationError
from sim.compare import compare
from sim.cosim import make_job, simulate
from sim.engine import build_bench
from sim.memory import IDEAL, MemoryOptions, read_image, write_image
from sim.native import build_native

pytestmark = [pytest.mark.rtl, pytest.mark.slow]

TINY = PRESETS["tiny"]
STALLS = MemoryOptions(stall=0.35, seed=3)
GRAPH = random_gcn(26, corners=CORNERS, widths=(0, 1, 5, 8), seed=1)


def _lowered(parts: int) -> tuple[Program, Execution]:
    program = lower(GRAPH, TINY, "natural", -(-26 // parts))
    return program, execute(program)


@pytest.mark.parametrize("memory", [IDEAL, STALLS], ids=["ideal", "stalls"])
@pytest.mark.parametrize("parts", [1, 3])
def test_header_drives_the_gates_to_the_golden_result(
    parts: int, memory: MemoryOptions, tmp_path: Path
) -> None:
    program, execution = _lowered(parts)
    run = simulate(program, driver="native", memory=memory, run_dir=tmp_path, place=4096 * parts)
    compare(program, execution, run).require_equal()
    assert run.status == {"busy": False, "done": True, "error": False}
    assert run.error == ErrorCode.NONE


def test_native_and_cocotb_see_the_same_run(tmp_path: Path) -> None:
    program, _ = _lowered(1)
    native, cocotb = (
        simulate(program, driver=driver, run_dir=tmp_path / driver)
        for driver in ("native", "cocotb")
    )
    assert native.counters == cocotb.counters
    assert native.commands == cocotb.commands
    assert native.log.totals == cocotb.log.totals
    np.testing.assert_array_equal(native.q_rows, cocotb.q_rows)


def test_header_sees_an_error(tmp_path: Path) -> None:
    program, _ = _lowered(1)
    region = program.region(Kind.WEIGHTS, 1)
    memory = MemoryOptions(error_range=(region.address, region.address + region.size_bytes))
    run = simulate(program, driver="native", memory=memory, run_dir=tmp_path)
    assert run.status == {"busy": False, "done": False, "error": True}
    assert run.error == ErrorCode.READ_ERROR


def test_a_run_that_does_not_end(tmp_path: Path) -> None:
    program, _ = _lowered(1)
    with pytest.raises(DeadlockError, match=r"^no interrupt 300 cycles after the start, busy, "):
        simulate(program, driver="native", run_dir=tmp_path, cycle_limit=300)


def test_native_needs_verilator() -> None:
    program, _ = _lowered(1)
    message = r"^simulator must be verilator where driver is native, not icarus$"
    with pytest.raises(ValueError, match=message):
        simulate(program, driver="native", simulator="icarus")


def test_an_argument_that_is_missing(tmp_path: Path) -> None:
    bench = build_native(TINY, 4096)
    message = (
        r"^the simulator ended without a result: Error: \+cycle_limit=VALUE is missing \(log: .*\)$"
    )
    with pytest.raises(SimulationError, match=message):
        bench.run(tmp_path, tmp_path / "result.json", [])


@pytest.fixture
def python_run(tmp_path: Path) -> Callable[[Program], tuple[list, np.ndarray]]:
    """Return a function that runs a Program through the Python driver, twice."""

    def run(program: Program) -> tuple[list, np.ndarray]:
        files = {name: tmp_path / f"{name}.hex" for name in ("image", "dump")}
        beats = write_image(files["image"], program.image, TINY.memory.beat_bytes)
        job = make_job(program, tmp_path / "result.json", 0)
        job["driver"] = str(tmp_path / "bitwright_gnn.py")
        job["commands"] = {queue: count for queue, (_, count) in job["log"].items()}
        (tmp_path / "bitwright_gnn.py").write_text(python_driver(TINY))
        (tmp_path / "job.json").write_text(json.dumps(job))
        build_bench(TINY, len(program.image)).run(
            "sim.benches.gnn_python_driver",
            tmp_path,
            environment={"BITWRIGHT_JOB": str(tmp_path / "job.json")},
            plusargs=[*(f"+{k}={v}" for k, v in files.items()), f"+image_beats={beats}"],
        )
        memory = read_image(files["dump"], TINY.memory.beat_bytes)[: len(program.image)]
        return json.loads((tmp_path / "result.json").read_text()), memory

    return run


def test_python_driver_drives_the_gates_to_the_golden_result(python_run, tmp_path: Path) -> None:
    program, execution = _lowered(1)
    runs, memory = python_run(program)
    np.testing.assert_array_equal(memory, execution.memory)
    reference = simulate(program, run_dir=tmp_path / "reference")
    for run in runs:
        assert run["status"] == {"busy": False, "done": True, "error": False}
        assert run["error"] == "NONE"
        assert run["counters"] == reference.counters
        for queue, times in reference.commands.items():
            assert run["commands"][queue] == [[t.start, t.go, t.end] for t in times]
        assert run["cleared"] == {"busy": False, "done": False, "error": False}
