"""The Verilog of a graph engine and the compiled bench around it, made once per configuration."""

from functools import lru_cache
from pathlib import Path
from typing import Literal

from hw.gnn.config import GnnConfig
from hw.verilog import emit, module_ports
from sim.build import Build, build, cache_folder

__all__ = ["TOP", "Simulator", "build_bench", "engine_file", "engine_verilog"]

TOP = "bitwright_gnn"

Simulator = Literal["verilator", "icarus"]

_SOURCES = Path(__file__).parent / "verilog"

_DEPTH_BYTES_MIN = 4 << 20
"""So large that all small graphs share one compiled bench."""


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


def engine_file(config: GnnConfig) -> Path:
    """Return the path of that Verilog in the cache, written if it is missing or differs."""
    path = cache_folder() / "verilog" / f"{TOP}-{config.hash:08x}.v"
    text = engine_verilog(config)
    if not path.is_file() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return path


def build_bench(
    config: GnnConfig,
    memory_bytes: int,
    *,
    simulator: Simulator = "verilator",
    trace: bool = False,
) -> Build:
    """Compile engine, memory and taps.

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
    widths = {port.name: port.width for port in module_ports(engine_verilog(config), TOP)}
    # Icarus clears its memory word by word at each start.
    least = _DEPTH_BYTES_MIN if simulator == "verilator" else 4096
    depth_bytes = 1 << (max(memory_bytes, least) - 1).bit_length()
    return build(
        [engine_file(config), _SOURCES / "axi_memory.v", _SOURCES / "tb_gnn.v"],
        "tb_gnn",
        simulator=simulator,
        waves=trace,
        defines={"TRACE": 1} if trace else {},
        parameters={
            "DATA_WIDTH": widths["m_axi0_rdata"],
            "ADDR_WIDTH": widths["m_axi0_araddr"],
            "ID_WIDTH": widths["m_axi0_arid"],
            "REGISTER_WIDTH": widths["s_axi_awaddr"],
            "ROW_WIDTH": config.row_width,
            "DEPTH": depth_bytes // config.memory.beat_bytes,
        },
        args=["-Wno-BLKSEQ", "-Wno-PINMISSING"] if simulator == "verilator" else [],
    )
