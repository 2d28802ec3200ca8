"""A run repeated without Python: it passes on both simulators, and it can fail."""

import hashlib
import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from hw.gnn.config import PRESETS
from hw.gnn.counters import COUNTERS
from hw.gnn.format import COMBINE, HEADER
from hw.gnn.lower import lower
from hw.gnn.program import Kind, Program
from models.golden.gnn.decode import read_word
from models.golden.gnn.execute import Execution, execute
from quant.graph.synthetic import CORNERS, random_gcn
from sim.build import cache_folder
from sim.cli.app import main
from sim.cli.graphs import BUILT_IN, load_graph
from sim.memory import MemoryOptions, read_image, write_image
from sim.replay import replay
from sim.toolchain import verilator_env

pytestmark = pytest.mark.rtl

TINY = PRESETS["tiny"]
BEAT_BYTES = TINY.memory.beat_bytes
SIMULATORS = ("icarus", pytest.param("verilator", marks=pytest.mark.slow))
EVENTS = sum(not counter.is_time for counter in COUNTERS)
CORNER_GRAPH = random_gcn(26, corners=CORNERS, widths=(0, 1, 5, 8), seed=1)


@dataclass(frozen=True)
class Case:
    """A replay folder, and the Program and golden run that it came from."""

    folder: Path
    program: Program
    execution: Execution


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Case:
    """Write the demo's run through the command line."""
    folder = tmp_path_factory.mktemp("demo") / "replay"
    assert main(["replay", "gnn", "--out", str(folder)]) == 0
    program = lower(load_graph(BUILT_IN), TINY)
    return Case(folder, program, execute(program))


@pytest.fixture(scope="module")
def corners(tmp_path_factory: pytest.TempPathFactory) -> Case:
    """Write a run in several parts on a stalling memory."""
    folder = tmp_path_factory.mktemp("corners")
    memory = MemoryOptions(stall=0.35, seed=3)
    replay(CORNER_GRAPH, TINY, folder, memory=memory, partition="natural", part_rows=9)
    program = lower(CORNER_GRAPH, TINY, "natural", 9)
    return Case(folder, program, execute(program))


