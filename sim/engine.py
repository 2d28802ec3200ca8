"""The Verilog of a graph engine and the compiled bench around it, made once per configuration."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from hw.gnn.config import GnnConfig
from hw.verilog import emit, module_ports
from sim.build import Build, build, cache_folder

if TYPE_CHECKING:
    from hw.hierarchy import Block

__all__ = [
    "BENCH_WAIVERS",
    "DEPTH_BYTES_MIN",
    "SOURCES",
    "TOP",
    "BenchSettings",
    "Simulator",
    "bench_settings",
    "build_bench",
    "engine_blocks",
    "engine_file",
    "engine_verilog",
]

TOP = "bitwright_gnn"

Simulator = Literal["verilator", "icarus"]

SOURCES = Path(__file__).parent / "verilog"

DEPTH_BYTES_MIN = 4 << 20
"""So large that all small graphs share one compiled bench."""

BENCH_WAIVERS = ("BLKSEQ", "PINMISSING")
"""Verilator messages that the bench raises: it is a model, and leaves AXI's hints unread."""


def engine_verilog(config: GnnConfig) -> str:
    """Return the Verilog that is shipped, linted and simulated."""
    return _verilog(config.model_dump_json())


@lru_cache(maxsize=8)
def _verilog(config_json: str) -> str:
    # Amaranth is loaded where gates are made, and nowhere before.
    from hw.gnn.accelerator import GnnAccelerator

    config = GnnConfig.model_validate_json(config_json)
    provenance = {"config": config.name, "config_hash": f"{config.hash:08x}"}
    return emit(GnnAccelerator(config), TOP, provenance=provenance)


def engine_blocks(config: GnnConfig) -> "Block":
    """Return the blocks of the engine and the streams between them."""
    return _blocks(config.model_dump_json())


@lru_cache(maxsize=8)
def _blocks(config_json: str) -> "Block":
    from hw.gnn.accelerator import GnnAccelerator
    from hw.hierarchy import blocks

    return blocks(GnnAccelerator(GnnConfig.model_validate_json(config_json)), TOP)


def engine_file(config: GnnConfig) -> Path:
    """Return the path of that Verilog in the cache, written if it is missing or differs."""
    path = cache_folder() / "verilog" / f"{TOP}-{config.hash:08x}.v"
    text = engine_verilog(config)
    if not path.is_file() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return path


@dataclass(frozen=True)
class BenchSettings:
    """What the bench `tb_gnn` of one config is compiled from: its files, macros and parameters."""

    sources: tuple[Path, ...]
    defines: dict[str, int]
    parameters: dict[str, int]


def bench_settings(config: GnnConfig, memory_bytes: int) -> BenchSettings:
    """Return how engine, memory and taps are compiled.

    Parameters
    ----------
    config : GnnConfig
    memory_bytes : int, bytes
        What the memory must hold; it is rounded up to a power of two.
    """
    widths = {port.name: port.width for port in module_ports(engine_verilog(config), TOP)}
    depth_bytes = 1 << (memory_bytes - 1).bit_length()
    return BenchSettings(
        sources=(engine_file(config), SOURCES / "axi_memory.v", SOURCES / "tb_gnn.v"),
        defines={},
        parameters={
            "DATA_WIDTH": widths["m_axi0_rdata"],
            "ADDR_WIDTH": widths["m_axi0_araddr"],
            "ID_WIDTH": widths["m_axi0_arid"],
            "REGISTER_WIDTH": widths["s_axi_awaddr"],
            "ROW_WIDTH": config.row_width,
            "DEPTH": depth_bytes // config.memory.beat_bytes,
        },
    )


def build_bench(
    config: GnnConfig,
    memory_bytes: int,
    *,
    simulator: Simulator = "verilator",
    trace: bool = False,
) -> Build:
    """Compile engine, memory and taps for cocotb.

    Parameters
    ----------
    config : GnnConfig
    memory_bytes : int, bytes
        What the memory must hold; it is rounded up to a power of two.
    simulator : str
        ``"verilator"`` or ``"icarus"``.
    trace : bool
        Make the bench able to write a window of a run as VCD.
    """
    # Icarus clears its memory word by word at each start.
    least = DEPTH_BYTES_MIN if simulator == "verilator" else 4096
    settings = bench_settings(config, max(memory_bytes, least))
    return build(
        settings.sources,
        "tb_gnn",
        simulator=simulator,
        waves=trace,
        defines=settings.defines | ({"TRACE": 1} if trace else {}),
        parameters=settings.parameters,
        args=[f"-Wno-{rule}" for rule in BENCH_WAIVERS] if simulator == "verilator" else [],
    )
