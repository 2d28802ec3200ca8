"""Lowering: layout and commands, multipliers against the real scales, and what is refused."""

import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hw.gnn.codes import Codes, bitmap_segment, index_segment
from hw.gnn.config import AggregationConfig, CombinationConfig, GnnConfig
from hw.gnn.format import AGGREGATE, COMBINE, HEADER, SLOT_BYTES, Format, Word
from hw.gnn.image import Layout, pack_words
from hw.gnn.lower import lower
from hw.gnn.multipliers import aggregate_factors, combine_factors
from hw.gnn.network import integer_layers
from hw.gnn.program import Kind, Program
from hw.memory_config import MemoryConfig
from quant.graph.build import LayerParameters, gcn_graph
from quant.graph.model import BitGraph
from quant.graph.patterns import layers
from quant.graph.synthetic import CORNERS, random_gcn
from quant.rounding import multiplier_value

TINY = GnnConfig(name="tiny")
CONFIGS = {
    "tiny": TINY,
    "wide bus": GnnConfig(memory=MemoryConfig(axi_data_width=1024, burst_beats=8)),
    "large": GnnConfig(
        combination=CombinationConfig(lanes=8, cols=16), aggregation=AggregationConfig(lanes=16)
    ),
}


def commands(program: Program) -> tuple[list[dict[str, int]], list[dict[str, int]]]:
    """Return both queues, read from the image."""
    data = program.image.tobytes()

    def word(kind: Word, at: int) -> dict[str, int]:
        return kind.unpack(int.from_bytes(data[at : at + kind.width // 8], "little"))

    header = word(HEADER, 0)
    queues = []
    for kind, name in ((COMBINE, "combine"), (AGGREGATE, "aggregate")):
        begin, count = header[f"{name}_address"], header[f"{name}_commands"]
        queues.append([word(kind, begin + SLOT_BYTES * slot) for slot in range(count)])
    return queues[0], queues[1]


def one_layer(**fields: Any) -> BitGraph:
    """Return a layer on two nodes without edges, with some parameters replaced."""
    first = LayerParameters(
        scale=np.ones(2), magnitude_width=np.ones(2, int), signed=False,
        weight_codes=np.ones((3, 2), np.int8), weight_scale=np.ones(2), xw_scale=np.ones(2),
        bias=np.zeros(2),
    )  # fmt: skip
    layer = dataclasses.replace(first, **fields)
    return gcn_graph("one", np.ones((2, 3)), np.zeros((2, 0), int), (layer,))


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("part_rows", [None, 7])
def test_regions_are_aligned_disjoint_and_inside(name: str, part_rows: int | None) -> None:
    program = lower(random_gcn(corners=CORNERS), CONFIGS[name], part_rows=part_rows)
    end = 0
    for region in program.regions:
        assert region.address % 128 == 0
        assert region.address >= end
        assert region.size_bytes % CONFIGS[name].memory.beat_bytes == 0
        end = region.address + region.size_bytes
    assert end <= len(program.image) < end + 128
    keys = [(region.kind, region.layer, region.part) for region in program.regions]
    assert len(set(keys)) == len(keys)
    assert program.regions[0].kind == Kind.PROGRAM


def test_same_graph_and_config_give_the_same_bytes(tmp_path: Path) -> None:
    how = {"partition": "metis", "part_rows": 50}
    graph, twin = (random_gcn(nodes=200, edges=900, corners=CORNERS) for _ in range(2))
    one, two = lower(graph, TINY, **how), lower(twin, TINY, **how)
    assert one.image.tobytes() == two.image.tobytes()
    one.save(tmp_path / "a.json")
    two.save(tmp_path / "b.json")
    assert (tmp_path / "a.json").read_text().replace("a.bin", "b.bin") == (
        tmp_path / "b.json"
    ).read_text()
    loaded = Program.load(tmp_path / "a.json")
    assert loaded.image.tobytes() == one.image.tobytes()
    assert loaded.regions == one.regions
    assert loaded.graph_hash == graph.hash
    other = lower(random_gcn(nodes=200, edges=900, corners=CORNERS, seed=1), TINY, **how)
    assert other.image.tobytes() != one.image.tobytes()


def test_commands_of_one_part() -> None:
    program = lower(random_gcn(), TINY)
    combines, aggregates = commands(program)
    assert program.parts == ((0, 24),)
    assert [c["wait"] for c in combines] == [0, 1]
    assert [c["wait"] for c in aggregates] == [0, 0]
    assert [c["sink_memory"] for c in combines] == [0, 0]
    assert [c["source_memory"] for c in aggregates] == [0, 0]
    assert [c["load_weights"] for c in combines] == [1, 1]
    assert [c["clear_words"] for c in aggregates] == [24 * 2, 0]  # 8 columns on 4 lanes
    assert [c["last_layer"] for c in aggregates] == [0, 1]
    assert [c["source_rows"] for c in aggregates] == [24, 24]
    assert combines[1]["features_address"] == aggregates[0]["out_address"]


def test_commands_of_several_parts() -> None:
    """Five parts of at most five rows: one COMBINE for layer 0, then one a part."""
    program = lower(random_gcn(), TINY, partition="natural", part_rows=5)
    combines, aggregates = commands(program)
    assert program.parts == ((0, 5), (5, 10), (10, 15), (15, 20), (20, 24))
    layer_parts = [(layer, part) for layer in range(2) for part in range(5)]
    assert [(c["layer"], c["part"]) for c in aggregates] == layer_parts
    assert [(c["layer"], c["part"]) for c in combines] == [(0, 0), *layer_parts[5:]]
    assert [c["rows"] for c in combines] == [24, 5, 5, 5, 5, 4]
    assert [c["wait"] for c in combines] == [0, 1, 2, 3, 4, 5]
    assert [c["wait"] for c in aggregates] == [1] * 5 + [6] * 5
    assert [c["load_weights"] for c in combines] == [1, 1, 0, 0, 0, 0]
    assert [c["clear_words"] for c in aggregates] == [5 * 2, *[0] * 9]
    outputs = [c["out_address"] for c in aggregates]
    assert [c["features_address"] for c in combines[1:]] == outputs[:5]
    q_rows = [program.region(Kind.Q_ROWS, layer).address for layer in (0, 1)]
    starts = [c["rows_address"] for c in combines]
    assert starts == [q_rows[0], *(q_rows[1] + 8 * 5 * part for part in range(5))]


def test_every_node_once_and_rows_ascend_in_a_part() -> None:
    program = lower(random_gcn(nodes=100, edges=400), TINY, part_rows=30)
    assert sorted(program.node_order.tolist()) == list(range(100))
    for begin, end in program.parts:
        assert (np.diff(program.node_order[begin:end]) > 0).all()


@pytest.mark.parametrize(("density", "form"), [(0.1, Format.INDEX), (0.95, Format.BITMAP)])
def test_input_takes_the_smaller_format(density: float, form: Format) -> None:
    """20 features: 5 + 1 bits a value as list; 32 + 1 a value as bitmaps: equal at 6.4 values."""
    program = lower(random_gcn(density=density), TINY)
    assert program.layers[0].format == form
    assert program.layers[0].index_width == (5 if form == Format.INDEX else 0)
    assert program.layers[1].format == Format.BITMAP


def test_index_lists_fill_the_lanes() -> None:
    """Indices 0 2 4 5 6 7 on two lanes: 0|5, 2|7, 4, 6: four groups, not 0 2 4|5 6|7 = four."""
    index = np.array([0, 2, 4, 5, 6, 7])
    ones = np.ones(6, np.int64)
    codes = Codes(0 * index, index, ones, np.array([1]), signed=False, reduction=8)
    data, bits = index_segment(codes, 3, 2)
    word = int.from_bytes(data.tobytes(), "little")
    assert [word >> 4 * at & 7 for at in range(6)] == [0, 5, 2, 7, 4, 6]
    assert bits == 24


def test_segments_by_hand() -> None:
    """Signed, two rows: -3 at 17 and 1 at 2 of two bits, 1 at 0 of one bit; row 1 has width 0."""
    codes = Codes(
        np.array([0, 0, 2]), np.array([2, 17, 0]), np.array([1, -3, 1]),
        np.array([2, 0, 1]), signed=True, reduction=18,
    )  # fmt: skip
    data, bits = bitmap_segment(codes)
    fields = ((4, 16), (1, 3), (2, 16), (7, 3), (1, 16), (1, 2), (0, 16))
    expected, at = 0, 0
    for value, width in fields:
        expected |= value << at
        at += width
    assert (int.from_bytes(data.tobytes(), "little"), bits) == (expected, at)
    data, bits = index_segment(codes, 5, 1)
    expected = 2 | 1 << 5 | 17 << 8 | 7 << 13 | 0 << 16 | 1 << 21
    assert (int.from_bytes(data.tobytes(), "little"), bits) == (expected, 23)


@pytest.mark.parametrize("seed", range(4))
def test_multipliers_stand_for_the_real_scales(seed: int) -> None:
    """Each mantissa is within 2^-12; so is the product of m' and m'', which make one factor."""
    graph = random_gcn(seed=seed, corners=CORNERS, hidden=16, signed=seed % 2 == 1)
    chain = layers(graph)
    for layer, integers in zip(chain, integer_layers(graph, TINY), strict=True):
        c2, a2 = integers.combine, integers.aggregate
        got = multiplier_value(c2.m, c2.e)[:, None] * multiplier_value(c2.n, c2.f)
        real = (layer.c_source * layer.scale)[:, None] * layer.weight_scale / layer.xw_scale
        used = (layer.magnitude_width > 0)[:, None]
        assert np.allclose(got, np.where(used, real, 0), rtol=2.0**-11, atol=0)
        unit = 2.0**-a2.log2_scale
        got = multiplier_value(a2.m, a2.e)[:, None] * a2.n * unit
        assert np.allclose(got, layer.c_destination[:, None] * layer.xw_scale, rtol=2.0**-11)
        assert np.allclose(a2.b * unit, layer.bias, rtol=0, atol=unit / 2)
        assert 1 << 14 <= a2.n.max() < 1 << 15
        if layer.next_quantizer is not None:
            used = integers.width_next > 0
            step = np.broadcast_to(layer.next_quantizer.scale, (len(used), 1))[used, 0]
            got = multiplier_value(a2.m_next, a2.e_next)[used]
            assert np.allclose(got, unit / step, rtol=2.0**-11, atol=0)
            got *= multiplier_value(a2.m, a2.e)[used]
            real = unit / step * layer.c_destination[used]
            scale = 2.0 ** np.rint(np.log2(got / real))  # what n' gave to m'
            assert np.allclose(got, real * scale, rtol=2.0**-12, atol=0)
            assert not a2.m_next[~used].any()


def test_shifts_keep_all_the_bits_that_words_hold() -> None:
    """The largest node factor needs no shift, so its rounding is exact; wide sums give bits up."""
    node, column = np.array([1.0, 0.1]), np.array([0.01, 0.02])
    assert combine_factors(node, column, np.array([100, 100]), 0).e.tolist() == [0, 4]
    # P x m = 2^45; n = 2621; 2^35 x 2621 < 2^47 <= 2^36 x 2621, so ten bits are shifted out.
    factors = combine_factors(node, column, np.array([1 << 34, 1]), 0)
    assert factors.e.tolist() == [10, 14]
    # n' = 2^14 and h = 11 give a bias 25 fraction bits; 100 has 7 bits, so one of n' goes; 1000
    # has 10, so four go: three of n' and one of Y.
    one = np.ones(1)
    for bias, n, e, scale in ((10, 14, 0, 25), (100, 13, 0, 24), (1000, 11, 1, 21)):
        a2 = aggregate_factors(one, one, one * bias, None, np.array([7]), 0)
        assert (a2.n.item(), a2.e.item(), a2.log2_scale) == (1 << n, e, scale)
        assert a2.b.item() == bias << scale


def test_z_is_proved() -> None:
    """An acc x 2^11 x 2^14 must stay below 2^47: 2^22 - 1 does; 2^25 costs 4 bits; 2^31 fails."""
    one = np.ones(1)
    for acc, scale in (((1 << 22) - 1, 25), (1 << 25, 21)):
        a2 = aggregate_factors(one, one, 0 * one, None, np.array([acc]), 0)
        assert a2.log2_scale == scale
    message = (
        "Z of layer 0 must fit the accumulator = 48 bits, not reach 72057594037927936 at node 0"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        aggregate_factors(one, one, 0 * one, None, np.array([1 << 31]), 0)


def psum_config(width: int) -> GnnConfig:
    """Return tiny with another aggregation.psum_width."""
    return GnnConfig(aggregation=AggregationConfig(psum_width=width))


def star(leaves: int) -> BitGraph:
    """Return a layer whose node 0 sums `leaves` rows and its own."""
    edges = np.stack((np.arange(1, leaves + 1), np.zeros(leaves, int)))
    layer = LayerParameters(
        scale=np.ones(leaves + 1), magnitude_width=np.ones(leaves + 1, int), signed=False,
        weight_codes=np.ones((3, 2), np.int8), weight_scale=np.ones(2), xw_scale=np.ones(2),
        bias=np.zeros(2),
    )  # fmt: skip
    return gcn_graph("star", np.ones((leaves + 1, 3)), edges, (layer,))


def test_psums_are_proved_to_the_last_edge() -> None:
    """8 bits hold 127 = 18 edges of 7 and one more: 126 passes, 133 does not."""
    assert lower(star(17), psum_config(8)).rows == 18
    message = "acc of layer 0 must fit aggregation.psum_width = 8 bits, not reach 133 at node 0"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        lower(star(18), psum_config(8))


def test_combination_sums_are_proved_by_the_codes() -> None:
    """1 x 7 x 4681 = 32767 is the last that 16 bits hold."""
    config = GnnConfig(combination=CombinationConfig(psum_width=16))
    for features, fits in ((4681, True), (4682, False)):
        weights = np.full((features, 2), 7, np.int8)
        weights[:, 1] = -7
        layer = LayerParameters(
            np.ones(1), np.ones(1, int), False, weights, np.ones(2), np.ones(2), np.zeros(2)
        )
        graph = gcn_graph("sum", np.ones((1, features)), np.zeros((2, 0), int), (layer,))
        if fits:
            lower(graph, config)
            continue
        message = (
            "P of layer 0 must fit combination.psum_width = 16 bits, not reach 32774 at node 0"
        )
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            lower(graph, config)


def test_hidden_sums_are_proved_by_the_widths() -> None:
    """8 columns of at most 255 x 7 do not fit 8 + 3 bits, whatever the input is."""
    graph = random_gcn(widths=(8,), hidden=64, classes=2)
    largest = int(255 * np.abs(layers(graph)[1].weight_codes).astype(int).sum(axis=0).max())
    assert largest > 1 << 15
    wide = CombinationConfig(psum_width=16, columns_max=64)
    message = (
        f"P of layer 1 must fit combination.psum_width = 16 bits, not reach {largest} at node 0"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        lower(graph, GnnConfig(combination=wide))


REFUSED = [
    (
        lambda: lower(random_gcn(hidden=40), TINY),
        "columns of layer 0 must be at most combination.columns_max = 32, not 40",
    ),
    (
        lambda: lower(
            random_gcn(features=400),
            GnnConfig(combination=CombinationConfig(weight_buffer_bytes=1024)),
        ),
        (
            "weights of layer 0 need 1600 bytes (400 x 8 weights of 4 bits in 2 banks), "
            "combination.weight_buffer_bytes is 1024"
        ),
    ),
    (
        lambda: lower(
            random_gcn(hidden=36),
            GnnConfig(
                combination=CombinationConfig(columns_max=36),
                aggregation=AggregationConfig(psum_buffer_bytes=64),
            ),
        ),
        "aggregation.psum_buffer_bytes must hold one row of 36 columns = 9 words of 64 bits, not 8",
    ),
    (
        lambda: lower(random_gcn(), TINY, part_rows=10**6),
        (
            "part_rows must be in 1..8192 (rows of 8 columns that "
            "aggregation.psum_buffer_bytes = 131072 holds), not 1000000"
        ),
    ),
    (
        lambda: lower(one_layer(xw_scale=np.array([1, 1e-6])), TINY),
        "step of column 1 of layer 0 must be at least 3.05176e-05 (the largest is 1), not 1e-06",
    ),
    (
        lambda: lower(one_layer(bias=np.array([0, 1e12])), TINY),
        "bias of layer 0 must be below 64 (32 bits in the scale of Z), not 1e+12",
    ),
    (
        lambda: lower(one_layer(scale=np.array([1, 1e-30])), TINY),
        "node factor of layer 0 x 2^11 must be 0 or in 2^-52..4095 (shift in 0..63), not 2.048e-27",
    ),
    (
        lambda: pack_words(COMBINE, 1, rows=-1),
        "COMBINE.rows must be in 0..4294967295, not -1",
    ),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_refuses(call, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        call()


def test_refuses_an_image_beyond_the_address_space() -> None:
    graph = random_gcn(nodes=4000)
    small = GnnConfig(memory=MemoryConfig(axi_addr_width=16))
    needed = len(lower(graph, TINY).image)
    message = f"memory image must be at most 2^16 bytes (memory.axi_addr_width), not {needed}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        lower(graph, small)


def test_refusals_of_the_bitgraph_reach_the_caller() -> None:
    with pytest.raises(ValueError, match="^weight code|must be -7 to 7, not 8$"):
        one_layer(weight_codes=np.full((3, 2), 8, np.int8))
    without = gcn_graph(
        "input", None, np.zeros((2, 0), int),
        (LayerParameters(np.ones(2), np.ones(2, int), False, np.ones((3, 2), np.int8),
                         np.ones(2), np.ones(2), np.zeros(2)),), nodes=2,
    )  # fmt: skip
    with pytest.raises(
        ValueError, match="^features .* must lie inside the graph, not be an input$"
    ):
        lower(without, TINY)


def test_layout_rounds_up_to_beats_and_128_bytes() -> None:
    layout = Layout(MemoryConfig(axi_data_width=256))
    first = layout.put(Kind.INPUT, 0, -1, np.arange(33, dtype=np.uint8))
    second = layout.place(Kind.EDGES, 0, 0, 0)
    assert (first.address, first.size_bytes) == (0, 64)
    assert (second.address, second.size_bytes, layout.end) == (128, 0, 128)
    assert layout.image().tolist() == [*range(33), *[0] * 95]


def test_integer_layers_hold_no_real_numbers() -> None:
    for layer in integer_layers(random_gcn(), TINY):
        for part in (layer, layer.combine, layer.aggregate):
            for field in dataclasses.fields(part):
                value = getattr(part, field.name)
                assert not isinstance(value, float)
                assert not isinstance(value, np.ndarray) or value.dtype.kind == "i"
