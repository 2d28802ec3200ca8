"""Sweeps of single units in the C++ harness against NumPy: how a unit's author does it."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hw.gnn.config import AggregationConfig, CombinationConfig, GnnConfig
from quant.rounding import clip_magnitude, rha
from sim.bench import GRID
from sim.harness import Harness, unit_harness
from sim.sweep import require_equal

pytestmark = pytest.mark.rtl

COUNT = 100_000
"""Values of one sweep, words times columns."""

WIDE = GnnConfig(
    combination=CombinationConfig(
        lanes=8, cols=16, weight_buffer_bytes=8 * 1024, columns_max=64, psum_width=28
    ),
    aggregation=AggregationConfig(lanes=16, psum_buffer_bytes=10 * 1024, psum_width=20),
)
CONFIGS = pytest.mark.parametrize("config", [GnnConfig(), WIDE], ids=["tiny", "wide"])


def _spread(rng: np.random.Generator, width: int, shape: Any) -> NDArray[np.int64]:
    """Return signed values of all magnitudes, the extremes among them."""
    low, high = -(1 << width - 1), (1 << width - 1) - 1
    values = rng.integers(low, high, shape, endpoint=True) >> rng.integers(0, width, shape)
    kind = rng.integers(0, 50, shape)
    return np.select([kind == 0, kind == 1, kind == 2], [low, high, 0], values)


def _multipliers(rng: np.random.Generator, shift_max: int, shape: Any) -> tuple[NDArray, NDArray]:
    """Return mantissas 2048..4095, a power of two often (so that there are ties), and shifts."""
    m = np.where(rng.random(shape) < 0.4, 2048, rng.integers(2048, 4096, shape))
    return np.where(rng.random(shape) < 0.02, 0, m), rng.integers(0, shift_max + 1, shape)


@CONFIGS
def test_requantizer(config):
    unit = unit_harness("requantizer", config)
    c = config.combination
    for seed, (idle, stall) in enumerate(GRID):
        rng = np.random.default_rng(seed)
        n, f = _multipliers(rng, 30, c.columns_max)
        columns = {"enable": n >= 0, "column": np.arange(c.columns_max), "n": n, "f": f}
        words = unit.zeros("i", COUNT // len(GRID) // c.cols)
        words["psum"] = _spread(rng, c.psum_width, words["psum"].shape)
        words["m"], words["e"] = _multipliers(rng, 30, len(words))
        words["tile"] = rng.integers(0, c.tiles_max, len(words))
        words["last"] = rng.integers(0, 2, len(words))
        # The first batch writes the table, which no word may overtake.
        unit.run(tables={"column_write": unit.pack("column_write", columns)})
        result = unit.run(
            {"i": unit.pack("i", words)}, {"o": len(words)}, idle=idle, stall=stall, seed=seed
        )
        given = unit.unpack("o", result.outputs["o"])
        n, f = (factor.reshape(-1, c.cols)[words["tile"]] for factor in (n, f))
        node = rha(words["psum"] * words["m"][:, None].astype(np.int64), words["e"][:, None])
        expected = {"q": clip_magnitude(rha(node * n, f), 7)}
        expected |= {name: words[name] for name in ("tile", "last")}
        inputs = {"word": words, "n": n, "f": f}
        for name, values in expected.items():
            require_equal(f"o.{name}", given[name], values, seed, inputs)
        if not idle and not stall:
            assert result.cycles == len(words) + 5


@pytest.fixture(scope="module", params=[GnnConfig(), WIDE], ids=["tiny", "wide"])
def post(request) -> tuple[Harness, GnnConfig]:
    return unit_harness("post_processor", request.param), request.param


def _operands(unit: Harness, config: GnnConfig, rng: np.random.Generator) -> NDArray[Any]:
    a = config.aggregation
    words = unit.zeros("i", COUNT // len(GRID) // a.lanes)
    words["acc"] = _spread(rng, a.psum_width, words["acc"].shape)
    words["columns"]["n"] = _spread(rng, 16, words["acc"].shape)
    words["columns"]["b"] = _spread(rng, 32, words["acc"].shape)
    node = words["node"]
    node["m"], node["e"] = _multipliers(rng, 30, len(words))
    node["m_next"], node["e_next"] = _multipliers(rng, 50, len(words))
    node["width_next"] = rng.integers(0, 9, len(words))
    words["last"] = rng.integers(0, 2, len(words))
    return words


def _z(words: NDArray[Any]) -> NDArray[np.int64]:
    node = {name: words["node"][name][:, None].astype(np.int64) for name in ("m", "e")}
    y = rha(words["acc"] * node["m"], node["e"])
    return y * words["columns"]["n"] + words["columns"]["b"]


@pytest.mark.parametrize(("last_layer", "signed_next"), [(1, 0), (0, 0), (0, 1)])
def test_post_processor(post, last_layer, signed_next):
    unit, config = post
    constants = {"last_layer": last_layer, "signed_next": signed_next}
    for seed, (idle, stall) in enumerate(GRID):
        words = _operands(unit, config, np.random.default_rng(seed))
        z = _z(words)
        kept = (np.abs(z) < 1 << 47).all(1)  # lowering excludes the others
        assert kept.mean() > 0.9
        words, z = words[kept], z[kept]
        if signed_next:
            words["node"]["width_next"] = np.minimum(words["node"]["width_next"], 7)
        port = "o_logit" if last_layer else "o_code"
        packed = {"i": unit.pack("i", words)}
        result = unit.run(
            packed, {port: len(words)}, constants=constants, idle=idle, stall=stall, seed=seed
        )
        given = unit.unpack(port, result.outputs[port])
        pairs = {"last": (given["last"], words["last"])}
        if last_layer:
            pairs["z"] = given["z"], z
        else:
            codes = _codes(words, z, signed_next)
            pairs["width"] = given["width"], words["node"]["width_next"]
            pairs["magnitude"] = given["codes"]["magnitude"], np.abs(codes)
            pairs["negative"] = given["codes"]["negative"], codes < 0
        for name, pair in pairs.items():
            require_equal(f"{port}.{name}", *pair, seed, {"word": words, "z": z})


def _codes(words: NDArray[Any], z: NDArray[np.int64], signed_next: int) -> NDArray[np.int64]:
    node = {
        name: words["node"][name][:, None].astype(np.int64) for name in words["node"].dtype.names
    }
    x = rha((z if signed_next else np.maximum(z, 0)) * node["m_next"], node["e_next"])
    return clip_magnitude(x, (1 << node["width_next"]) - 1)
