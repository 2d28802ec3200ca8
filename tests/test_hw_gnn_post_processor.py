"""PostProcessor against `models.golden.gnn.post_processor`."""

from random import Random

import numpy as np
import pytest

from hw.gnn.config import AggregationConfig, GnnConfig
from hw.gnn.post_processor import PostProcessor
from models.golden.gnn.post_processor import affine, next_code
from sim.bench import GRID, check

CONFIG = GnnConfig(aggregation=AggregationConfig(lanes=2, psum_buffer_bytes=4096))
LANES = CONFIG.aggregation.lanes
MULTIPLIERS = [(0, 0), (2048, 0), (2048, 11), (2048, 12), (4095, 12), (4095, 27), (2048, 63)]
SUMS = [0, 1, -1, 2, -3, 7, -32768, 32767]
COLUMNS = [(0, 0), (1, 0), (-1, 1), (-32768, -(1 << 31)), (32767, (1 << 31) - 1), (10, -5)]


def _word(rng: Random, index: int) -> dict:
    """Corners by `index` while they last, then random values of all magnitudes."""

    def pick(corners: list, other):
        return corners[index % len(corners)] if index < 120 else other

    def spread(width: int) -> int:
        return rng.randint(-(1 << width - 1), (1 << width - 1) - 1) >> rng.randrange(width)

    m, e = pick(MULTIPLIERS, (rng.randint(2048, 4095), rng.randrange(30)))
    m2, e2 = (
        rng.choice(MULTIPLIERS) if index < 120 else (rng.randint(2048, 4095), rng.randrange(64))
    )
    columns = [pick(COLUMNS[k:] + COLUMNS[:k], (spread(16), spread(32))) for k in range(LANES)]
    return {
        "acc": [SUMS[(index // 7 + k) % 8] if index < 120 else spread(16) for k in range(LANES)],
        "columns": [{"n": n, "b": b} for n, b in columns],
        "node": {"m": m, "e": e, "m_next": m2, "e_next": e2, "width_next": index % 9},
        "last": index % 5 == 0,
    }


def _z(word: dict) -> np.ndarray:
    n = [column["n"] for column in word["columns"]]
    b = [column["b"] for column in word["columns"]]
    return affine(word["acc"], word["node"]["m"], word["node"]["e"], n, 0, b, 0)


def _logits(word: dict) -> dict:
    return {"z": _z(word).tolist(), "last": word["last"]}


def _codes(word: dict, signed: bool) -> dict:
    node = word["node"]
    width = node["width_next"] - (signed and node["width_next"] == 8)
    node["width_next"] = width
    codes = next_code(_z(word), node["m_next"], node["e_next"], width, signed=signed).tolist()
    pairs = [{"magnitude": abs(c), "negative": c < 0} for c in codes]
    return {"codes": pairs, "width": width, "last": word["last"]}


def _words(count: int = 250) -> list[dict]:
    rng = Random(7)
    return [_word(rng, index) for index in range(count)]


@pytest.mark.parametrize(("idle", "stall"), GRID)
def test_logits_equal_the_golden_model(idle, stall):
    words = _words()
    outputs = {"o_logit": [_logits(word) for word in words], "o_code": []}
    constants = {"last_layer": 1, "signed_next": 0}
    check(PostProcessor(CONFIG), {"i": words}, outputs, idle=idle, stall=stall, constants=constants)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(("idle", "stall"), GRID)
def test_codes_equal_the_golden_model(signed, idle, stall):
    words = _words()
    outputs = {"o_code": [_codes(word, signed) for word in words], "o_logit": []}
    constants = {"last_layer": 0, "signed_next": int(signed)}
    check(PostProcessor(CONFIG), {"i": words}, outputs, idle=idle, stall=stall, constants=constants)


@pytest.mark.parametrize("signed", [0, 1])
def test_the_clip_saturates_at_each_width_and_there_is_no_minus_zero(signed):
    words, expected = [], []
    for width in range(9 - signed):
        limit = (1 << width) - 1
        node = {"m": 2048, "e": 11, "m_next": 2048, "e_next": 11, "width_next": width}
        for acc in ([32767, -32768], [limit, -limit], [limit + 1, -limit - 1], [0, -1]):
            columns = [{"n": 1, "b": 0}] * LANES
            words.append({"acc": acc, "columns": columns, "node": node, "last": 0})
            codes = [min(max(a, -limit if signed else 0), limit) for a in acc]
            pairs = [{"magnitude": abs(c), "negative": c < 0} for c in codes]
            expected.append({"codes": pairs, "width": width, "last": 0})
    outputs = {"o_code": expected, "o_logit": []}
    constants = {"last_layer": 0, "signed_next": signed}
    check(PostProcessor(CONFIG), {"i": words}, outputs, constants=constants)


@pytest.mark.parametrize(("last", "port", "latency"), [(1, "o_logit", 4), (0, "o_code", 7)])
def test_one_word_a_cycle_after_the_stated_latency(last, port, latency):
    words = _words(60)
    expected = [_logits(word) if last else _codes(word, False) for word in words]
    outputs = {"o_logit": [], "o_code": []} | {port: expected}
    constants = {"last_layer": last, "signed_next": 0}
    result = check(PostProcessor(CONFIG), {"i": words}, outputs, constants=constants)
    assert result.taken["i"] == list(range(60))
    assert result.given[port] == [t + latency for t in range(60)]
