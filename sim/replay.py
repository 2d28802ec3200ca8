"""One run as a folder that a Verilog simulator repeats and judges without Python."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from string import Template

from hw.gnn.config import GnnConfig
from hw.gnn.counters import COUNTERS
from hw.gnn.format import VERSION
from hw.gnn.lower import lower
from hw.gnn.partition import PartitionMode
from hw.gnn.program import Program
from hw.gnn.registers import ID_VALUE, REGISTERS
from hw.verilog import WAIVERS
from models.cost.gnn.estimate import estimate
from models.cost.gnn.memory import IdealMemory
from models.golden.gnn.execute import execute
from quant.graph.model import BitGraph
from sim.cosim import default_limit
from sim.engine import BENCH_WAIVERS, SOURCES, BenchSettings, bench_settings
from sim.memory import IDEAL, MemoryOptions, write_image

__all__ = ["Replay", "replay"]

_TEMPLATES = Path(__file__).parent / "templates"
_MAIN = Path(__file__).parent / "cpp" / "replay_main.cpp"

MEMORY_BYTES_MIN = 1 << 16
"""So that the Verilog of all small graphs is the same."""

_DONE = 2
"""STATUS of a run that is complete: done, neither busy nor error."""


@dataclass(frozen=True)
class Replay:
    """The written folder: its files, how much memory it compares, and the predicted cycles."""

    folder: Path
    files: tuple[str, ...]
    memory_bytes: int
    cycles: int


def replay(
    graph: BitGraph,
    config: GnnConfig,
    out: Path,
    *,
    memory: MemoryOptions = IDEAL,
    partition: PartitionMode = "auto",
    part_rows: int | None = None,
) -> Replay:
    """Write the folder `out`: Verilog, bench, memory before and after, and how to run them.

    Nothing is simulated: the memory afterwards is the golden model's, event counters and times are
    the cost model's. The same arguments give the same bytes.

    Parameters
    ----------
    graph : BitGraph
    config : GnnConfig
    out : Path
        Made if it is missing.
    memory : MemoryOptions
        How the memory of the bench behaves.
    partition, part_rows
        See `hw.gnn.lower.lower`.
    """
    out.mkdir(parents=True, exist_ok=True)
    program = lower(graph, config, partition, part_rows)
    execution = execute(program)
    ideal = IdealMemory(memory.read_latency, memory.write_latency)
    counters = estimate(program, execution.inputs, ideal).counters
    settings = bench_settings(config, max(len(program.image), MEMORY_BYTES_MIN))
    for source in _sources(settings):
        shutil.copyfile(source, out / _name(source))
    beats = write_image(out / "image.hex", program.image, config.memory.beat_bytes)
    write_image(out / "expected.hex", execution.memory, config.memory.beat_bytes)
    plusargs = ["+image=image.hex", f"+image_beats={beats}"]
    plusargs += [plusarg for plusarg in memory.plusargs() if plusarg not in IDEAL.plusargs()]
    texts = {
        "settings.v": _settings(settings),
        "regions.txt": _regions(program),
        "run.txt": "".join(_run(program, counters)),
        "Makefile": _makefile(settings, plusargs),
        "README.md": _readme(graph, config, settings, plusargs),
    }
    for name, text in texts.items():
        (out / name).write_text(text)
    names = [_name(source) for source in _sources(settings)]
    files = (*names, "image.hex", "expected.hex", *texts)
    return Replay(out, files, beats * config.memory.beat_bytes, counters["cycles"])


def _sources(settings: BenchSettings) -> tuple[Path, ...]:
    return (*settings.sources, SOURCES / "replay.v", SOURCES / "replay_clock.v", _MAIN)


def _name(source: Path) -> str:
    """Return the name in the folder; the engine's in the cache has the config's hash."""
    return "bitwright_gnn.v" if source.name.startswith("bitwright_gnn") else source.name


def _compiled(settings: BenchSettings) -> list[str]:
    """Return the Verilog files of either simulator, macros first."""
    return ["settings.v", *(_name(s) for s in settings.sources), "replay.v"]


def _settings(settings: BenchSettings) -> str:
    parameters = ", ".join(f".{name}({value})" for name, value in settings.parameters.items())
    macros = {
        **{name: str(value) for name, value in settings.defines.items()},
        "REPLAY_PARAMETERS": parameters,
        **{
            f"REPLAY_{name}": str(settings.parameters[name])
            for name in ("DATA_WIDTH", "REGISTER_WIDTH", "DEPTH")
        },
    }
    lines = [f"`define {name} {value}\n" for name, value in macros.items()]
    return "".join(["// Widths and depths of this run; compiled before the other files.\n", *lines])


def _regions(program: Program) -> str:
    return "".join(
        f"{r.address:08x} {r.size_bytes:08x} {r.kind.value} {r.layer} {r.part}\n"
        for r in program.regions
    )


def _run(program: Program, counters: dict[str, int]) -> Iterator[str]:
    """Yield the lines of run.txt: identity, start, end, counters."""
    address = {register.name: register.address for register in REGISTERS}
    identity = {"ID": ID_VALUE, "VERSION": VERSION, "CONFIG_HASH": program.config.hash}
    start = {"PROGRAM_ADDRESS_LO": 0, "PROGRAM_ADDRESS_HI": 0, "IRQ_ENABLE": 3, "CONTROL": 1}
    steps = [("read", name, value) for name, value in identity.items()]
    steps += [("write", name, value) for name, value in start.items()]
    for operation, name, value in steps:
        yield f"{operation} {address[name]:03x} {value:x} {name}\n"
    yield f"wait 000 {default_limit(program):x} interrupt\n"
    for name, value in (("STATUS", _DONE), ("ERROR", 0)):
        yield f"read {address[name]:03x} {value:x} {name}\n"
    for counter in COUNTERS:
        operation = "time" if counter.is_time else "event"
        offset = address[f"{counter.name.upper()}_LO"]
        yield f"{operation} {offset:03x} {counters[counter.name]:x} {counter.name}\n"


def _waivers() -> str:
    return " ".join(f"-Wno-{rule}" for rule in sorted({*WAIVERS, *BENCH_WAIVERS}))


def _makefile(settings: BenchSettings, plusargs: list[str]) -> str:
    return _fill(
        "replay_makefile.in",
        sources=" ".join(_compiled(settings)),
        plusargs=" ".join(plusargs),
        waivers=_waivers(),
    )


def _readme(
    graph: BitGraph, config: GnnConfig, settings: BenchSettings, plusargs: list[str]
) -> str:
    sources, run = " ".join(_compiled(settings)), " ".join(plusargs)
    return _fill(
        "replay_readme.in",
        graph=graph.name,
        config=config.name,
        config_hash=f"{config.hash:08x}",
        icarus_compile=f"iverilog -g2005 -s replay_clock -o replay.vvp {sources} replay_clock.v",
        icarus_run=f"vvp -n replay.vvp {run}",
        verilator_compile="verilator --cc --exe --build -O3 -CFLAGS -O2 --top-module replay "
        f"-o replay {_waivers()} {sources} replay_main.cpp",
        verilator_run=f"obj_dir/replay {run}",
    )


def _fill(template: str, **texts: str) -> str:
    return Template((_TEMPLATES / template).read_text()).substitute(texts)
