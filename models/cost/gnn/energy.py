"""Energy and area of the graph engine: what each priced unit did, by unit.

What is not counted stands in `models.cost`. Leakage of the buffers is a figure of its own, never
part of the sum.
"""

from collections.abc import Mapping

from hw.gnn.config import GnnConfig
from models.cost.actions import sram_leakage
from models.cost.dram import dram_energy
from models.cost.gnn.bit_serial_array import BitSerialArrayCost
from models.cost.gnn.events import Traffic
from models.cost.gnn.post_processor import PostProcessorCost
from models.cost.gnn.psum_buffer import PsumBufferCost
from models.cost.gnn.requantizer import RequantizerCost
from models.cost.gnn.scatter_add import ScatterAddCost
from models.cost.gnn.stream_fifos import StreamFifosCost
from models.cost.tables import Band
from models.cost.unit import UnitCost, total_energy

__all__ = ["area", "energy", "leakage_uw", "priced_units"]


def priced_units(config: GnnConfig) -> dict[str, UnitCost]:
    """Return the cost of every unit that has a price, by its name."""
    return {
        "bit_serial_array": BitSerialArrayCost(config),
        "requantizer": RequantizerCost(config),
        "psum_buffer": PsumBufferCost(config),
        "scatter_add": ScatterAddCost(config),
        "post_processor": PostProcessorCost(config),
        "stream_fifos": StreamFifosCost(config),
    }


def energy(
    config: GnnConfig, counters: Mapping[str, int], moved: Traffic, dram: str
) -> dict[str, Band]:
    """Return the dynamic energy by unit, and of the memory outside, pJ.

    Parameters
    ----------
    config : GnnConfig
    counters : mapping
        Event counters of a run, from the model or from the gates.
    moved : Traffic
        Bursts of every stream, for the memory's energy.
    dram : str
        Name of the memory, one of `models.cost.dram.DRAMS`.
    """
    outside = Band(0.0, 0.0, 0.0)
    for bursts in [*moved.reads.values(), *moved.writes.values()]:
        outside = outside.plus(dram_energy(dram, bursts, config.memory.beat_bytes))
    inside = {
        name: total_energy(unit.actions(counters)) for name, unit in priced_units(config).items()
    }
    return {**inside, f"dram_{dram}": outside}


def area(config: GnnConfig) -> dict[str, Band]:
    """Return the area by unit, um2, from the PE law and the SRAM row; an estimate, not a layout."""
    return {name: unit.area() for name, unit in priced_units(config).items()}


def leakage_uw(config: GnnConfig) -> Band:
    """Return the leakage of the buffers at 25 C, uW."""
    return sram_leakage(
        config.combination.weight_buffer_bytes + config.aggregation.psum_buffer_bytes
    )
