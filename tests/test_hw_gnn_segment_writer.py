"""SegmentWriter against the memory that it must leave."""

import pytest
from amaranth import *

from hw.gnn.config import GnnConfig
from hw.gnn.segment_writer import SegmentWriter
from sim.bench import GRID, run
from sim.servers import WriteServer
from sim.streams import Source, Strobes

REGIONS = [(0x40, 1, [7, 8, 9]), (0x100, 0, [1, 2]), (0x80, 1, []), (0x180, 1, [5])]


def _tokens(beats: list[int]) -> list[dict]:
    tokens = [{"data": beat, "valid": 1, "last": 0} for beat in beats]
    if not tokens:
        return [{"last": 1}]
    tokens[-1]["last"] = 1
    return tokens


@pytest.mark.parametrize("latency", [1, 7])
@pytest.mark.parametrize(("idle", "stall"), GRID)
def test_the_header_comes_last_and_counts_the_beats(latency, idle, stall):
    dut = SegmentWriter(GnnConfig())
    memory = bytearray(0x200)
    segments = [{"address": address, "header": header} for address, header, _ in REGIONS]
    tokens = [token for _, _, beats in REGIONS for token in _tokens(beats)]
    server = WriteServer(
        "o", dut.o_write_request, dut.o_write, dut.write_done, memory, latency, stall
    )
    sources = [Source("i_segment", dut.i_segment, segments, idle), Source("i", dut.i, tokens, idle)]
    done = Strobes("done", dut.done, len(REGIONS))
    run(dut, [*sources, server, done])
    requests, expected = [], bytearray(0x200)
    for address, header, beats in REGIONS:
        requests.append((address + 8 * header, len(beats)))
        words = ([len(beats)] if header else []) + beats
        requests += [(address, 1)] if header else []
        for k, word in enumerate(words):
            expected[address + 8 * k : address + 8 * k + 8] = word.to_bytes(8, "little")
    assert server.requests == requests
    assert memory == expected


def test_the_stated_cycles_of_one_region():
    dut = SegmentWriter(GnnConfig())
    server = WriteServer("o", dut.o_write_request, dut.o_write, dut.write_done, bytearray(64), 3)
    segment = Source("i_segment", dut.i_segment, [{"address": 0, "header": 1}])
    source = Source("i", dut.i, _tokens([1, 2, 3]))
    done = Strobes("done", dut.done, 1)
    run(dut, [segment, source, server, done])
    assert segment.cycles == [0]
    assert server.cycles == [2, 3, 4, 9]
    assert server.requests == [(8, 3), (0, 1)]
    assert done.cycles == [12]


def test_an_acknowledgement_with_the_last_token_is_not_lost():
    dut = SegmentWriter(GnnConfig())
    done = Strobes("done", dut.done, 1)
    wired = Module()
    wired.submodules.dut = dut
    token = dut.o_write.payload
    wired.d.comb += [
        dut.o_write_request.ready.eq(1),
        dut.o_write.ready.eq(1),
        dut.write_done.eq(dut.o_write.valid & token.last),
    ]
    sources = [
        Source("i_segment", dut.i_segment, [{"address": 0, "header": 1}]),
        Source("i", dut.i, [{"last": 1}]),
    ]
    run(wired, [*sources, done])
    assert done.cycles == [4]
