"""What a run of a graph Program costs, predicted without simulating it."""

from collections.abc import Sequence
from dataclasses import dataclass

from hw.gnn.program import Program
from models.cost.bursts import Bursts
from models.cost.dram import Dram, bit_energy
from models.cost.gnn.commands import read_commands
from models.cost.gnn.energy import area, energy, leakage_uw
from models.cost.gnn.events import count_events, traffic
from models.cost.gnn.memory import IdealMemory
from models.cost.gnn.statistics import Pattern, layer_statistics
from models.cost.gnn.timing import CommandTime, Timing, predict
from models.cost.tables import Band

__all__ = ["Estimate", "estimate"]


@dataclass(frozen=True)
class Estimate:
    """Prediction of one run.

    Parameters
    ----------
    counters : dict of str to int
        Every counter of `hw.gnn.counters.COUNTERS`; event counters exact, times predicted.
    commands : tuple of CommandTime
        Start, go and end of each command, combination queue first.
    bursts : dict of str to int
        AXI bursts of each stream of `hw.gnn.counters`.
    energy_pj : dict of str to Band, pJ
        Dynamic energy by part.
    leakage_uw : Band, uW
        Leakage of the buffers, apart from the energy.
    area_um2 : dict of str to Band, um2
    dram : str
        The memory priced, and
    dram_pj_per_bit : Band, pJ/bit
        what one useful bit cost in it.
    """

    counters: dict[str, int]
    commands: tuple[CommandTime, ...]
    bursts: dict[str, int]
    energy_pj: dict[str, Band]
    leakage_uw: Band
    area_um2: dict[str, Band]
    dram: Dram
    dram_pj_per_bit: Band


def estimate(
    program: Program,
    inputs: Sequence[Pattern],
    memory: IdealMemory | None = None,
    dram: Dram = "hbm2",
) -> Estimate:
    """Return the predicted cost of `program`.

    Parameters
    ----------
    program : Program
    inputs : sequence of Pattern
        Widths and value positions of each layer's input; the hidden layers' come from the golden
        model's execution, since zeros are skipped.
    memory : IdealMemory
        Latencies of the memory for which time is predicted.
    dram : {"hbm2", "hbm1", "ddr4", "lpddr4"}
        Memory for which energy is priced.
    """
    config = program.config
    statistics = [layer_statistics(pattern, config.combination.lanes) for pattern in inputs]
    counters = count_events(program, statistics)
    moved = traffic(program, read_commands(program), statistics)
    timing: Timing = predict(program, inputs, memory or IdealMemory())
    every = Bursts.join([*moved.reads.values(), *moved.writes.values()])
    return Estimate(
        counters={**timing.counters, **counters},
        commands=timing.commands,
        bursts={name: b.bursts for name, b in {**moved.reads, **moved.writes}.items()},
        energy_pj=energy(config, counters, moved, dram),
        leakage_uw=leakage_uw(config),
        area_um2=area(config),
        dram=dram,
        dram_pj_per_bit=bit_energy(dram, every, config.memory.beat_bytes),
    )
