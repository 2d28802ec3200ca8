"""What leaves the project as a design: Verilog, manifest, file list, config, register map."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from hw.gnn.config import GnnConfig
from hw.gnn.registers import REGISTERS
from hw.registers import markdown
from hw.verilog import Port, manifest, module_ports

from .config_toml import to_toml
from .engine import TOP, engine_verilog

__all__ = ["RtlResult", "rtl"]


@dataclass(frozen=True)
class RtlResult:
    """The written files, the top module with its ports, and the hash of the Verilog."""

    top: str
    files: tuple[Path, ...]
    ports: tuple[Port, ...]
    sha256: str
    config_hash: str
    lines: int


def rtl(config: GnnConfig, out: Path) -> RtlResult:
    """Write the Verilog of a graph engine and what belongs to it into the folder `out`.

    The Verilog is the one that `sim` simulates; the same config gives the same bytes.

    Raises
    ------
    ToolchainError
        If Amaranth or Yosys is missing or fails.
    """
    verilog = engine_verilog(config)
    config_hash = f"{config.hash:08x}"
    texts = {
        f"{TOP}.v": verilog,
        "manifest.json": manifest(verilog, TOP, config.model_dump(), config_hash),
        "files.f": f"{TOP}.v\n",
        "config.toml": to_toml(config),
        "registers.md": markdown(REGISTERS),
    }
    out.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (out / name).write_text(text)
    return RtlResult(
        top=TOP,
        files=tuple(out / name for name in texts),
        ports=module_ports(verilog, TOP),
        sha256=hashlib.sha256(verilog.encode()).hexdigest(),
        config_hash=config_hash,
        lines=verilog.count("\n"),
    )
