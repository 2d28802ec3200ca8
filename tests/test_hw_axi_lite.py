"""AxiLiteSlave against a small memory, with every order and pace of the channels."""

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from amaranth import *
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In

from hw.axi import SLVERR, bus, lite
from hw.axi_lite import AxiLiteSlave
from sim.bench import GRID, run
from sim.lite import LiteMaster

WORDS = 16


class Words(wiring.Component):
    """Sixteen words behind the slave; addresses from 0x40 on are refused."""

    axi: Any

    def __init__(self) -> None:
        super().__init__({"axi": In(bus(lite(8)))})

    def elaborate(self, platform) -> Module:
        """Write byte by byte, read in the same cycle."""
        m = Module()
        m.submodules.slave = slave = AxiLiteSlave(8)
        m.submodules.words = words = memory.Memory(shape=32, depth=WORDS, init=[])
        write, read = words.write_port(granularity=8), words.read_port(domain="comb")
        wiring.connect(m, wiring.flipped(self.axi), slave.axi)
        m.d.comb += [
            slave.write_error.eq(slave.write_address[6:] != 0),
            slave.read_error.eq(slave.read_address[6:] != 0),
            write.addr.eq(slave.write_address[2:]),
            write.data.eq(slave.write_data),
            write.en.eq(Mux(slave.write & ~slave.write_error, slave.write_strobe, 0)),
            read.addr.eq(slave.read_address[2:]),
            slave.read_data.eq(read.data),
        ]
        return m


def _expected(accesses: Sequence[tuple[Any, ...]]) -> list[tuple[int, int]]:
    """Response and data of each access, in Python."""
    words, answers = [0] * WORDS, []
    for access in accesses:
        address, refused = access[1], access[1] >= 4 * WORDS
        if access[0] == "read":
            answers.append((SLVERR if refused else 0, words[address // 4 % WORDS]))
            continue
        mask = sum(0xFF << 8 * byte for byte in range(4) if access[3] >> byte & 1)
        if not refused:
            word = words[address // 4]
            words[address // 4] = word & ~mask | access[2] & mask
        answers.append((SLVERR if refused else 0, 0))
    return answers


@pytest.mark.parametrize(("idle", "stall"), GRID)
def test_reads_and_writes(idle, stall):
    rng = Random(1)
    accesses: list[tuple[Any, ...]] = [
        ("write", 0, 0xFFFFFFFF, 15),
        ("write", 0, 0, 5),
        ("read", 0),
        ("write", 0x40, 1, 15),
        ("read", 0x40),
        ("read", 0),
        ("write", 0x3C, 0x12345678, 0),
        ("read", 0x3C),
    ]
    for _ in range(40):
        address = rng.randrange(0, 0x50, 4)
        write = ("write", address, rng.getrandbits(32), rng.getrandbits(4))
        accesses += rng.choice([[write], [write, ("read", address)], [("read", address)]])
    accesses += [("read", address) for address in range(0, 4 * WORDS, 4)]
    dut = Words()
    master = LiteMaster(dut.axi, accesses, idle=idle, stall=stall)
    run(dut, [master])
    expected = _expected(accesses)
    for index, (answer, wanted) in enumerate(zip(master.answers, expected, strict=True)):
        assert answer[0] == wanted[0], accesses[index]
        if accesses[index][0] == "read" and not wanted[0]:
            assert answer[1] == wanted[1], accesses[index]


def test_cycles_of_an_access():
    """Taken in t, answered in t + 2; the next is taken in t + 3."""
    dut = Words()
    master = LiteMaster(dut.axi, [("write", 0, 1, 15), ("read", 0), ("read", 4), ("read", 8)])
    run(dut, [master])
    assert master.taken_cycles == [0, 3, 6, 9]
    assert master.answer_cycles == [2, 5, 8, 11]