def _run(folder: Path, simulator: str, copy: Path, *arguments: str) -> tuple[int, list[str]]:
    """Run a copy of a folder by its Makefile, without our packages; return code and lines."""
    shutil.copytree(folder, copy)
    env = {k: v for k, v in verilator_env().items() if not k.startswith("PYTHON")}
    if simulator == "verilator":
        _built(copy, env)
    done = subprocess.run(
        ["make", "--silent", simulator, *arguments],
        cwd=copy,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout.splitlines()


def _built(folder: Path, env: dict[str, str]) -> None:
    """Build the model by the Makefile, or take it from the cache, as newest file."""
    compiled = (path.read_text() for path in sorted([*folder.glob("*.v"), *folder.glob("*.cpp")]))
    recipe = re.sub(r"^RUN = .*$", "", (folder / "Makefile").read_text(), flags=re.M)
    key = hashlib.sha256("".join([*compiled, recipe]).encode()).hexdigest()[:24]
    kept = cache_folder() / "replay" / key
    program = folder / "obj_dir" / "replay"
    if not kept.is_file():
        command = ["make", "--silent", "obj_dir/replay"]
        subprocess.run(command, cwd=folder, env=env, capture_output=True, check=True)
        kept.parent.mkdir(parents=True, exist_ok=True)
        part = kept.with_suffix(f".{os.getpid()}")
        shutil.copy(program, part)
        part.rename(kept)
    program.parent.mkdir(exist_ok=True)
    shutil.copy(kept, program)


@pytest.mark.slow
@pytest.mark.parametrize("simulator", ["icarus", "verilator"])
def test_the_demo_passes(simulator: str, demo: Case, tmp_path: Path) -> None:
    code, lines = _run(demo.folder, simulator, tmp_path / "copy")
    beats = -(-len(demo.program.image) // BEAT_BYTES)
    assert lines[-1] == f"PASS: {beats * BEAT_BYTES} bytes of memory and {EVENTS} event counters"
    assert code == 0


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_parts_and_stalls_pass(simulator: str, corners: Case, tmp_path: Path) -> None:
    assert "+stall_ar=90" in (corners.folder / "Makefile").read_text()
    code, lines = _run(corners.folder, simulator, tmp_path / "copy")
    assert (code, lines[-1].partition(":")[0]) == (0, "PASS")


def _change(folder: Path, name: str, address: int, mask: int) -> tuple[int, int]:
    """Change a byte of a memory file; return it before and after."""
    memory = read_image(folder / name, BEAT_BYTES).copy()
    before = int(memory[address])
    memory[address] ^= mask
    write_image(folder / name, memory, BEAT_BYTES)
    return before, int(memory[address])


@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.parametrize(
    ("kind", "layer", "part"), [(Kind.LOGITS, 1, 2), (Kind.FEATURES, 0, 1), (Kind.WEIGHTS, 1, -1)]
)
def test_a_changed_byte_is_named(
    simulator: str, kind: Kind, layer: int, part: int, corners: Case, tmp_path: Path
) -> None:
    changed = tmp_path / "changed"
    shutil.copytree(corners.folder, changed)
    region = corners.program.region(kind, layer, part)
    address = region.address + region.size_bytes // 2
    got, expected = _change(changed, "expected.hex", address, 0x41)
    code, lines = _run(changed, simulator, tmp_path / "copy")
    assert code != 0
    where = f"{kind.value} of layer {layer}" + (f", part {part}" if part >= 0 else "")
    assert lines[-2] == (
        f"FAIL: address {address:016x}, {where} (its byte {address - region.address}): "
        f"expected {expected:02x}, got {got:02x}; 1 bytes differ in all"
    )
    assert lines[-1] == "FAIL: 1 checks of this run"


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_a_changed_weight_shows_in_the_memory(
    simulator: str, corners: Case, tmp_path: Path
) -> None:
    """The weight in the image of both: then what differs is what the weight changes."""
    changed = tmp_path / "changed"
    shutil.copytree(corners.folder, changed)
    header = read_word(corners.program.image, 0, HEADER)
    command = read_word(corners.program.image, header["combine_address"], COMBINE)
    _change(changed, "image.hex", command["weights_address"], 4)
    _change(changed, "expected.hex", command["weights_address"], 4)
    image = corners.program.image.copy()
    image[command["weights_address"]] ^= 4
    wrong = execute(Program(**{**vars(corners.program), "image": image})).memory
    right = corners.execution.memory.copy()
    right[command["weights_address"]] ^= 4
    first = int((wrong != right).argmax())
    region = corners.program.find(first)
    assert region is not None
    code, lines = _run(changed, simulator, tmp_path / "copy")
    assert code != 0
    told = next(line for line in lines if line.startswith("FAIL: address"))
    part = f", part {region.part}" if region.part >= 0 else ""
    assert told.startswith(
        f"FAIL: address {first:016x}, {region.kind.value} of layer {region.layer}{part} "
        f"(its byte {first - region.address}): "
        f"expected {right[first]:02x}, got {wrong[first]:02x}; "
    )


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (" STATUS", " ERROR", None),
        ("read 008", "read 00c", "FAIL: CONFIG_HASH at offset 0000000c is answered with 2, not"),
        ("event 138 ", "event 138 1", "FAIL: weight_writes is "),
        ("wait 000 ", "wait 000 40 early\nwait 000 ", "FAIL: no interrupt 64 cycles after"),
    ],
)
def test_a_changed_step_is_told(
    old: str, new: str, told: str | None, corners: Case, tmp_path: Path
) -> None:
    changed = tmp_path / "changed"
    shutil.copytree(corners.folder, changed)
    text = (changed / "run.txt").read_text()
    assert old in text
    (changed / "run.txt").write_text(text.replace(old, new))
    code, lines = _run(changed, "icarus", tmp_path / "copy")
    if told is None:
        assert code == 0
    else:
        assert code != 0
        assert any(line.startswith(told) for line in lines)


def test_readme_shows_the_same_commands(corners: Case, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(corners.folder, copy)
    commands = [
        line.strip()
        for line in (copy / "README.md").read_text().splitlines()
        if line.startswith(("    iverilog ", "    vvp "))
    ]
    assert len(commands) == 2
    for command in commands:
        assert subprocess.run(command.split(), cwd=copy, check=False).returncode == 0
    make = (copy / "Makefile").read_text()
    for word in (
        (copy / "README.md").read_text().partition("    verilator ")[2].split("\n")[0].split()
    ):
        assert word.removeprefix("obj_dir/") in make


def test_the_bench_has_no_warnings(corners: Case) -> None:
    sources = ["settings.v", "bitwright_gnn.v", "axi_memory.v", "tb_gnn.v", "replay.v"]
    command = ["iverilog", "-g2005", "-Wall", "-s", "replay_clock", "-o", "/dev/null", *sources]
    done = subprocess.run(
        [*command, "replay_clock.v"],
        cwd=corners.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, [x for x in done.stderr.splitlines() if "replay" in x]) == (0, [])


def test_json_lists_the_files(demo: Case, tmp_path: Path, capsys) -> None:
    assert main(["replay", "gnn", "--out", str(tmp_path), "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    names = {Path(path).name for path in content["files"]}
    assert names == {path.name for path in tmp_path.iterdir()}
    for name in names:
        assert (tmp_path / name).read_bytes() == (demo.folder / name).read_bytes()
        assert str(Path(__file__).parents[1]) not in (tmp_path / name).read_text()
