"""What leaves the project as a design: Verilog, file list, registers, drivers, diagram."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from hw.gnn.config import GnnConfig
from hw.gnn.driver_sources import c_header, python_driver
from hw.gnn.format import VERSION
from hw.gnn.registers import GUIDE, REGISTERS
from hw.registers import markdown
from hw.verilog import Port, manifest, module_ports

from .config_toml import to_toml
from .diagram import block_svg
from .diagram_text import block_text
from .engine import TOP, engine_blocks, engine_verilog
from .provenance import project_version

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
    # Before the Verilog, which takes a while: a folder that cannot be made is told at once.
    out.mkdir(parents=True, exist_ok=True)
    verilog = engine_verilog(config)
    config_hash = f"{config.hash:08x}"
    texts = {f"{TOP}.v": verilog, **_beside(config)}
    texts["manifest.json"] = manifest(
        verilog,
        TOP,
        config.model_dump(),
        config_hash,
        project_version=project_version(),
        files=texts,
    )
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


def _beside(config: GnnConfig) -> dict[str, str]:
    """Return the text of each file that belongs to the Verilog, by name."""
    guide = GUIDE.format(
        version=VERSION, config_hash=f"{config.hash:08x}", log_depth=config.log_depth
    )
    blocks = engine_blocks(config)
    heading = f"{TOP}, config {config.name}, hash {config.hash:08x}"
    return {
        "files.f": f"{TOP}.v\n",
        "config.toml": to_toml(config),
        "registers.md": guide + markdown(REGISTERS),
        f"{TOP}.h": c_header(config),
        f"{TOP}.py": python_driver(config),
        "blocks.svg": block_svg(blocks, heading),
        "blocks.md": block_text(blocks, heading, "blocks.svg"),
    }
