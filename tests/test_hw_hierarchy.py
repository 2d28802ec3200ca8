"""Blocks and streams read from gates: every way to connect, and the engine against its Verilog."""

import re
from typing import Any

import pytest
from amaranth import *
from amaranth.lib import data, fifo, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.axi import bus, flat, join, lite
from hw.gnn.accelerator import GnnAccelerator
from hw.gnn.config import PRESETS
from hw.hierarchy import Block, Connection, End, StoredMemory, blocks
from sim.engine import TOP, engine_verilog

TINY = PRESETS["tiny"]
PAIR = data.StructLayout({"a": 3, "b": signed(4)})


class Stage(wiring.Component):
    """A stream in and one out, through a register, so that no `valid` goes through."""

    i: stream.Interface
    o: stream.Interface

    def __init__(self, shape: Any) -> None:
        self._shape = shape
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform) -> Module:
        m = Module()
        m.submodules.table = memory.Memory(shape=self._shape, depth=5, init=[])
        m.d.sync += self.o.valid.eq(self.i.valid)
        m.d.comb += self.i.ready.eq(1)
        return m


class Slave(wiring.Component):
    """An AXI4-Lite subordinate that never answers."""

    axi: Any

    def __init__(self) -> None:
        super().__init__({"axi": In(bus(lite(12)))})

    def elaborate(self, platform) -> Module:
        return Module()


class Top(wiring.Component):
    """Two stages into one by a multiplexer, a FIFO, a pass-through, and a bus."""

    choose: Signal
    i: stream.Interface
    o: stream.Interface
    i_by: stream.Interface
    o_by: stream.Interface

    def __init__(self) -> None:
        self.table = lite(12)
        byte = stream.Signature(8)
        super().__init__(
            {
                "choose": In(1),
                "i": In(stream.Signature(PAIR)),
                "o": Out(stream.Signature(PAIR)),
                "i_by": In(byte),
                "o_by": Out(byte),
                **flat("s_axi_", self.table, In),
            }
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        m.submodules.first = first = Stage(PAIR)
        m.submodules.second = second = ResetInserter(self.choose)(inner := Stage(PAIR))
        m.submodules.last = last = Stage(PAIR)
        m.submodules.queue = queue = fifo.SyncFIFO(width=7, depth=3)
        m.submodules.slave = slave = Slave()
        assert second is not inner
        wiring.connect(m, wiring.flipped(self.i), first.i)
        with m.If(self.choose):
            m.d.comb += last.i.valid.eq(first.o.valid & self.choose)
        with m.Else():
            m.d.comb += last.i.valid.eq(inner.o.valid)
        m.d.comb += [
            queue.w_en.eq(last.o.valid),
            self.o.valid.eq(queue.r_rdy),
            self.o_by.valid.eq(self.i_by.valid),
        ]
        join(m, self, "s_axi_", slave.axi, self.table)
        return m


@pytest.fixture(scope="module")
def top() -> Block:
    return blocks(Top(), "top")


def _stream(source: tuple[str, str], target: tuple[str, str]) -> Connection:
    return Connection(End(*source), End(*target), 7, False)


def test_streams_and_buses_of_a_design(top: Block) -> None:
    assert set(top.connections) == {
        _stream(("", "i"), ("first", "i")),
        _stream(("first", "o"), ("last", "i")),
        _stream(("second", "o"), ("last", "i")),
        _stream(("last", "o"), ("queue", "w")),
        _stream(("queue", "r"), ("", "o")),
        Connection(End("", "s_axi"), End("slave", "axi"), 32, True),
    }
    assert len(top.connections) == 6
    assert [block.name for block in top.connected()] == [
        "first",
        "second",
        "last",
        "queue",
        "slave",
    ]


def test_instances_and_memories_of_a_design(top: Block) -> None:
    kinds = {block.name: block.kind for block in top.blocks}
    assert kinds == {
        "first": "Stage",
        "second": "Stage",
        "last": "Stage",
        "queue": "SyncFIFO",
        "slave": "Slave",
    }
    memories = {block.name: block.memories for block in top.blocks}
    assert memories["first"] == (StoredMemory("table", 7, 5),)
    assert memories["queue"] == (StoredMemory("storage", 7, 3),)


@pytest.fixture(scope="module")
def engine() -> Block:
    return blocks(GnnAccelerator(TINY), TOP)


def _paths(block: Block, path: str) -> set[str]:
    return {path}.union(*(_paths(inner, f"{path}__{inner.name}") for inner in block.blocks))


def test_blocks_of_the_engine_are_the_modules_of_its_verilog(engine: Block) -> None:
    modules = set(re.findall(r"^module (\w+)\(", engine_verilog(TINY), re.M))
    # A module that Yosys found empty is dropped, and nothing else is.
    assert modules <= _paths(engine, TOP)
    assert len(_paths(engine, TOP) - modules) <= 1


def test_every_master_and_slave_of_the_engine_is_connected(engine: Block) -> None:
    prefixes = set(re.findall(r"\b([ms]_axi\d*)_arvalid\b", engine_verilog(TINY).split(";")[0]))
    ends = {c.source.port for c in engine.connections if c.is_bus and not c.source.instance}
    ends |= {c.target.port for c in engine.connections if c.is_bus and not c.target.instance}
    assert ends == prefixes
    assert len(prefixes) >= 2


def test_each_stream_of_the_read_dma_has_a_request_and_data(engine: Block) -> None:
    requests = [c for c in engine.connections if c.target.port.startswith("i_request.")]
    read = [c for c in requests if c.target.instance.startswith("read_dma")]
    beats = [c for c in engine.connections if c.source.port.startswith("o_data.")]
    assert len(read) == len(beats) == 8
    assert {c.width for c in beats} == {TINY.memory.axi_data_width}
    for request in read:
        stem = request.target.port.removeprefix("i_request.")
        peers = [
            c.target.instance
            for c in beats
            if c.source == End(request.target.instance, f"o_data.{stem}")
        ]
        assert peers == [request.source.instance]
