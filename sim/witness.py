"""The three-way comparison of one run: gates, golden model and cost model, as JSON.

Units stand in the names of the fields; cycles count from the start of the run.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from sim.provenance import Provenance

__all__ = [
    "Accuracy",
    "CheckRow",
    "CommandRow",
    "CounterRow",
    "EnergyRow",
    "PhaseRow",
    "WitnessReport",
]

SCHEMA_VERSION = 1

TIME_GATE_PERCENT = 2.0
"""Largest signed error of cycles on ideal memory (contract, section 5)."""


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CheckRow(_Row):
    """Values that gates and golden model both have: how many, and how many differ."""

    name: str
    compared: int
    different: int


class CounterRow(_Row):
    """One counter, as the gates counted and as the cost model predicts."""

    name: str
    is_time: bool
    simulated: int
    predicted: int

    @property
    def difference(self) -> int:
        """Predicted minus simulated."""
        return self.predicted - self.simulated


class CommandRow(_Row):
    """One command of either engine: taken, released and completed, simulated and predicted."""

    engine: Literal["combine", "aggregate"]
    layer: int
    part: int
    simulated_cycles: tuple[int, int, int]
    predicted_cycles: tuple[int, int, int]

    @property
    def error_percent(self) -> float:
        """Signed error of the time from release to completion."""
        simulated = self.simulated_cycles[2] - self.simulated_cycles[1]
        predicted = self.predicted_cycles[2] - self.predicted_cycles[1]
        return 100 * (predicted - simulated) / max(simulated, 1)


class PhaseRow(_Row):
    """Cycles of one layer on one engine, from release to completion, all parts together."""

    layer: int
    engine: Literal["combine", "aggregate"]
    simulated: int
    predicted: int

    @property
    def error_percent(self) -> float:
        """Signed error of the prediction."""
        return 100 * (self.predicted - self.simulated) / max(self.simulated, 1)


class EnergyRow(_Row):
    """Energy of one part of the engine, or of the memory outside."""

    part: str
    low_pj: float
    nominal_pj: float
    high_pj: float


class Accuracy(_Row):
    """Share of a split's nodes whose predicted class is the label."""

    split: str
    nodes: int
    rtl: float
    golden: float


class WitnessReport(_Row):
    """Everything that one run showed.

    Parameters
    ----------
    schema_name, schema_version
        ``bitwright-witness`` and the version of these fields.
    engine : str
    config : dict
        The resolved config, and its hash.
    graph : dict
        Name, hash, and sizes of the network and of its graph.
    data_tier : str
        ``built-in``, ``folder``, ``download``, or ``unknown``.
    provenance : Provenance
    simulator : str
    memory : dict
        Settings of the behavioural memory, the seed of its stalls among them.
    parts : int
    checks : tuple of CheckRow
    divergence : str, optional
        The first value that differs.
    cycles_simulated, cycles_predicted : int
    time_is_gated : bool
        Whether the memory was ideal, so that the error of time is bound by the gate.
    counters, commands, energy, accuracy
        Tables.
    width_histogram : list of dict
        Per layer: nodes by magnitude width.
    seconds : dict of str to float, s
        Wall time of each step.
    cycles_per_second : float
    """

    schema_name: Literal["bitwright-witness"] = "bitwright-witness"
    schema_version: int = SCHEMA_VERSION
    engine: str
    config: dict
    config_hash: str
    graph: dict[str, str | int]
    data_tier: str
    provenance: Provenance
    simulator: str
    memory: dict
    parts: int
    checks: tuple[CheckRow, ...]
    divergence: str | None
    cycles_simulated: int
    cycles_predicted: int
    time_is_gated: bool
    counters: tuple[CounterRow, ...]
    commands: tuple[CommandRow, ...]
    energy: tuple[EnergyRow, ...]
    dram: str
    accuracy: tuple[Accuracy, ...]
    width_histogram: tuple[dict[int, int], ...]
    seconds: dict[str, float]
    cycles_per_second: float

    @property
    def outputs_equal(self) -> bool:
        """Whether gates and golden model agree in everything that was compared."""
        return not any(check.different for check in self.checks)

    @property
    def events_equal(self) -> bool:
        """Whether every event counter equals the cost model's."""
        return not any(c.difference for c in self.counters if not c.is_time)

    @property
    def time_error_percent(self) -> float:
        """Signed error of the predicted cycles of the whole run."""
        return 100 * (self.cycles_predicted - self.cycles_simulated) / self.cycles_simulated

    @property
    def phases(self) -> tuple[PhaseRow, ...]:
        """Cycles by layer and engine, in the order of execution."""
        sums: dict[tuple[int, bool], list[int]] = {}
        for row in self.commands:
            total = sums.setdefault((row.layer, row.engine == "aggregate"), [0, 0])
            for index, (_, go, end) in enumerate((row.simulated_cycles, row.predicted_cycles)):
                total[index] += end - go
        return tuple(
            PhaseRow(
                layer=layer,
                engine="aggregate" if aggregate else "combine",
                simulated=simulated,
                predicted=predicted,
            )
            for (layer, aggregate), (simulated, predicted) in sorted(sums.items())
        )

    @property
    def phase_mape_percent(self) -> float:
        """Mean of the absolute errors of all phases."""
        return sum(abs(phase.error_percent) for phase in self.phases) / len(self.phases)

    @property
    def worst_phase(self) -> PhaseRow:
        """The phase with the largest absolute error."""
        return max(self.phases, key=lambda phase: abs(phase.error_percent))

    @property
    def in_time(self) -> bool:
        """Whether the whole run and every phase are within the gate."""
        errors = (self.time_error_percent, self.worst_phase.error_percent)
        return max(map(abs, errors)) <= TIME_GATE_PERCENT

    @property
    def passed(self) -> bool:
        """Whether the three witnesses agree, time within its gate where it is gated."""
        in_time = self.in_time or not self.time_is_gated
        return self.outputs_equal and self.events_equal and in_time
