"""The shared object of a harness: C++ made from a component's ports, compiled with its model.

The object lies in the build cache beside the simulators, under a key of everything that goes into
it; two processes that want the same one build it once.
"""

import hashlib
import json
import shutil
import subprocess
import sysconfig
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from hw.verilog import WAIVERS, ToolchainError, module_ports
from sim.build import cache_folder, first_error, locked
from sim.harness_ports import Port, Ports
from sim.toolchain import require, verilator_env, verilator_version

__all__ = ["build_harness", "ports_header"]

TEMPLATE = Path(__file__).with_name("cpp") / "harness.cpp"

VERILATOR_FLAGS = ("--cc", "-O3", "--x-assign", "fast", "--x-initial", "fast", "--noassert")
"""Registers and memories of the emitted Verilog all have a first value, so no X is lost."""

CPP_FLAGS = (
    *("-std=c++17", "-O2", "-fPIC", "-pthread", "-w"),
    *("-DVL_TIME_CONTEXT", "-DVM_COVERAGE=0", "-DVM_SC=0", "-DVM_TIMING=0", "-DVM_TRACE=0"),
)
RUNTIME = ("verilated.cpp", "verilated_threads.cpp")


def build_harness(verilog: str, top: str, ports: Ports) -> Path:
    """Return the shared object for the emitted `verilog`, from the cache if it is there.

    Raises
    ------
    ToolchainError
        If a program is missing, or Verilator or the C++ compiler refuses its input.
    """
    require("g++", "perl")
    env = verilator_env()
    include = Path(env["VERILATOR_ROOT"]) / "include"
    # A port named like a keyword of Verilog has a backslash there.
    present = {port.name.lstrip("\\") for port in module_ports(verilog, top)}
    header = ports_header(ports, present)
    texts = [verilog, header, TEMPLATE.read_text(), *VERILATOR_FLAGS, *sorted(WAIVERS)]

    def compile_model(folder: Path) -> None:
        runtime = _cached("runtime", [], lambda folder: _compile_runtime(folder, include))
        (folder / "ports.h").write_text(header)
        (folder / f"{top}.v").write_text(verilog)
        _verilate(folder, top, env)
        # One file for the compiler, since the headers cost more than the model of a unit.
        files = [*sorted((folder / "model").glob("*.cpp")), TEMPLATE]
        (folder / "all.cpp").write_text("".join(f'#include "{file}"\n' for file in files))
        flags = ["-shared", *_flags(include), "-I.", "-Imodel", "-o", "harness.so", "all.cpp"]
        _call(["g++", *flags, *map(str, sorted(runtime.glob("*.o")))], folder, None, top)
        shutil.rmtree(folder / "model")

    return _cached(top, texts, compile_model) / "harness.so"


def _cached(name: str, texts: Sequence[str], compile_into: Callable[[Path], None]) -> Path:
    """Return the folder for these texts; it is filled if that was not done or not finished."""
    tools = [verilator_version(), _compiler_version(), sysconfig.get_platform()]
    recipe = json.dumps([tools, CPP_FLAGS, texts])
    key = hashlib.sha256(recipe.encode()).hexdigest()[:24]
    folder = cache_folder() / "harness" / f"{name}-{key}"
    with locked(folder):
        if not (folder / "finished").is_file():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            compile_into(folder)
            (folder / "finished").touch()
    return folder


def ports_header(ports: Ports, present: set[str]) -> str:
    """Return the C++ that finds every port in the model; those not `present` stay empty.

    Verilog has no ports of no width, and a stream that is always ready or valid lacks that port.
    """

    def member(name: str) -> str:
        # Verilator escapes the second of two underscores.
        return f"port(m.{name.replace('__', '___05F')})" if name in present else "Port{}"

    def stream(port: Port) -> str:
        names = (f"{port.verilog}__{part}" for part in ("valid", "ready", "payload"))
        return f"{{{', '.join(map(member, names))}, {port.words}}}"

    fields = (f"{{{field.output}, {field.offset}, {field.width}}}" for field in ports.fields)
    lines = [
        "static Ports make_ports(Vmodel &m) {",
        "  return Ports{",
        f"      {member('clk')},",
        *_braced(map(stream, ports.sources)),
        *_braced(map(stream, ports.sinks)),
        *_braced(member(port.verilog) for port in ports.inputs),
        *_braced(member(port.verilog) for port in ports.outputs),
        *_braced(fields),
        "  };",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _braced(items: Iterable[str]) -> Sequence[str]:
    return ["      {", *(f"          {item}," for item in items), "      },"]


def _verilate(folder: Path, top: str, env: dict[str, str]) -> None:
    program = shutil.which("verilator", path=env["PATH"]) or "verilator"
    waivers = [f"-Wno-{rule}" for rule in WAIVERS]
    names = ["--top-module", top, "--prefix", "Vmodel", "--Mdir", "model", f"{top}.v"]
    _call([program, *VERILATOR_FLAGS, *waivers, *names], folder, env, top)


def _compile_runtime(folder: Path, include: Path) -> None:
    """Compile what every model needs, which takes longer than a unit's model."""
    sources = [str(include / name) for name in RUNTIME]
    _call(["g++", "-c", *_flags(include), *sources], folder, None, "Verilator's runtime")


def _flags(include: Path) -> list[str]:
    return [*CPP_FLAGS, f"-I{include}", f"-I{include / 'vltstd'}"]


def _call(command: Sequence[str], folder: Path, env: dict[str, str] | None, what: str) -> None:
    log = folder / "build.log"
    with log.open("a") as file:
        done = subprocess.run(
            command, cwd=folder, env=env, stdout=file, stderr=subprocess.STDOUT, check=False
        )
    if done.returncode:
        raise ToolchainError(f"{Path(command[0]).name} failed on {what}: {first_error(log)}")


def _compiler_version() -> str:
    done = subprocess.run(["g++", "-dumpfullversion"], capture_output=True, text=True, check=True)
    return done.stdout.strip()
