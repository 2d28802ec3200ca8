"""Energy and area of the graph engine: counters times actions, by part.

What is not counted: clock tree, sequencer and address counters, the memory's controller and PHY
beyond what its row says. Leakage of the buffers is a figure of its own, never part of the sum.
"""

from collections.abc import Mapping
from math import log2

from hw.gnn.config import Q_WIDTH, GnnConfig
from hw.gnn.counters import READ_STREAMS, WRITE_STREAMS
from models.cost.actions import (
    adder_energy,
    and_energy,
    multiplier_area,
    multiplier_energy,
    register_area,
    register_energy,
    sram_area,
    sram_leakage,
    sram_read_energy,
    sram_write_energy,
)
from models.cost.dram import dram_energy
from models.cost.gnn.events import Traffic
from models.cost.tables import Band

__all__ = ["area", "energy", "leakage_uw"]

MANTISSA_WIDTH = 12
FACTOR_WIDTH = 16
Z_WIDTH = 48


def _array(config: GnnConfig, counters: Mapping[str, int]) -> Band:
    """Return the energy of the bit-serial array.

    An active lane of a plane costs the gating of a 4-bit weight and its adder in the tree, whose
    mean width is 4 + log2(lanes) / 2; every plane costs one accumulation a column.
    """
    c = config.combination
    lane = and_energy(Q_WIDTH)
    if c.lanes > 1:
        tree = adder_energy(1).times((Q_WIDTH + log2(c.lanes) / 2) * (c.lanes - 1) / c.lanes)
        lane = lane.plus(tree)
    accumulate = adder_energy(c.psum_width).plus(register_energy(c.psum_width))
    return lane.times(counters["combine_bit_ops"] * c.cols).plus(
        accumulate.times(counters["combine_planes"] * c.cols)
    )


def _weight_buffer(config: GnnConfig, counters: Mapping[str, int]) -> Band:
    c = config.combination
    bank_bytes = c.weight_buffer_bytes // c.lanes
    reads = sram_read_energy(bank_bytes, c.word_width).times(counters["weight_reads"])
    writes = sram_write_energy(bank_bytes, c.word_width).times(counters["weight_writes"])
    return reads.plus(writes)


def _requantizer(config: GnnConfig, counters: Mapping[str, int]) -> Band:
    p = config.combination.psum_width
    one = multiplier_energy(p, MANTISSA_WIDTH).plus(
        multiplier_energy(p + MANTISSA_WIDTH, MANTISSA_WIDTH)
    )
    return one.times(counters["requantize_words"] * config.combination.cols)


def _psum_buffer(config: GnnConfig, counters: Mapping[str, int]) -> Band:
    a = config.aggregation
    reads = counters["psum_updates"] + counters["psum_drains"]
    writes = reads + counters["psum_clears"]
    return (
        sram_read_energy(a.psum_buffer_bytes, a.word_width)
        .times(reads)
        .plus(sram_write_energy(a.psum_buffer_bytes, a.word_width).times(writes))
    )


def _scatter_add(config: GnnConfig, counters: Mapping[str, int]) -> Band:
    a = config.aggregation
    return adder_energy(a.psum_width).times(counters["psum_updates"] * a.lanes)


def _post_processor(config: GnnConfig, counters: Mapping[str, int]) -> Band:
    a = config.aggregation
    one = (
        multiplier_energy(a.psum_width, MANTISSA_WIDTH)
        .plus(multiplier_energy(a.psum_width + MANTISSA_WIDTH, FACTOR_WIDTH))
        .plus(adder_energy(Z_WIDTH))
        .plus(multiplier_energy(Z_WIDTH, MANTISSA_WIDTH))
    )
    return one.times(counters["psum_drains"] * a.lanes)


def _stream_fifos(config: GnnConfig, counters: Mapping[str, int]) -> Band:
    m = config.memory
    beats = sum(counters[f"read_beats_{name}"] for name in READ_STREAMS)
    beats += sum(counters[f"write_beats_{name}"] for name in WRITE_STREAMS)
    size = m.fifo_depth * m.beat_bytes
    one = sram_write_energy(size, m.axi_data_width).plus(sram_read_energy(size, m.axi_data_width))
    return one.times(beats)


def energy(
    config: GnnConfig, counters: Mapping[str, int], moved: Traffic, dram: str
) -> dict[str, Band]:
    """Return the dynamic energy by part, pJ.

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
    beat_bytes = config.memory.beat_bytes
    outside = Band(0.0, 0.0, 0.0)
    for bursts in [*moved.reads.values(), *moved.writes.values()]:
        outside = outside.plus(dram_energy(dram, bursts, beat_bytes))
    return {
        "array": _array(config, counters),
        "weight_buffer": _weight_buffer(config, counters),
        "requantizer": _requantizer(config, counters),
        "psum_buffer": _psum_buffer(config, counters),
        "scatter_add": _scatter_add(config, counters),
        "post_processor": _post_processor(config, counters),
        "stream_fifos": _stream_fifos(config, counters),
        f"dram_{dram}": outside,
    }


def area(config: GnnConfig) -> dict[str, Band]:
    """Return the area by part, um2, from the PE law and the SRAM row; an estimate, not a layout."""
    c, a, m = config.combination, config.aggregation, config.memory
    streams = len(READ_STREAMS) + len(WRITE_STREAMS)
    requantizer = multiplier_area(c.psum_width, MANTISSA_WIDTH).plus(
        multiplier_area(c.psum_width + MANTISSA_WIDTH, MANTISSA_WIDTH)
    )
    post = (
        multiplier_area(a.psum_width, MANTISSA_WIDTH)
        .plus(multiplier_area(a.psum_width + MANTISSA_WIDTH, FACTOR_WIDTH))
        .plus(multiplier_area(Z_WIDTH, MANTISSA_WIDTH))
    )
    return {
        "array": multiplier_area(1, Q_WIDTH).times(c.lanes * c.cols),
        "psum_rows": register_area(2 * c.columns_max * c.psum_width),
        "weight_buffer": sram_area(c.weight_buffer_bytes // c.lanes).times(c.lanes),
        "requantizer": requantizer.times(c.cols),
        "psum_buffer": sram_area(a.psum_buffer_bytes),
        "post_processor": post.times(a.lanes),
        "stream_fifos": sram_area(m.fifo_depth * m.beat_bytes).times(streams),
    }


def leakage_uw(config: GnnConfig) -> Band:
    """Return the leakage of the buffers at 25 C, uW."""
    return sram_leakage(
        config.combination.weight_buffer_bytes + config.aggregation.psum_buffer_bytes
    )
