"""The behavioural AXI4 memory, in Verilator and in Icarus."""

from pathlib import Path

import pytest

from sim.build import Build, build

pytestmark = pytest.mark.rtl

MEMORY = Path(__file__).parents[1] / "sim" / "verilog" / "axi_memory.v"
BENCH = "sim.benches.memory_rules"
STALLS = ("+stall_ar=90", "+stall_r=90", "+stall_aw=90", "+stall_w=90", "+stall_b=90")


@pytest.fixture(scope="module", params=["verilator", "icarus"])
def model(request: pytest.FixtureRequest) -> Build:
    return build(
        [MEMORY],
        "axi_memory",
        simulator=request.param,
        parameters={"DEPTH": 8192, "ADDR_WIDTH": 20},
        args=["-Wno-BLKSEQ"] if request.param == "verilator" else [],
    )


@pytest.mark.parametrize("plusargs", [(), STALLS, (*STALLS, "+read_rate=100", "+write_rate=60")])
def test_traffic_of_another_master(model: Build, tmp_path: Path, plusargs: tuple[str, ...]) -> None:
    model.run(
        BENCH,
        tmp_path,
        testcase="traffic",
        environment={"BITWRIGHT_SEED": "3"},
        plusargs=[*plusargs, "+seed=7"],
    )


@pytest.mark.parametrize("latency", [2, 8, 60])
def test_latency_and_a_beat_a_cycle(model: Build, tmp_path: Path, latency: int) -> None:
    model.run(
        BENCH,
        tmp_path,
        testcase="timing",
        environment={"BITWRIGHT_LATENCY": str(latency)},
        plusargs=[f"+read_latency={latency}", f"+write_latency={latency}"],
    )


def test_rate(model: Build, tmp_path: Path) -> None:
    model.run(BENCH, tmp_path, testcase="rates", plusargs=["+read_rate=64", "+write_rate=64"])


def test_injected_errors(model: Build, tmp_path: Path) -> None:
    model.run(BENCH, tmp_path, testcase="errors", plusargs=["+error_low=1000", "+error_high=1080"])


def test_rules_are_checked_and_logged(model: Build, tmp_path: Path) -> None:
    log, dump = tmp_path / "memory.log", tmp_path / "dump.hex"
    image = tmp_path / "image.hex"
    image.write_text("0123456789abcdef\n" * 32)
    model.run(
        BENCH,
        tmp_path,
        testcase="violations",
        plusargs=[
            f"+memory_log={log}",
            f"+dump={dump}",
            f"+image={image}",
            "+image_beats=32",
        ],
    )
    lines = [line.split(maxsplit=2) for line in log.read_text().splitlines()]
    assert [text for kind, _, text in lines if kind == "v"] == [
        "read burst crosses 4 KiB",
        "WLAST is not at the last beat",
        "WLAST is not at the last beat",
        "W changed while it waited",
        "WVALID withdrawn",
        "read address is not a beat's",
        "read burst is not INCR of whole beats",
    ]
    assert [text for kind, _, text in lines if kind == "w"][-1] == "00018 0000000000000004 ff"
    assert {name: value for kind, name, value in lines if kind == "t"} == {
        "read_bursts": "3",
        "read_beats": "4",
        "write_bursts": "2",
        "write_beats": "20",
    }
    assert dump.read_text().split() == [
        *(f"{beat:016x}" for beat in (1, 2, 3, 4)),
        *["0123456789abcdef"] * 28,
    ]
