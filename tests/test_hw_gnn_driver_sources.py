"""The generated drivers: they compile, and they read and write what the register table says."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import ModuleType

import pytest

from hw.gnn.config import PRESETS
from hw.gnn.counters import COUNTERS
from hw.gnn.driver_sources import c_header, python_driver
from hw.gnn.format import VERSION, ErrorCode
from hw.gnn.registers import COUNTER_BASE, ID_VALUE, REGISTERS
from hw.registers import Access, Register

TINY = PRESETS["tiny"]
WORDS = 1024
ADDRESS = {register.name: register.address for register in REGISTERS}
CONTROL = [register for register in REGISTERS if register.address < COUNTER_BASE]
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wconversion", "-Wshadow", "-Wcast-qual"]

MAIN = """
#include "bitwright_gnn.h"
#include <stdio.h>

static uint32_t words[1024];

static uint32_t read_word(void *context, uint32_t offset)
{
    return ((uint32_t *)context)[offset / 4u];
}

static void write_word(void *context, uint32_t offset, uint32_t value)
{
    printf("write %u %u\\n", (unsigned)offset, (unsigned)value);
    ((uint32_t *)context)[offset / 4u] = value;
}

int main(void)
{
    const struct bitwright_gnn mapped = bitwright_gnn_at(words);
    const struct bitwright_gnn called = bitwright_gnn_through(read_word, write_word, words);
    const char *wrong;
    struct bitwright_gnn_times times;
    uint32_t counter, code;
    unsigned word, offset;
    while (scanf("%u %u", &offset, &word) == 2)
        words[offset / 4u] = word;
GETS
    wrong = bitwright_gnn_check(&mapped);
    printf("check %s\\n", wrong ? wrong : "right");
    for (counter = 0; bitwright_gnn_counter_name(counter); counter++)
        printf("counter %s %llu\\n", bitwright_gnn_counter_name(counter),
               (unsigned long long)bitwright_gnn_counter(&called, counter));
    for (code = 0; bitwright_gnn_error_name(code); code++)
        printf("error %u %s\\n", (unsigned)code, bitwright_gnn_error_name(code));
    times = bitwright_gnn_command(&mapped, BITWRIGHT_GNN_AGGREGATE, 5u);
    printf("command %u %u %u %u\\n", (unsigned)words[BITWRIGHT_GNN_LOG_SELECT / 4u],
           (unsigned)times.start, (unsigned)times.go, (unsigned)times.end);
    printf("ended %d\\n", bitwright_gnn_ended(&called));
    bitwright_gnn_start(&called, ((uint64_t)0x12u << 32) | 0x3000u, 3u);
    bitwright_gnn_clear(&called);
    bitwright_gnn_clear_status_error(&called);
    bitwright_gnn_control_soft_reset(&called);
    bitwright_gnn_set_irq_enable_error(&called, 0u);
    bitwright_gnn_set_log_select(&called, 0x12345u);
    return BITWRIGHT_GNN_COUNTERS == (int)counter ? 0 : 1;
}
"""


def _c_fields() -> list[tuple[str, Register, int, int]]:
    """Return accessor's stem, register, lowest bit and width of every field that can be read."""
    return [
        (r.name if f.name == "value" else f"{r.name}_{f.name}", r, f.low, f.width)
        for r in CONTROL
        for f in r.fields
        if f.access is not Access.STROBE
    ]


def _program() -> str:
    gets = [
        f'    printf("get {stem} %u\\n", (unsigned)bitwright_gnn_get_{stem.lower()}(&mapped));'
        for stem, *_ in _c_fields()
    ]
    return MAIN.replace("GETS", "\n".join(gets))


