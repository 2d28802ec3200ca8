"""The emitted Verilog, read by pyverilog: its ports and memories follow config and BitGraph."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from pyverilog.vparser import ast
from pyverilog.vparser.parser import VerilogCodeParser

from hw.gnn.config import PRESETS, AggregationConfig, CombinationConfig, GnnConfig, MemoryConfig
from hw.gnn.lower import lower
from models.golden.gnn.execute import execute
from quant.graph.model import BitGraph
from quant.graph.onnx_import import load
from quant.graph.patterns import layers
from sim.cli.graphs import BUILT_IN
from sim.engine import TOP, engine_file

# Like `tiny` in nothing but the buffers' bytes.
OTHER = GnnConfig(
    memory=MemoryConfig(axi_data_width=128, axi_addr_width=40, burst_beats=8, stream_bursts=4),
    combination=CombinationConfig(lanes=4, cols=8, columns_max=48, psum_width=22),
    aggregation=AggregationConfig(lanes=8, psum_width=15, psum_buffer_bytes=120 * 1024),
    log_depth=16,
)

COMBINATION = "combination.datapath"


class Design:
    """Ports and memories of every instance of a Verilog design, by its path from the top."""

    def __init__(self, path: Path, scratch: Path) -> None:
        parsed = VerilogCodeParser([str(path)], outputdir=str(scratch), debug=False).parse()
        self._modules = {module.name: module for module in parsed.description.definitions}
        self.ports: dict[str, int] = {}
        self.memories: dict[str, tuple[int, int]] = {}
        self._walk(TOP, "")

    def _walk(self, module: str, path: str) -> None:
        for item in self._items(self._modules[module]):
            if isinstance(item, ast.InstanceList):
                for instance in item.instances:
                    self._walk(instance.module, f"{path}{instance.name}.")
            elif isinstance(item, ast.Input | ast.Output):
                self.ports[path + item.name] = _size(item.width)
            elif isinstance(item, ast.Reg) and item.dimensions:
                depth = _size(item.dimensions.lengths[0])
                self.memories[path + item.name.strip("\\ ")] = (_size(item.width), depth)

    @staticmethod
    def _items(module: ast.ModuleDef) -> Iterator[ast.Node]:
        for item in module.items:
            yield from item.list if isinstance(item, ast.Decl) else (item,)


def _size(width: ast.Width | ast.Length | None) -> int:
    """Return msb - lsb + 1 in either order; no range is one bit."""
    if width is None:
        return 1
    return abs(int(width.msb.value) - int(width.lsb.value)) + 1


@pytest.fixture(scope="module", params=[PRESETS["tiny"], OTHER], ids=["tiny", "other"])
def config(request: pytest.FixtureRequest) -> GnnConfig:
    return request.param


@pytest.fixture(scope="module")
def design(config: GnnConfig, tmp_path_factory: pytest.TempPathFactory) -> Design:
    return Design(engine_file(config), tmp_path_factory.mktemp("pyverilog"))


@pytest.fixture(scope="module")
def demo() -> BitGraph:
    return load(BUILT_IN)


def test_ports_at_the_edge(config: GnnConfig, design: Design) -> None:
    data, address = config.memory.axi_data_width, config.memory.axi_addr_width
    lite = {"addr": 12, "prot": 3, "valid": 1, "ready": 1}
    full = {"id": 4, "addr": address, "len": 8, "size": 3, "burst": 2, "lock": 1, "cache": 4,
            "prot": 3, "qos": 4, "valid": 1, "ready": 1}  # fmt: skip
    expected = {"aclk": 1, "aresetn": 1, "irq": 1}
    for channel in ("aw", "ar"):
        expected |= {f"s_axi_{channel}{name}": width for name, width in lite.items()}
        expected |= {f"m_axi0_{channel}{name}": width for name, width in full.items()}
    others = {"rdata": 32, "rresp": 2, "rvalid": 1, "rready": 1, "wdata": 32, "wstrb": 4,
              "wvalid": 1, "wready": 1, "bresp": 2, "bvalid": 1, "bready": 1}  # fmt: skip
    expected |= {f"s_axi_{name}": width for name, width in others.items()}
    others |= {"rdata": data, "wdata": data, "wstrb": data // 8, "rlast": 1, "wlast": 1,
               "rid": 4, "bid": 4}  # fmt: skip
    expected |= {f"m_axi0_{name}": width for name, width in others.items()}
    assert {name: width for name, width in design.ports.items() if "." not in name} == expected


def test_memories(config: GnnConfig, design: Design) -> None:
    combination, aggregation, memory = config.combination, config.aggregation, config.memory
    array = f"{COMBINATION}.array"
    psum_row = (combination.cols * combination.psum_width, combination.tiles_max)
    expected = {
        **{
            f"{array}.bank{lane}": (4 * combination.cols, combination.bank_depth)
            for lane in range(combination.lanes)
        },
        f"{array}.psums.row0": psum_row,
        f"{array}.psums.row1": psum_row,
        "aggregation.psums.memory": (aggregation.word_width, aggregation.depth),
        "aggregation.fetcher.fifo.storage": (config.row_width, aggregation.row_fifo_depth),
        **{
            f"read_dma.queue{stream}.storage": (memory.axi_data_width, memory.fifo_depth)
            for stream in range(8)
        },
        **{
            f"write_dma.queue{stream}.storage": (memory.axi_data_width, memory.fifo_depth)
            for stream in range(2)
        },
        "log.queue0": (3 * 32, config.log_depth),
        "log.queue1": (3 * 32, config.log_depth),
        # n (12 bits) and f (6 bits) of each column.
        f"{COMBINATION}.requantizer.columns": (18 * combination.cols, combination.tiles_max),
    }
    found = {name: design.memories.get(name) for name in expected}
    assert found == expected
    group_depth = design.memories[f"{COMBINATION}.group_fifo.storage"][1]
    assert group_depth == config.combination.group_fifo_depth


def test_registers_and_wires_between_units(config: GnnConfig, design: Design) -> None:
    combination, aggregation = config.combination, config.aggregation
    index_width = (combination.bank_depth * combination.lanes - 1).bit_length()
    row_width = 4 + 12 + 6  # B, m, e of the node word
    ports = {
        # A decoded value: two flags, feature index, magnitude, sign, its row.
        f"{COMBINATION}.decoder.o__payload": 2 + index_width + 8 + 1 + row_width,
        "aggregation.scatter.i_row__payload": config.row_width,
        # A flag and one logit of 48 bits a lane; the last layer's Z.
        "aggregation.post.o_logit__payload": 1 + 48 * aggregation.lanes,
        "aggregation.psums.word": aggregation.word_width,
    }
    assert {name: design.ports.get(name) for name in ports} == ports


def test_every_value_of_the_demo_has_its_bits(
    config: GnnConfig, design: Design, demo: BitGraph
) -> None:
    """What the network needs, from the BitGraph and the golden run, against the gates' widths."""
    program = lower(demo, config)
    execution = execute(program)
    banks = [
        design.memories[f"{COMBINATION}.array.bank{i}"] for i in range(config.combination.lanes)
    ]
    psum = design.memories["aggregation.psums.memory"]
    psum_width = psum[0] // config.aggregation.lanes
    row = design.memories[f"{COMBINATION}.array.psums.row0"][0] // config.combination.cols
    for index, layer in enumerate(layers(demo)):
        reduction, columns = layer.weight_codes.shape
        tiles = -(-columns // config.combination.cols)
        assert sum(depth for _, depth in banks) >= reduction * tiles
        assert layer.magnitude_width.max() <= 8
        assert 4 * columns <= design.ports["aggregation.scatter.i_row__payload"]
        assert np.abs(execution.psums[index]).max() < 1 << row - 1
        assert np.abs(execution.acc[index]).max() < 1 << psum_width - 1
        words = -(-columns // config.aggregation.lanes) * max(b - a for a, b in program.parts)
        assert words <= psum[1]
    assert np.abs(execution.logits).max() < 1 << 47
