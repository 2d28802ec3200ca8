"""The C++ harness: batches, idle and stall, what it refuses; then a sweep of dot products."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from amaranth import *
from amaranth.hdl import signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.gnn.config import CombinationConfig, GnnConfig
from hw.verilog import ToolchainError, emit
from sim import dot_products, harness_source
from sim.bench import GRID, DeadlockError, StreamRuleError, check
from sim.harness import Harness, unit_harness
from sim.harness_ports import Port, Ports, component_ports

pytestmark = pytest.mark.rtl

IN = data.StructLayout({"x": signed(20), "tag": 70})
OUT = data.StructLayout({"y": signed(24), "tag": 70})

WITHDRAWS, CHANGES, GIVES_TWICE = 1, 2, 3


class Scale(wiring.Component):
    """y = 3 x + bias, one register; `fault` breaks one rule of streams."""

    i: stream.Interface
    o: stream.Interface
    bias: Signal
    fault: Signal
    table: Any
    events: Any
    total: Signal

    def __init__(self) -> None:
        super().__init__(
            {
                "i": In(stream.Signature(IN)),
                "o": Out(stream.Signature(OUT)),
                "bias": In(signed(8)),
                "fault": In(2),
                "table": In(data.StructLayout({"enable": 1, "value": 40})),
                "events": Out(data.StructLayout({"taken": 1, "_": 40, "low": 3})),
                "total": Out(42),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Hold one word; add up what the table writes."""
        m = Module()
        taken = Signal()
        again = Signal()
        m.d.comb += [
            self.i.ready.eq(~self.o.valid | self.o.ready & ~again),
            taken.eq(self.i.valid & self.i.ready),
            self.events.taken.eq(taken),
            self.events.low.eq(Mux(taken, self.i.payload.x[:3], 0)),
        ]
        with m.If(self.o.ready | (self.fault == WITHDRAWS)):
            m.d.sync += [self.o.valid.eq(again), again.eq(0)]
        with m.If(taken):
            m.d.sync += [
                self.o.valid.eq(1),
                again.eq(self.fault == GIVES_TWICE),
                self.o.payload.y.eq(self.i.payload.x * 3 + self.bias),
                self.o.payload.tag.eq(self.i.payload.tag),
            ]
        with m.Elif((self.fault == CHANGES) & ~self.o.ready):
            m.d.sync += self.o.payload.y.eq(self.o.payload.y + 1)
        with m.If(self.table.enable):
            m.d.sync += self.total.eq(self.total + self.table.value)
        return m


@pytest.fixture(scope="module")
def model() -> Harness:
    return Harness(Scale())


@pytest.fixture
def scale(model: Harness) -> Harness:
    model.restart()
    return model


def _values(count: int) -> np.ndarray:
    rng = np.random.default_rng(3)
    values = np.zeros(count, [("x", np.int64), ("tag", np.uint32, 3)])
    values["x"] = rng.integers(-(1 << 19), 1 << 19, count)
    values["tag"] = rng.integers(0, [1 << 32, 1 << 32, 1 << 6], (count, 3))
    return values


@pytest.mark.parametrize(("idle", "stall"), GRID)
def test_a_batch_is_a_whole_stream(scale, idle, stall):
    values = _values(5000)
    words = scale.pack("i", values)
    result = scale.run(
        {"i": words}, {"o": 5000}, constants={"bias": -100}, idle=idle, stall=stall, seed=4
    )
    out = scale.unpack("o", result.outputs["o"])
    assert (out["y"] == values["x"] * 3 - 100).all()
    assert (out["tag"] == values["tag"]).all()
    assert result.events == {"events.taken": 5000, "events.low": int((values["x"] & 7).sum())}
    assert result.complete
    assert result.simulated == result.cycles + 32
    if not idle and not stall:
        assert result.cycles == 5001
    else:
        assert 1.5 * 5000 < result.cycles < 3.5 * 5000


def test_cycles_equal_those_of_the_bench(scale):
    values = _values(20)
    inputs = [
        {"x": int(x), "tag": sum(int(word) << 32 * k for k, word in enumerate(tag))}
        for x, tag in values
    ]
    outputs = [{"y": item["x"] * 3, "tag": item["tag"]} for item in inputs]
    slow = check(Scale(), {"i": inputs}, {"o": outputs})
    fast = scale.run({"i": scale.pack("i", values)}, {"o": 20}, handshakes=True)
    assert fast.cycles == slow.cycles
    assert fast.taken["i"].tolist() == slow.taken["i"]
    assert fast.given["o"].tolist() == slow.given["o"]


def test_batches_follow_one_another_and_seeds_differ(scale):
    words = scale.pack("i", _values(300))
    runs = [
        scale.run({"i": words}, {"o": 300}, constants=constants, idle=0.4, stall=0.2, seed=seed)
        for seed, constants in ((1, {"bias": 5}), (2, {}), (1, {}))
    ]
    assert all((run.outputs["o"] == runs[0].outputs["o"]).all() for run in runs)
    assert runs[0].cycles == runs[2].cycles != runs[1].cycles


def test_tables_and_samples(scale):
    rows = {"enable": [1, 0, 1, 1], "value": [1, 2, 1 << 39, 4]}
    table = scale.pack("table", rows)
    result = scale.run(tables={"table": table}, samples={"total": 6})
    sampled = scale.unpack("total", result.samples["total"]).tolist()
    assert sampled == [0, 1, 1, 1 + (1 << 39), 5 + (1 << 39), 5 + (1 << 39)]
    assert result.cycles == 6
    after = scale.run(samples={"total": 1}, settle=0)
    assert scale.unpack("total", after.samples["total"])[0] == 5 + (1 << 39)
    assert after.simulated == 1


