"""LogitEncoder against the list of logits."""

from random import Random

import pytest

from hw.gnn.config import AggregationConfig, GnnConfig
from hw.gnn.logit_encoder import LogitEncoder
from sim.bench import GRID, check

CORNERS = [0, 1, -1, (1 << 47) - 1, -(1 << 47)]


def _run(lanes: int, columns: int, idle: float, stall: float):
    config = GnnConfig(aggregation=AggregationConfig(lanes=lanes, psum_buffer_bytes=4096))
    rng = Random(columns)
    words, gives = [], []
    for row in range(6):
        z = [rng.choice([*CORNERS, rng.randint(-(1 << 47), 1 << 46)]) for _ in range(columns)]
        padded = z + [rng.randint(1, 99)] * (-columns % lanes)
        words += [{"z": padded[at : at + lanes], "last": 0} for at in range(0, columns, lanes)]
        words[-1]["last"] = row == 5
        gives += [{"bits": value & (1 << 64) - 1, "width": 64} for value in z]
    gives[-1]["last"] = 1
    inputs, outputs = {"i": words}, {"o": gives}
    dut = LogitEncoder(config)
    return check(dut, inputs, outputs, idle=idle, stall=stall, constants={"columns": columns})


@pytest.mark.parametrize(("lanes", "columns"), [(4, 7), (4, 16), (1, 3), (16, 20), (4, 1), (8, 32)])
@pytest.mark.parametrize(("idle", "stall"), GRID)
def test_each_logit_of_the_columns_and_no_other(lanes, columns, idle, stall):
    _run(lanes, columns, idle, stall)


@pytest.mark.parametrize(("lanes", "columns"), [(4, 7), (16, 20), (1, 3)])
def test_a_logit_a_cycle(lanes, columns):
    assert _run(lanes, columns, 0.0, 0.0).given["o"] == list(range(6 * columns))
