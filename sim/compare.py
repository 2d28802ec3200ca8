"""Compares one run of the gates with the golden model, value by value."""

from dataclasses import dataclass

import numpy as np

from hw.gnn.program import Program, Region
from models.golden.gnn.execute import Execution
from sim.cosim import MismatchError, Run
from sim.divergence import Divergence, locate, on_chip_divergence

__all__ = ["Check", "Comparison", "compare"]

_TOTALS = {
    "read_bursts": "read_bursts",
    "read_beats": "read_beats_",
    "write_bursts": "write_bursts",
    "write_beats": "write_beats_",
}
"""What the memory counts, and the counters of the engine that must sum to it."""


@dataclass(frozen=True)
class Check:
    """One group of values: its name, how many were compared and how many differ."""

    name: str
    compared: int
    different: int


@dataclass(frozen=True)
class Comparison:
    """All checks of one run, and the first divergence if there is one."""

    checks: tuple[Check, ...]
    divergence: Divergence | None

    @property
    def equal(self) -> bool:
        """Whether nothing differs."""
        return not any(check.different for check in self.checks)

    def require_equal(self) -> None:
        """Do nothing if all is equal.

        Raises
        ------
        MismatchError
            With the first divergence, or else the checks that failed.
        """
        if self.divergence is not None:
            raise MismatchError(str(self.divergence))
        failed = [check for check in self.checks if check.different]
        if failed:
            raise MismatchError(
                "; ".join(f"{c.name}: {c.different} of {c.compared} differ" for c in failed)
            )


def compare(program: Program, execution: Execution, run: Run) -> Comparison:
    """Compare every output byte, every row handed over on chip, and the AXI totals.

    Parameters
    ----------
    program : Program
    execution : Execution
        From the golden model.
    run : Run
        From the gates.
    """
    regions = program.outputs()
    checks = [_region_check(execution, run, region) for region in regions]
    checks.append(_rest_check(program, execution, run))
    found = [locate(program, execution, run.memory, r, run.log.cycle_of) for r in regions]
    if program.one_part:
        checks.append(_rows_check(execution, run))
        found.append(on_chip_divergence(program, execution, run.q_rows, run.row_cycle))
    checks += _bus_checks(run)
    divergences = [divergence for divergence in found if divergence is not None]
    # A value that was never written has no time, and comes after all that have one.
    divergences.sort(key=lambda d: (d.cycle is None, d.cycle or 0))
    return Comparison(tuple(checks), divergences[0] if divergences else None)


def _region_check(execution: Execution, run: Run, region: Region) -> Check:
    span = slice(region.address, region.address + region.size_bytes)
    part = f", part {region.part}" if region.part >= 0 else ""
    name = f"layer {region.layer}{part}: {region.kind.value} in memory, bytes"
    different = int((run.memory[span] != execution.memory[span]).sum())
    return Check(name, region.size_bytes, different)


def _rest_check(program: Program, execution: Execution, run: Run) -> Check:
    """Everything that the engine must leave alone."""
    kept = np.ones(len(program.image), bool)
    for region in program.outputs():
        kept[region.address : region.address + region.size_bytes] = False
    different = (run.memory != execution.memory) & kept
    return Check("memory that is only read, bytes", int(kept.sum()), int(different.sum()))


def _rows_check(execution: Execution, run: Run) -> Check:
    """Rows that combination hands to aggregation, in order; a missing one counts as different."""
    expected = [row for q in execution.q for row in q]
    same = sum(
        bool((got[: len(row)] == row).all() and not got[len(row) :].any())
        for row, got in zip(expected, run.q_rows, strict=False)
    )
    total = max(len(expected), len(run.q_rows))
    return Check("q rows handed over on chip", total, total - same)


def _bus_checks(run: Run) -> list[Check]:
    """AXI rules, and the engine's counters against what the memory counted."""
    bursts = run.log.totals["read_bursts"] + run.log.totals["write_bursts"]
    checks = [Check("AXI bursts by the rules", bursts, len(run.log.violations))]
    for total, prefix in _TOTALS.items():
        counted = sum(v for name, v in run.counters.items() if name.startswith(prefix))
        difference = abs(counted - run.log.totals[total])
        checks.append(Check(f"{total} by counter and by memory", counted, difference))
    return checks