@pytest.fixture(scope="module", params=["c", "cc"], ids=["C", "C++"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile a program that uses the whole header, in either language."""
    compiler = {"c": ["gcc", "-std=c99"], "cc": ["g++", "-std=c++11"]}[request.param]
    folder = tmp_path_factory.mktemp("header")
    (folder / "bitwright_gnn.h").write_text(c_header(TINY))
    (folder / f"main.{request.param}").write_text(_program())
    command = [*compiler, *STRICT, "-o", "main", f"main.{request.param}"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    return folder / "main"


def _run(program: Path, words: dict[int, int]) -> list[list[str]]:
    text = "".join(f"{offset} {word}\n" for offset, word in words.items())
    done = subprocess.run([program], input=text, capture_output=True, text=True, check=True)
    return [line.split() for line in done.stdout.splitlines()]


def test_header_reads_every_field_and_counter(program: Path) -> None:
    random = Random(1)
    words = {register.address: random.getrandbits(32) for register in REGISTERS}
    lines = _run(program, words)
    found = {stem: int(value) for kind, stem, value in (x for x in lines if x[0] == "get")}
    assert found == {
        stem: words[register.address] >> low & (1 << width) - 1
        for stem, register, low, width in _c_fields()
    }
    counters = [(name, int(value)) for kind, name, value in (x for x in lines if x[0] == "counter")]
    assert counters == [
        (c.name, words[ADDRESS[f"{c.name.upper()}_LO"]]
         | words[ADDRESS[f"{c.name.upper()}_HI"]] << 32)
        for c in COUNTERS
    ]  # fmt: skip
    errors = {int(code): name for kind, code, name in (x for x in lines if x[0] == "error")}
    assert errors == {code.value: code.name for code in ErrorCode}
    times = [words[ADDRESS[name]] for name in ("LOG_START", "LOG_GO", "LOG_END")]
    assert ["command", *map(str, [TINY.log_depth + 5, *times])] in lines


def test_header_writes_what_a_run_needs(program: Path) -> None:
    lines = _run(program, {ADDRESS["STATUS"]: 4, ADDRESS["IRQ_ENABLE"]: 0})
    assert ["ended", "1"] in lines
    writes = [(int(at), int(value)) for kind, at, value in (x for x in lines if x[0] == "write")]
    assert writes == [
        (ADDRESS["PROGRAM_ADDRESS_LO"], 0x3000),
        (ADDRESS["PROGRAM_ADDRESS_HI"], 0x12),
        (ADDRESS["IRQ_ENABLE"], 3),
        (ADDRESS["CONTROL"], 1),
        (ADDRESS["STATUS"], 6),
        (ADDRESS["STATUS"], 4),
        (ADDRESS["CONTROL"], 2),
        (ADDRESS["IRQ_ENABLE"], 1),
        (ADDRESS["LOG_SELECT"], 0x2345),
    ]
    assert ["ended", "0"] in _run(program, {ADDRESS["STATUS"]: 1})


IDENTITY = {"ID": ID_VALUE, "VERSION": VERSION, "CONFIG_HASH": TINY.hash}


@pytest.mark.parametrize("wrong", [None, *IDENTITY])
def test_header_knows_its_engine(wrong: str | None, program: Path) -> None:
    words = {ADDRESS[name]: value ^ (name == wrong) for name, value in IDENTITY.items()}
    assert ["check", wrong or "right"] in _run(program, words)


def test_a_name_cannot_end_a_comment() -> None:
    config = TINY.model_copy(update={"name": 'a*/b"""\\'})
    assert "config a__b____." in c_header(config)
    assert "config a__b____." in python_driver(config)


@pytest.fixture(scope="module")
def driver() -> ModuleType:
    """Load the Python driver of `tiny` from its text."""
    module = ModuleType("bitwright_gnn")
    exec(python_driver(TINY), module.__dict__)
    return module


class Words:
    """A register file without an engine: words, and what was written."""

    def __init__(self, **words: int) -> None:
        self.words = {ADDRESS[name]: value for name, value in (IDENTITY | words).items()}
        self.written: list[tuple[int, int]] = []

    def read(self, address: int) -> int:
        return self.words.get(address, 0)

    def write(self, address: int, value: int) -> None:
        self.written.append((address, value))


def _engine(driver: ModuleType, **words: int) -> tuple:
    bus = Words(**words)
    return driver.Engine(bus.read, bus.write), bus


def test_python_driver_starts_a_run(driver: ModuleType) -> None:
    engine, bus = _engine(driver)
    engine.check()
    engine.start(0x12_0000_3000, interrupts=True)
    engine.clear()
    engine.soft_reset()
    assert bus.written == [
        (ADDRESS["PROGRAM_ADDRESS_LO"], 0x3000),
        (ADDRESS["PROGRAM_ADDRESS_HI"], 0x12),
        (ADDRESS["IRQ_ENABLE"], 3),
        (ADDRESS["CONTROL"], 1),
        (ADDRESS["STATUS"], 6),
        (ADDRESS["CONTROL"], 2),
    ]


def test_python_driver_reads_counters_status_and_log(driver: ModuleType) -> None:
    words = {
        f"{c.name.upper()}_{half}": 1000 * i + 7 * (half == "HI")
        for i, c in enumerate(COUNTERS)
        for half in ("LO", "HI")
    }
    times = {"LOG_START": 3, "LOG_GO": 5, "LOG_END": 9}
    engine, bus = _engine(driver, STATUS=3, **words, **times)
    assert engine.status() == (True, True, False)
    assert engine.counters() == {
        c.name: 1000 * i | (1000 * i + 7) << 32 for i, c in enumerate(COUNTERS)
    }
    log = engine.command_log("aggregate", TINY.log_depth + 3)
    assert log == [(3, 5, 9)] * TINY.log_depth
    assert bus.written[1] == (ADDRESS["LOG_SELECT"], TINY.log_depth + 1)


@pytest.mark.parametrize(
    ("words", "call", "message"),
    [
        (
            {"CONFIG_HASH": 7},
            lambda engine: engine.check(),
            rf"^CONFIG_HASH must read {TINY.hash:#010x}, not 0x00000007$",
        ),
        (
            {},
            lambda engine: engine.start(100),
            r"^program_address must be a multiple of 4096, not 100$",
        ),
        (
            {"STATUS": 4, "ERROR": 5},
            lambda engine: engine.start(0),
            r"^the last run ended with READ_ERROR; clear\(\) comes first$",
        ),
        (
            {"STATUS": 4, "ERROR": 6},
            lambda engine: engine.wait(),
            r"^the engine stopped with WRITE_ERROR$",
        ),
        (
            {"STATUS": 4, "ERROR": 77},
            lambda engine: engine.wait(),
            r"^the engine stopped with unknown code 77$",
        ),
        (
            {"STATUS": 1},
            lambda engine: engine.wait(seconds=0.0),
            r"^the engine is not done after 0 s$",
        ),
        (
            {},
            lambda engine: engine.write("LOG_SELECT", value=1 << 16),
            r"^LOG_SELECT\.value must fit 16 bits, not 65536$",
        ),
    ],
)
def test_python_driver_says_what_is_wrong(
    driver: ModuleType, words: dict[str, int], call: Callable, message: str
) -> None:
    engine, _ = _engine(driver, **words)
    with pytest.raises((driver.EngineError, ValueError), match=message):
        call(engine)
