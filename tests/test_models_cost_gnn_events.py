"""Event counts of the cost model against counts made element by element from the golden run."""

import numpy as np
import pytest

from hw.gnn.config import AggregationConfig, CombinationConfig, GnnConfig
from hw.gnn.counters import COUNTERS
from hw.gnn.lower import lower
from hw.gnn.program import Kind, Program
from hw.memory_config import MemoryConfig
from models.cost.bursts import split_bursts
from models.cost.gnn.events import count_events
from models.cost.gnn.statistics import group_counts, layer_statistics
from models.golden.gnn.execute import Execution, execute
from quant.graph.synthetic import random_gcn


def _run(config: GnnConfig, part_rows: int | None = None, **sizes) -> tuple[Program, Execution]:
    graph = random_gcn(**sizes)
    program = lower(graph, config, "natural", part_rows)
    return program, execute(program)


def _events(program: Program, execution: Execution) -> dict[str, int]:
    lanes = program.config.combination.lanes
    return count_events(program, [layer_statistics(f, lanes) for f in execution.inputs])


@pytest.mark.parametrize("part_rows", [None, 9])
@pytest.mark.parametrize("signed", [False, True])
def test_counts_of_operations(part_rows: int | None, signed: bool):
    config = GnnConfig()
    program, run = _run(config, part_rows, nodes=24, hidden=16, classes=7, signed=signed, seed=3)
    events = _events(program, run)
    tiles = [4, 2]
    dense = [f.matrix(layer.reduction) for f, layer in zip(run.inputs, program.layers, strict=True)]
    assert events["combine_values"] == sum(m.nnz for m in dense)
    planes = bit_ops = groups = 0
    for features, tile in zip(run.inputs, tiles, strict=True):
        position = 0
        for width, count in zip(features.width, features.count, strict=True):
            taken: set[int] = set()
            row_groups = 0
            for k in features.index[position : position + count]:
                if int(k) % 2 in taken or not taken:
                    row_groups += 1
                    taken = set()
                taken.add(int(k) % 2)
            position += int(count)
            groups += row_groups
            planes += row_groups * int(width) * tile
            bit_ops += int(count * width) * tile
    assert events["combine_groups"] == groups
    assert events["combine_planes"] == planes
    assert events["combine_bit_ops"] == bit_ops
    assert events["combine_rows"] == 2 * 24
    assert events["requantize_words"] == 24 * (4 + 2)
    assert events["output_values"] == run.inputs[1].count.sum() + 24 * 7


@pytest.mark.parametrize("part_rows", [None, 9])
def test_written_bytes_are_those_that_golden_leaves(part_rows: int | None):
    config = GnnConfig(memory=MemoryConfig(axi_data_width=128, burst_beats=4))
    program, run = _run(config, part_rows, nodes=24, hidden=20, classes=5, seed=5)
    events = _events(program, run)
    beats = 0
    for region in program.outputs():
        if region.kind == Kind.FEATURES:
            head = run.memory[region.address : region.address + 4].view("<u4")[0]
            beats += 1 + int(head)
        elif region.kind == Kind.LOGITS:
            first, end = program.parts[region.part] if region.part >= 0 else (0, program.rows)
            beats += -(-(end - first) * 5 * 64 // 128)
    assert events["write_beats_outputs"] == beats
    rows = 0 if part_rows is None else 2 * 24
    assert events["write_beats_q_rows"] == rows


def test_edges_are_those_of_the_graph():
    graph = random_gcn(nodes=30, edges=90, seed=2, corners=("duplicates", "self_edges"))
    for part_rows in (None, 7):
        program = lower(graph, GnnConfig(), "natural", part_rows)
        run = execute(program)
        events = _events(program, run)
        edges = graph_edges(program, run)
        assert events["aggregate_edges"] == 2 * edges
        assert events["psum_updates"] == edges * sum(-(-c.columns // 4) for c in program.layers)


def graph_edges(program: Program, run: Execution) -> int:
    """Count edges in the one-part Program's stream: the sum of all counts, by walking it."""
    total = 0
    for region in program.regions:
        if region.kind == Kind.EDGES and region.layer == 0:
            words = program.image[region.address : region.address + region.size_bytes].view("<u2")
            first, end = program.parts[max(region.part, 0)]
            position = 0
            while position < len(words) and any(words[position:]):
                count = int(words[position])
                assert all(words[position + 1 : position + 1 + count] < end - first)
                total += count
                position += 1 + count
    return total


def test_every_event_counter_has_a_count():
    program, run = _run(GnnConfig(), nodes=5, seed=1)
    assert set(_events(program, run)) == {c.name for c in COUNTERS if not c.is_time}


@pytest.mark.parametrize(
    ("lanes", "groups", "conflicts"),
    [
        (1, 5, 0),  # one lane is never free
        (2, 3, 0),  # {0,1} {2,3} {7}
        (4, 2, 0),  # {0,1,2,3} {7}
        (8, 1, 0),  # {0,1,2,3,7}
    ],
)
def test_groups_by_hand(lanes: int, groups: int, conflicts: int):
    indptr, indices = np.array([0, 0, 5]), np.array([0, 1, 2, 3, 7])
    counted = group_counts(indptr, indices, lanes)
    assert [c.tolist() for c in counted] == [[0, groups], [0, conflicts]]


def test_conflicts_by_hand():
    # lanes 2: {0} closed by 2 with lane 1 free, {2,3} full, {5}: one conflict
    counted = group_counts(np.array([0, 4]), np.array([0, 2, 3, 5]), 2)
    assert [c.tolist() for c in counted] == [[3], [1]]


def test_bursts_end_at_the_page():
    config = GnnConfig(
        combination=CombinationConfig(lanes=1), aggregation=AggregationConfig(lanes=2)
    )
    assert config.memory.beat_bytes == 8
    lengths = split_bursts([(8192 - 24, 5), (0, 0), (0, 33)], 8, 16).lengths
    assert lengths.tolist() == [3, 2, 16, 16, 1]
