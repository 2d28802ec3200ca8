"""What a sweep says when gates and NumPy differ, and that its rows cover what they promise."""

import numpy as np
import pytest

from hw.gnn.config import CombinationConfig, GnnConfig
from sim import dot_products
from sim.cosim import MismatchError
from sim.sweep import require_equal

WIDE = GnnConfig(
    combination=CombinationConfig(
        lanes=16, cols=8, weight_buffer_bytes=16 * 1024, columns_max=32, psum_width=22
    )
)


def test_the_first_difference():
    got = np.array([[1, 2], [3, -4], [5, 7]], np.int8)
    expected = np.array([[1, 2], [3, 4], [5, 6]])
    message = (
        r"^o\.q, seed 9: 2 of 6 differ, first at 1, 1: must be 0x4 \(4\), not -0x4 \(-4\); "
        r"m = 20, p = \[3 4\]$"
    )
    inputs = {"m": np.array([10, 20, 30]), "p": expected}
    with pytest.raises(MismatchError, match=message):
        require_equal("o.q", got, expected, 9, inputs)
    require_equal("o.q", got, got, 9, inputs)
    with pytest.raises(MismatchError, match=r"^o\.q, seed 9: must be \[2, 2\], not \[3, 2\]$"):
        require_equal("o.q", got, expected[:2], 9, inputs)


@pytest.mark.parametrize("config", [GnnConfig(), WIDE], ids=["tiny", "wide"])
def test_rows_cover_the_corners(config):
    c = config.combination
    work = dot_products.make(config, 20_000, seed=1, tiles=1)
    assert work.count >= 20_000
    top = 1 << c.psum_width - 1
    assert work.psums.max() > top - 8 * 255
    assert work.psums.min() < 8 * 255 - top
    assert work.values.max() == max(c.lanes * c.bank_depth, (top - 1) // (255 * 7))
    assert (np.bincount(work.width, minlength=9) > 9).all()
    magnitude, width = np.abs(work.code), work.width[work.row]
    assert (magnitude <= (1 << width[:, None]) - 1).all()
    for bits in range(1, 9):
        assert {(1 << bits) - 1, 1 - (1 << bits)} <= set(work.code[width == bits].flat)
    groups = (work.code != 0).any(1)
    assert (groups | work.last).all()
    assert 0 < (~groups[work.last]).sum() < len(work.width) / 2
    alone = (work.code != 0).sum(1) == 1
    assert set(np.nonzero(work.code[alone])[1]) == set(range(c.lanes))


def test_sums_equal_plain_loops():
    work = dot_products.make(GnnConfig(), 3_000, seed=2, tiles=3)
    for row in [*range(0, 40), *range(len(work.width) - 40, len(work.width))]:
        sums = np.zeros((3, 4), int)
        for group in np.flatnonzero(work.row == row):
            for lane in range(2):
                for tile in range(3):
                    weights = work.weights[lane, tile * work.stride + work.address[group, lane]]
                    sums[tile] += work.code[group, lane] * weights
        assert (work.psums[row] == sums).all()
