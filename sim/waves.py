"""A short waveform around one cycle of a run, from a second run on a bench that can trace."""

from pathlib import Path

from hw.gnn.program import Program
from sim.cosim import launch
from sim.engine import build_bench
from sim.memory import IDEAL, MemoryOptions

__all__ = ["write_window"]

BEFORE_CYCLES = 40
AFTER_CYCLES = 10


def write_window(
    program: Program, cycle: int, folder: Path, *, memory: MemoryOptions = IDEAL
) -> Path:
    """Write ``window.vcd``: all signals from 40 cycles before `cycle` to about 10 after it.

    Parameters
    ----------
    program : Program
        What is run again; the same seed of the memory gives the same cycles.
    cycle : int
        As in `sim.divergence.Divergence.cycle`: clock edges from power-up.
    folder : Path
        Where the files go.
    memory : MemoryOptions
    """
    folder = folder.resolve()
    path = folder / "window.vcd"
    bench = build_bench(program.config, len(program.image), trace=True)
    plusargs = [f"+trace_file={path}", f"+trace_from={max(0, cycle - BEFORE_CYCLES)}"]
    launch(bench, program, memory, folder, cycle + AFTER_CYCLES, plusargs, read_back=False)
    return path
