"""Bursts and DRAM energy by hand."""

import re

import numpy as np
import pytest

from models.cost.bursts import Bursts, split_bursts
from models.cost.dram import DRAMS, bit_energy, dram_energy
from models.cost.tables import TableError


def test_requests_are_cut_at_length_page_and_end():
    # 3 beats to the page, then 2; nothing; 16, 16 and the rest of 33 beats.
    bursts = split_bursts([(8192 - 24, 5), (0, 0), (0, 33)], 8, 16)
    assert bursts.lengths.tolist() == [3, 2, 16, 16, 1]
    assert (bursts.bursts, bursts.beats) == (5, 38)


def test_wide_beats_reach_the_page_sooner():
    assert split_bursts([(4096 - 256, 20)], 128, 16).lengths.tolist() == [2, 16, 2]


def test_no_request_gives_no_burst():
    bursts = split_bursts([], 8, 16)
    assert (bursts.bursts, bursts.beats, bursts.padded_bytes(8, 64)) == (0, 0, 0)


def test_bursts_are_padded_to_the_memory():
    # 24, 64 and 72 bytes in bursts of 64: 64 + 64 + 128
    assert Bursts(np.array([3, 8, 9])).padded_bytes(8, 64) == 256


def test_joined_bursts_keep_their_lengths():
    joined = Bursts.join([Bursts(np.array([1, 2])), Bursts(np.array([3]))])
    assert joined.lengths.tolist() == [1, 2, 3]


def test_hbm2_by_hand():
    # Two bursts of 8 x 8 bytes: 1024 bits x 3.48 pJ + 2 activations of 909 pJ.
    energy = dram_energy("hbm2", Bursts(np.array([8, 8])), 8)
    assert energy.nominal == pytest.approx(1024 * 3.48 + 2 * 909)
    assert energy.low == pytest.approx(1024 * 1.57 + 2 * 828)
    assert energy.high == pytest.approx(1024 * 13.1 + 2 * 909)
    # The closed form of one burst of 64 bytes an activation: 3.48 + 909 / (8 * 64) = 5.26 pJ/bit.
    assert bit_energy("hbm2", Bursts(np.array([8])), 8).nominal == pytest.approx(5.2554, rel=1e-4)


def test_useful_bits_pay_for_the_padding():
    # One beat of 8 bytes in a burst of 64: eight times the energy of its bits.
    assert bit_energy("hbm1", Bursts(np.array([1])), 8).nominal == pytest.approx(8 * 7.0)
    assert bit_energy("lpddr4", Bursts(np.array([16])), 8).nominal == pytest.approx(8.0)


def test_ddr4_with_one_burst_an_activation():
    # DRAMsim3: 12.5 pJ/bit.
    assert bit_energy("ddr4", Bursts(np.array([8])), 8).nominal == pytest.approx(12.5, rel=0.01)


@pytest.mark.parametrize("name", DRAMS)
def test_columns_are_ordered(name: str):
    energy = dram_energy(name, Bursts(np.array([16, 3])), 8)
    assert 0 < energy.low <= energy.nominal <= energy.high


def test_an_unknown_memory_is_an_error():
    message = "memory must be one of hbm2, hbm1, ddr4, lpddr4, not 'sdram'"
    with pytest.raises(TableError, match=f"^{re.escape(message)}$"):
        dram_energy("sdram", Bursts(np.array([1])), 8)


def test_energy_per_bit_needs_bits():
    message = "no beats were moved, so energy per bit is not defined"
    with pytest.raises(ValueError, match=f"^{message}$"):
        bit_energy("hbm2", Bursts(np.array([], np.int64)), 8)