@pytest.mark.parametrize(
    ("fault", "stall", "message"),
    [
        (WITHDRAWS, 0.5, r"^o: payload withdrawn in cycle \d+$"),
        (CHANGES, 0.5, r"^o: payload changed in cycle \d+$"),
        (GIVES_TWICE, 0.0, r"^o: output 5 too many in cycle 6$"),
    ],
)
def test_broken_rules_are_seen(scale, fault, stall, message):
    words = scale.pack("i", _values(5))
    with pytest.raises(StreamRuleError, match=message):
        scale.run({"i": words}, {"o": 5}, constants={"fault": fault}, stall=stall, seed=1)


def test_the_limit_says_what_came(scale):
    words = scale.pack("i", _values(40))
    message = r"^Scale is not done after 11 cycles: o gave 10 of 50, i took 11 of 40$"
    with pytest.raises(DeadlockError, match=message):
        scale.run({"i": words}, {"o": 50}, limit=11)
    scale.restart()
    result = scale.run({"i": words}, {"o": 50}, limit=11, complete=False)
    assert not result.complete
    assert (scale.unpack("o", result.outputs["o"])["tag"] == _values(40)["tag"][:10]).all()
    scale.restart()
    message = r"^Scale is not done after 3 cycles: a table or a sample is longer$"
    with pytest.raises(DeadlockError, match=message):
        scale.run(samples={"total": 4}, limit=3)


def test_refused_arguments(scale):
    words = scale.pack("i", _values(4))
    with pytest.raises(ValueError, match=r"^Scale has no input stream 'o': its input streams are"):
        scale.run({"o": words}, {})
    message = r"^Scale has no input 'i': its inputs are bias, fault, table$"
    with pytest.raises(ValueError, match=message):
        scale.run(constants={"i": 1})
    with pytest.raises(ValueError, match=r"^bias must be in -128\.\.127, not 128$"):
        scale.run(constants={"bias": 128})
    message = r"^i must be packed words \[n, 3\] of uint32, not \[4, 2\] of uint32$"
    with pytest.raises(ValueError, match=message):
        scale.run({"i": words[:, :2]}, {})
    with pytest.raises(ValueError, match=r"^i must be packed words .*, not \[4, 3\] of int64$"):
        scale.run({"i": words.astype(np.int64)}, {})
    words[2, 2] |= 1 << 26
    with pytest.raises(ValueError, match=r"^i must have 90 bits, not more as in row 2$"):
        scale.run({"i": words}, {})
    with pytest.raises(ValueError, match=r"^unit must be one of .*, not 'multiplier'$"):
        unit_harness("multiplier", GnnConfig())


def test_nested_and_repeated_ports():
    class Many(wiring.Component):
        def __init__(self) -> None:
            pair = wiring.Signature({"a": Out(stream.Signature(3)), "b": In(4)})
            super().__init__({"p": Out(pair), "q": In(pair).array(2), "n": In(5).array(2)})

    ports = component_ports(Many())
    assert [(port.name, port.verilog) for port in ports.sinks] == [("p.a", "p__a")]
    assert [port.name for port in ports.sources] == ["q[0].a", "q[1].a"]
    assert [port.verilog for port in ports.inputs] == ["p__b", "n__0", "n__1"]
    assert [port.verilog for port in ports.outputs] == ["q__0__b", "q__1__b"]


@pytest.mark.slow
def test_two_processes_build_once_and_failures_are_named(tmp_path, monkeypatch):
    monkeypatch.setenv("BITWRIGHT_CACHE", str(tmp_path))
    code = (
        "from hw.round_robin import RoundRobin; from sim.harness import Harness\n"
        "print(Harness(RoundRobin(3)).run(samples={'chosen': 2}).cycles)"
    )
    command = [sys.executable, "-c", code]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.communicate()[0] for process in both] == ["2\n", "2\n"]
    assert len(list((tmp_path / "harness").glob("RoundRobin-*/finished"))) == 1
    # The runtime is compiled by now; a port that the model does not have is C++ that fails.
    monkeypatch.setattr(harness_source, "ports_header", lambda ports, present: "nonsense")
    with pytest.raises(ToolchainError, match=r"^g\+\+ failed on Scale: .*error.*build\.log\)$"):
        harness_source.build_harness(emit(Scale(), "Scale"), "Scale", Ports((), (), (), ()))


def test_ports_that_verilog_lacks_stay_empty():
    ports = Ports((Port("i", "i", 0),), (), (), ())
    header = harness_source.ports_header(ports, {"i__valid"})
    assert "{port(m.i___05Fvalid), Port{}, Port{}, 0}," in header


# The sweep. `benchmarks/dot_products.py` is its big sibling.

WIDE = GnnConfig(
    combination=CombinationConfig(
        lanes=16, cols=8, weight_buffer_bytes=16 * 1024, columns_max=32, psum_width=22
    )
)


@pytest.fixture(scope="module", params=[GnnConfig(), WIDE], ids=["tiny", "wide"])
def array(request) -> tuple[Harness, GnnConfig]:
    return unit_harness("bit_serial_array", request.param), request.param


@pytest.mark.parametrize(("seed", "tiles"), [(1, 1), (2, None), (3, None), (4, None)])
def test_dot_products(array, seed, tiles):
    harness, config = array
    idle, stall = GRID[seed % len(GRID)]
    work = dot_products.make(config, 25_000, seed, tiles)
    psums, words, result = dot_products.run(harness, work, idle=idle, stall=stall, seed=seed)
    dot_products.compare(work, psums, words, result.events, seed)
