"""ReadDma against a memory that keeps the AXI rules and takes every freedom they leave."""

from random import Random

import pytest

from hw.dma_read import ReadDma
from hw.memory_config import MemoryConfig
from sim.axi import AxiReader
from sim.bench import GRID, check, run
from sim.streams import Sink, Source, Strobes

CONFIGS = [
    MemoryConfig(),
    MemoryConfig(axi_data_width=256, burst_beats=4, axi_addr_width=40),
    MemoryConfig(axi_data_width=1024, burst_beats=32, stream_bursts=1),
    MemoryConfig(burst_beats=1, stream_bursts=1),
    MemoryConfig(burst_beats=1, stream_bursts=2),
]
STREAMS = 2


def _memory(config: MemoryConfig, seed: int = 1) -> bytearray:
    return bytearray(Random(seed).randbytes(4 * 4096))


def _requests(config: MemoryConfig, seed: int) -> list[dict[str, int]]:
    """Nothing, one beat, around a page boundary, more than the FIFO holds; then random ones."""
    size, rng = config.beat_bytes, Random(seed)
    page = 4096
    requests = [(0, 0), (page, 1), (page - size, 2), (page - 2 * size, 1), (size, 0), (size, 9)]
    requests.append((page - 3 * size, min(config.fifo_depth + 4, 64)))
    for _ in range(2):
        beats = rng.randint(0, 24)
        requests.append((rng.randrange(3 * page // size - 24) * size, beats))
    return [{"address": address, "beats": beats} for address, beats in requests]


def _beats(requests: list[dict[str, int]], memory: bytearray, size: int) -> list[int]:
    return [
        int.from_bytes(memory[a : a + size], "little")
        for r in requests
        for a in range(r["address"], r["address"] + r["beats"] * size, size)
    ]


def _bursts(request: dict[str, int], config: MemoryConfig) -> list[tuple[int, int]]:
    address, left, bursts = request["address"], request["beats"], []
    while left:
        to_page = (4096 - address % 4096) // config.beat_bytes
        beats = min(left, config.burst_beats, to_page)
        bursts.append((address, beats))
        address, left = address + beats * config.beat_bytes, left - beats
    return bursts


@pytest.mark.parametrize(("idle", "stall"), GRID)
@pytest.mark.parametrize("config", CONFIGS)
def test_every_stream_gets_its_beats(config, idle, stall):
    """A memory that stalls also mixes the answers to different IDs."""
    dut = ReadDma(STREAMS, config)
    memory = _memory(config)
    requests = [_requests(config, seed) for seed in range(STREAMS)]
    axi = AxiReader(dut.axi, config, memory, latency=5, stall=stall, mixed=stall > 0)
    beats = [Strobes(f"beat{k}", dut.beat[k]) for k in range(STREAMS)]
    bursts = Strobes("burst", dut.burst)
    check(
        dut,
        {f"i_request[{k}]": requests[k] for k in range(STREAMS)},
        {f"o_data[{k}]": _beats(requests[k], memory, config.beat_bytes) for k in range(STREAMS)},
        idle=idle,
        stall=stall,
        extra=[axi, *beats, bursts],
    )
    assert bursts.cycles == axi.burst_cycles
    for k in range(STREAMS):
        expected = [burst for request in requests[k] for burst in _bursts(request, config)]
        assert [burst[1:] for burst in axi.bursts if burst[0] == k] == expected
        assert len(beats[k].cycles) == sum(request["beats"] for request in requests[k])


@pytest.mark.parametrize("config", CONFIGS[:2])
def test_latency_and_one_beat_a_cycle(config):
    """Request in 0, address in 2, beat in 2 + latency, offered 2 later; then no gap."""
    latency = 2
    dut = ReadDma(2, config)
    memory = _memory(config)
    requests = [{"address": 0, "beats": 100}]
    axi = AxiReader(dut.axi, config, memory, latency=latency)
    result = check(
        dut,
        {"i_request[1]": requests},
        {"o_data[1]": _beats(requests, memory, config.beat_bytes)},
        extra=[axi],
    )
    assert result.taken["i_request[1]"] == [0]
    assert axi.burst_cycles[:2] == [2, 3]
    if config.burst_beats * (config.stream_bursts - 1) >= latency + 4:
        assert axi.beat_cycles == list(range(2 + latency, 102 + latency))
    assert result.given["o_data[1]"] == [cycle + 2 for cycle in axi.beat_cycles]


def test_the_cycle_of_every_burst_follows_from_the_room():
    """Recurrence that a cost model can use: a burst waits for the beats that give its room back."""
    config = MemoryConfig(burst_beats=4, stream_bursts=2)
    latency, beats = 9, 64
    dut = ReadDma(1, config)
    memory = _memory(config)
    requests = [{"address": 0, "beats": beats}]
    axi = AxiReader(dut.axi, config, memory, latency=latency)
    result = check(
        dut, {"i_request[0]": requests}, {"o_data[0]": _beats(requests, memory, 8)}, extra=[axi]
    )
    chosen, arrived = [], []
    for burst in range(beats // 4):
        # Chosen one cycle after the one before, or after the beat that gives its room was taken.
        earliest = 1 if not chosen else chosen[-1] + 1
        if burst >= 2:
            earliest = max(earliest, arrived[4 * (burst - 2) + 3] + 2 + 1)
        chosen.append(earliest)
        for _ in range(4):
            after = arrived[-1] + 1 if arrived else 0
            arrived.append(max(chosen[-1] + 1 + latency, after))
    assert axi.burst_cycles == [cycle + 1 for cycle in chosen]
    assert axi.beat_cycles == arrived
    assert result.given["o_data[0]"] == [cycle + 2 for cycle in arrived]


def test_requests_of_one_beat_sustain_one_address_a_cycle():
    config = MemoryConfig()
    dut = ReadDma(2, config)
    memory = _memory(config)
    requests = [{"address": 8 * k, "beats": 1} for k in range(40)]
    axi = AxiReader(dut.axi, config, memory)
    result = check(
        dut, {"i_request[0]": requests}, {"o_data[0]": _beats(requests, memory, 8)}, extra=[axi]
    )
    assert result.taken["i_request[0]"] == list(range(40))
    assert axi.burst_cycles == list(range(2, 42))


def test_streams_take_turns():
    config = MemoryConfig(burst_beats=4, stream_bursts=4)
    dut = ReadDma(3, config)
    memory = _memory(config)
    request = {"address": 0, "beats": 16}
    axi = AxiReader(dut.axi, config, memory)
    data = _beats([request], memory, 8)
    check(
        dut,
        {f"i_request[{k}]": [request] for k in range(3)},
        {f"o_data[{k}]": data for k in range(3)},
        extra=[axi],
    )
    assert [burst[0] for burst in axi.bursts] == [0, 1, 2] * 4
    assert axi.burst_cycles == list(range(2, 14))


@pytest.mark.parametrize("config", CONFIGS)
def test_a_slow_stream_neither_loses_beats_nor_blocks_another(config):
    dut = ReadDma(2, config)
    memory = _memory(config)
    request = {"address": 0, "beats": 2 * config.fifo_depth + 3}
    data = _beats([request], memory, config.beat_bytes)
    sources = [Source(f"i{k}", dut.i_request[k], [request]) for k in range(2)]
    slow, fast = Sink("slow", dut.o_data[0], data, 0.9), Sink("fast", dut.o_data[1], data)
    run(dut, [*sources, slow, fast, AxiReader(dut.axi, config, memory)])
    assert fast.cycles[-1] < 12 * len(data)


@pytest.mark.parametrize("stall", [0.0, 0.4])
def test_an_error_stops_the_addresses(stall):
    """The beat at 0x100 fails: earlier ones were handed over, no new burst after the next cycle."""
    config = MemoryConfig(burst_beats=4)
    dut = ReadDma(2, config)
    memory = _memory(config)
    requests = [{"address": 0, "beats": 200}]
    axi = AxiReader(
        dut.axi, config, memory, latency=6, stall=stall, fails=lambda address: address == 0x100
    )
    sink = Sink("o", dut.o_data[0], None, 0.0)
    error, idle = Strobes("error", dut.error), Strobes("idle", dut.idle)
    source = Source("i", dut.i_request[0], requests)
    run(dut, [source, sink, axi, error, idle], settle=100, limit=600)
    assert sink.values == _beats([{"address": 0, "beats": 32}], memory, 8)
    failed = axi.beat_cycles[32]
    assert error.cycles[0] == failed + 1
    # An address that was offered may not be withdrawn.
    offered = [cycle for cycle in axi.burst_cycles if cycle > failed + 1]
    assert len(offered) <= 1
    assert len(axi.beat_cycles) == 4 * len(axi.bursts)
    quiet = axi.beat_cycles[-1] + 1
    assert idle.cycles[:2] == [0, 1]
    assert idle.cycles[2:] == list(range(quiet, quiet + len(idle.cycles) - 2))
    assert len(idle.cycles) > 60


def test_halt_stops_the_addresses():
    config = MemoryConfig()
    dut = ReadDma(1, config)
    axi = AxiReader(dut.axi, config, _memory(config))
    source = Source("i", dut.i_request[0], [{"address": 0, "beats": 200}])
    run(dut, [source, axi], constants={"halt": 1}, limit=50)
    assert source.cycles == [0]
    assert axi.bursts == []


def test_stream_count_out_of_range():
    with pytest.raises(ValueError, match=r"^streams must be in 1\.\.16, not 17$"):
        ReadDma(17, MemoryConfig())
