"""The graph engine's three witnesses on one network: lower, execute, predict, simulate, compare."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hw.gnn.config import GnnConfig
from hw.gnn.counters import COUNTERS
from hw.gnn.lower import lower
from hw.gnn.partition import PartitionMode
from hw.gnn.program import Kind, Program
from models.cost.gnn.estimate import Estimate, estimate
from models.cost.gnn.memory import IdealMemory
from models.golden.gnn.execute import Execution, execute
from quant.graph.model import BitGraph
from quant.graph.patterns import layers
from sim.compare import Comparison, compare
from sim.cosim import Driver, Run, simulate
from sim.engine import Simulator
from sim.memory import IDEAL, MemoryOptions
from sim.provenance import provenance
from sim.waves import write_window
from sim.witness import (
    Accuracy,
    CheckRow,
    CommandRow,
    CounterRow,
    EnergyRow,
    WitnessReport,
)

__all__ = ["rtl_predictions", "sim"]

_SPLITS = ("train", "val", "test")


def sim(
    graph: BitGraph,
    config: GnnConfig,
    *,
    simulator: Simulator = "verilator",
    driver: Driver = "cocotb",
    memory: MemoryOptions = IDEAL,
    partition: PartitionMode = "auto",
    part_rows: int | None = None,
    run_dir: Path | None = None,
    waves: Path | None = None,
    progress: Callable[[str], None] = lambda step: None,
) -> WitnessReport:
    """Run `graph` on the gates of `config` and hold them against golden and cost model.

    Parameters
    ----------
    graph : BitGraph
        With its features and edges inside; labels and splits are used where it has them.
    config : GnnConfig
    simulator : str
        ``"verilator"`` or ``"icarus"``.
    driver : str
        ``"cocotb"`` or ``"native"``, see `sim.cosim.simulate`.
    memory : MemoryOptions
        Time is bound by the gate on ideal memory only.
    partition, part_rows
        See `hw.gnn.lower.lower`.
    run_dir : Path, optional
        Where the simulator's files go.
    waves : Path, optional
        Folder for ``window.vcd``, a waveform from a second run: around the first divergence, or
        where nothing differs the end of the run.
    progress : function
        Called with the name of each step as it begins.

    Returns
    -------
    WitnessReport
        Also where something differs; ask its `passed`.
    """
    seconds: dict[str, float] = {}

    @contextmanager
    def step(name: str, note: str = "") -> Iterator[None]:
        progress(name + note)
        begin = time.perf_counter()
        yield
        seconds[name] = round(time.perf_counter() - begin, 3)

    with step("lower"):
        program = lower(graph, config, partition, part_rows)
    with step("golden"):
        execution = execute(program)
    with step("cost"):
        predicted = estimate(
            program, execution.inputs, IdealMemory(memory.read_latency, memory.write_latency)
        )
    with step("simulate", ": the first run of a config builds its simulator, which takes minutes"):
        run = simulate(program, simulator=simulator, driver=driver, memory=memory, run_dir=run_dir)
    with step("compare"):
        comparison = compare(program, execution, run)
    if waves is not None:
        with step("waves"):
            cycle = comparison.divergence.cycle if comparison.divergence else None
            write_window(program, run.edges if cycle is None else cycle, waves, memory=memory)
    seconds |= {"build": round(run.build_seconds, 3), "simulate": round(run.run_seconds, 3)}
    return _report(graph, program, execution, predicted, run, comparison, seconds)


def rtl_predictions(program: Program, memory: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the class of each node, in the BitGraph's order, from the logits in memory."""
    columns = program.layers[-1].columns
    logits = np.concatenate(
        [
            memory[region.address :][: 8 * columns * (end - begin)].view("<i8")
            for part, (begin, end) in enumerate(program.parts)
            for region in [program.region(Kind.LOGITS, len(program.layers) - 1, part)]
        ]
    )
    classes = np.empty(program.rows, np.int64)
    classes[program.node_order] = logits.reshape(-1, columns).argmax(axis=1)
    return classes


def _report(
    graph: BitGraph,
    program: Program,
    execution: Execution,
    predicted: Estimate,
    run: Run,
    comparison: Comparison,
    seconds: dict[str, float],
) -> WitnessReport:
    config = program.config
    return WitnessReport(
        engine="gnn",
        config=config.model_dump(),
        config_hash=f"{config.hash:08x}",
        graph=_graph_facts(graph),
        data_tier=graph.metadata.get("tier", "unknown"),
        provenance=provenance(),
        simulator=run.simulator,
        memory=asdict(run.options),
        parts=len(program.parts),
        checks=tuple(CheckRow(**asdict(check)) for check in comparison.checks),
        divergence=str(comparison.divergence) if comparison.divergence else None,
        cycles_simulated=run.counters["cycles"],
        cycles_predicted=predicted.counters["cycles"],
        time_is_gated=run.options.ideal,
        counters=tuple(
            CounterRow(
                name=counter.name,
                is_time=counter.is_time,
                simulated=run.counters[counter.name],
                predicted=predicted.counters[counter.name],
            )
            for counter in COUNTERS
        ),
        commands=_command_rows(run, predicted),
        energy=tuple(
            EnergyRow(part=part, low_pj=band.low, nominal_pj=band.nominal, high_pj=band.high)
            for part, band in predicted.energy_pj.items()
        ),
        dram=f"{predicted.dram} at {predicted.dram_pj_per_bit.nominal:.2f} pJ/bit",
        accuracy=_accuracy(graph, program, execution, run),
        width_histogram=tuple(
            dict(zip(*(a.tolist() for a in np.unique(width, return_counts=True)), strict=True))
            for width in execution.widths
        ),
        seconds=seconds,
        cycles_per_second=round(run.cycles_per_second),
    )


def _graph_facts(graph: BitGraph) -> dict[str, str | int]:
    network = layers(graph)
    first = network[0]
    return {
        "name": graph.name,
        "hash": graph.hash,
        "nodes": len(first.magnitude_width),
        "edges": first.edge_index.shape[1],
        "features": first.weight_codes.shape[0],
        "classes": network[-1].weight_codes.shape[1],
        "layers": len(network),
    }


def _command_rows(run: Run, predicted: Estimate) -> tuple[CommandRow, ...]:
    """Pair the command log with the cost model's; the log is shorter than a long queue."""
    rows = []
    for engine in ("combine", "aggregate"):
        modelled = [command for command in predicted.commands if command.queue == engine]
        rows += [
            CommandRow(
                engine=engine,
                layer=model.layer,
                part=model.part,
                simulated_cycles=(times.start, times.go, times.end),
                predicted_cycles=(model.start, model.go, model.end),
            )
            for times, model in zip(run.commands[engine], modelled, strict=False)
        ]
    return tuple(rows)


def _accuracy(
    graph: BitGraph, program: Program, execution: Execution, run: Run
) -> tuple[Accuracy, ...]:
    """Return the accuracy of each split that travels inside the graph."""
    present = {tensor.name: tensor.data for tensor in graph.tensors if tensor.data is not None}
    if "labels" not in present:
        return ()
    labels = np.asarray(present["labels"])
    classes = rtl_predictions(program, run.memory)
    rows = []
    for split in _SPLITS:
        index = present.get(f"{split}_idx")
        if index is None or not len(index):
            continue
        rtl, golden = (
            float((c[index] == labels[index]).mean()) for c in (classes, execution.predictions)
        )
        rows.append(Accuracy(split=split, nodes=len(index), rtl=rtl, golden=golden))
    return tuple(rows)
