"""Energy per action and area against hand calculations at the published points."""

import re

import pytest

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

# BitFusion synthesis (ISCA 2018), fixed PEs at 45 nm: pJ a cycle and um2, and at 28 nm x 0.53 and
# x 0.38. The law is a fit to these points: at most 2.2 % off in energy, 3.7 % in area.
PES = [(2, 0.0575, 124.9), (4, 0.120, 282.2), (8, 0.298, 687.6), (16, 0.947, 2203.0)]


@pytest.mark.parametrize(("width", "energy_pj", "area_um2"), PES)
def test_multiplier_law_meets_the_synthesis(width: int, energy_pj: float, area_um2: float):
    assert multiplier_energy(width, width).nominal == pytest.approx(0.53 * energy_pj, rel=0.023)
    assert multiplier_area(width, width).nominal == pytest.approx(0.38 * area_um2, rel=0.038)


def test_multiplier_by_hand():
    # (0.00273 * 32 + 0.006905 * 12 + 0.01924) * 0.53 = 0.18946 * 0.53 = 0.1004138 pJ
    energy = multiplier_energy(4, 8)
    assert energy.nominal == pytest.approx(0.1004138)
    assert (energy.low, energy.high) == pytest.approx((0.7 * 0.1004138, 2 * 0.1004138))
    # (5.984 * 32 + 19.01 * 12 + 25.88) * 0.38 = 445.488 * 0.38 = 169.28544 um2
    area = multiplier_area(4, 8)
    assert area.nominal == pytest.approx(169.28544)
    assert (area.low, area.high) == pytest.approx((0.8 * 169.28544, 1.5 * 169.28544))


def test_adders_gates_and_registers_by_hand():
    assert tuple(adder_energy(16)) == pytest.approx((0.0256, 0.048, 0.0944))
    assert tuple(and_energy(4)) == pytest.approx((0.00084, 0.0016, 0.00292))
    assert tuple(register_energy(10)) == pytest.approx((0.0107, 0.02, 0.039))
    assert tuple(register_area(10)) == pytest.approx((16, 16, 42.5))


def test_sram_at_the_reference_point():
    # 64 KB x 64 b: each law is its E0 there.
    assert tuple(sram_read_energy(64 * 1024, 64)) == pytest.approx((4.411, 9.295, 14.2))
    assert tuple(sram_write_energy(64 * 1024, 64)) == pytest.approx((3.44, 8.25, 14.2))


def test_sram_scales_with_size_and_width():
    # 16 KB x 256 b: 9.295 * (1/4)^0.564 * 4^0.529 = 9.295 * 4^-0.035 = 9.295 * 0.952638
    assert sram_read_energy(16 * 1024, 256).nominal == pytest.approx(8.85477, rel=1e-4)
    # write: 8.25 * 4^(0.783 - 0.456) = 8.25 * 4^0.327 = 8.25 * 1.573506
    assert sram_write_energy(16 * 1024, 256).nominal == pytest.approx(12.98142, rel=1e-4)


# CACTI 7.0 at 28 nm, LSTP, read, pJ: KB, bits. The fit is 10.8 % off on average, 34 % at most.
CACTI = [(8, 64, 2.58), (16, 64, 4.4), (64, 64, 9.5), (256, 64, 19.8), (64, 256, 22.6)]


@pytest.mark.parametrize(("kilobytes", "width", "energy_pj"), CACTI)
def test_sram_fit_meets_cacti(kilobytes: int, width: int, energy_pj: float):
    assert sram_read_energy(kilobytes * 1024, width).nominal == pytest.approx(energy_pj, rel=0.34)


@pytest.mark.parametrize("size_bytes", [512, 2048, 1 << 15, 1 << 20])
@pytest.mark.parametrize("width", [8, 16, 64, 512])
def test_bands_of_memories_are_ordered(size_bytes: int, width: int):
    for energy in (sram_read_energy(size_bytes, width), sram_write_energy(size_bytes, width)):
        assert 0 < energy.low <= energy.nominal <= energy.high


def test_small_memories_are_flip_flops():
    assert sram_read_energy(511, 32) == register_energy(32)
    assert sram_write_energy(511, 32) == register_energy(32)
    assert sram_area(511) == register_area(8 * 511)
    assert sram_read_energy(512, 32) != register_energy(32)


def test_area_and_leakage_by_hand():
    assert tuple(sram_area(1024)) == pytest.approx((0.15 * 8192, 0.17 * 8192, 0.19 * 8192))
    assert tuple(sram_leakage(2048)) == pytest.approx((0.3, 50, 330))


@pytest.mark.parametrize(("size_bytes", "width"), [(0, 8), (1024, 0)])
def test_an_empty_memory_is_refused(size_bytes: int, width: int):
    message = f"a memory must have bytes and width, not {size_bytes} and {width}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        sram_read_energy(size_bytes, width)
