"""WriteDma against a memory that keeps the AXI rules and takes every freedom they leave."""

from random import Random

import pytest

from hw.dma_write import WriteDma
from hw.memory_config import MemoryConfig
from sim.axi import AxiWriter
from sim.bench import GRID, check, run
from sim.streams import Source, Strobes

CONFIGS = [
    MemoryConfig(),
    MemoryConfig(axi_data_width=256, burst_beats=4, axi_addr_width=40),
    MemoryConfig(axi_data_width=1024, burst_beats=32, stream_bursts=1),
    MemoryConfig(burst_beats=1, stream_bursts=1),
]
PAGE = 4096


def _requests(config: MemoryConfig, stream: int) -> list[tuple[int, int, bool]]:
    """Address, beats, whether the end comes without a beat; streams write to pages of their own."""
    size, rng, base = config.beat_bytes, Random(stream), 4 * PAGE * stream
    full = config.burst_beats
    requests = [
        (0, 0, True),
        (PAGE, 1, False),
        (PAGE - size, 2, True),
        (PAGE - 3 * size, min(2 * config.fifo_depth + 5, 64), False),
        (2 * PAGE, full, False),
        (2 * PAGE + 40 * size, min(full, 24), True),
    ]
    for _ in range(2):
        beats = rng.randint(1, 24)
        requests.append((rng.randrange(4 * PAGE // size - 24) * size, beats, rng.random() < 0.5))
    return [(base + address, beats, bare) for address, beats, bare in requests]


def _tokens(
    requests: list[tuple[int, int, bool]], config: MemoryConfig, memory: bytearray, seed: int
) -> list[dict[str, int]]:
    """Make the tokens and carry out what they ask for on `memory`."""
    rng, tokens, size = Random(seed), [], config.beat_bytes
    for address, beats, bare in requests:
        for beat in range(beats):
            data = rng.getrandbits(config.axi_data_width)
            tokens.append({"data": data, "valid": 1, "last": int(beat == beats - 1 and not bare)})
            start = address + beat * size
            memory[start : start + size] = data.to_bytes(size, "little")
        if bare:
            tokens.append({"data": 0, "valid": 0, "last": 1})
    return tokens


def _bursts(address: int, beats: int, config: MemoryConfig) -> list[tuple[int, int]]:
    bursts = []
    while beats:
        to_page = (PAGE - address % PAGE) // config.beat_bytes
        length = min(beats, config.burst_beats, to_page)
        bursts.append((address, length))
        address, beats = address + length * config.beat_bytes, beats - length
    return bursts


@pytest.mark.parametrize(("idle", "stall"), GRID)
@pytest.mark.parametrize("config", CONFIGS)
def test_every_beat_is_where_it_should_be(config, idle, stall):
    """A memory that stalls also mixes the answers to different IDs."""
    dut = WriteDma(2, config)
    memory, expected = bytearray(8 * PAGE), bytearray(8 * PAGE)
    axi = AxiWriter(dut.axi, config, memory, latency=5, stall=stall, mixed=stall > 0)
    requests = [_requests(config, k) for k in range(2)]
    inputs = {}
    for k in range(2):
        inputs[f"i_request[{k}]"] = [{"address": request[0]} for request in requests[k]]
        inputs[f"i_token[{k}]"] = _tokens(requests[k], config, expected, k)
    done = [Strobes(f"done{k}", dut.done[k], len(requests[k])) for k in range(2)]
    beats = [Strobes(f"beat{k}", dut.beat[k]) for k in range(2)]
    bursts = Strobes("burst", dut.burst)
    check(dut, inputs, {}, idle=idle, stall=stall, extra=[axi, *done, *beats, bursts])
    assert memory == expected
    assert bursts.cycles == axi.burst_cycles
    for k in range(2):
        wanted = [burst for request in requests[k] for burst in _bursts(*request[:2], config)]
        assert [burst[1:] for burst in axi.bursts if burst[0] == k] == wanted
        assert len(beats[k].cycles) == sum(request[1] for request in requests[k])


def _ideal(config: MemoryConfig, beats: int, latency: int, bare: bool = False):
    dut = WriteDma(2, config)
    memory, expected = bytearray(2 * PAGE), bytearray(2 * PAGE)
    axi = AxiWriter(dut.axi, config, memory, latency=latency)
    done = Strobes("done", dut.done[1], 2)
    requests = [(0, beats, bare), (PAGE, 0, True)]
    inputs = {
        "i_request[1]": [{"address": request[0]} for request in requests],
        "i_token[1]": _tokens(requests, config, expected, 1),
    }
    result = check(dut, inputs, {}, extra=[axi, done])
    assert memory == expected
    return axi, done, result


@pytest.mark.parametrize("config", CONFIGS[:2])
def test_latency_and_one_token_a_cycle(config):
    """Tokens from cycle 1 on, a burst two cycles after its last token, done after its answer."""
    beats, latency, full = 70, 3, config.burst_beats
    axi, done, result = _ideal(config, beats, latency)
    assert result.taken["i_request[1]"][0] == 0
    assert result.taken["i_token[1]"][:beats] == list(range(1, beats + 1))
    lengths = [min(full, beats - at) for at in range(0, beats, full)]
    starts: list[int] = []
    for index in range(len(lengths)):
        # The token that completes a burst comes in the cycle of its number, from 1 on.
        after = starts[-1] + lengths[index - 1] if starts else 0
        starts.append(max(sum(lengths[: index + 1]) + 2, after))
    assert axi.burst_cycles == starts
    assert axi.beat_cycles == [
        start + beat
        for start, length in zip(starts, lengths, strict=True)
        for beat in range(length)
    ]
    assert done.cycles[0] == axi.done_cycles[-1] + 1 == axi.beat_cycles[-1] + latency + 1
    assert result.taken["i_request[1]"][1] == done.cycles[0] + 1


def test_tokens_wait_for_their_request():
    config = MemoryConfig(burst_beats=1)
    dut = WriteDma(1, config)
    memory, expected = bytearray(2 * PAGE), bytearray(2 * PAGE)
    requests = [(address, 3, False) for address in range(0, 2 * PAGE, 512)]
    agents = [
        Source("token", dut.i_token[0], _tokens(requests, config, expected, 1)),
        Source("request", dut.i_request[0], [{"address": r[0]} for r in requests], idle=0.95),
        Strobes("done", dut.done, len(requests)),
    ]
    run(dut, [*agents, AxiWriter(dut.axi, config, memory)])
    assert memory == expected


def test_a_request_without_beats_is_done_after_its_token():
    axi, done, result = _ideal(MemoryConfig(), 0, 3, bare=True)
    assert axi.bursts == []
    assert result.taken["i_request[1]"] == [0, 3]
    assert result.taken["i_token[1]"] == [1, 4]
    assert done.cycles == [2, 5]


def test_unanswered_bursts_are_bounded():
    config = MemoryConfig(burst_beats=1, stream_bursts=16)
    axi, _, _ = _ideal(config, 40, 100)
    assert axi.burst_cycles[15] + 1 == axi.burst_cycles[0] + 16
    assert axi.burst_cycles[16] == axi.done_cycles[0] + 2


@pytest.mark.parametrize("stall", [0.0, 0.4])
def test_an_error_stops_the_addresses_and_completes_the_data(stall):
    """The burst at 0x100 is refused: no `done`, nothing after it but what was issued already."""
    config = MemoryConfig(burst_beats=4)
    dut = WriteDma(1, config)
    memory, expected = bytearray(PAGE), bytearray(PAGE)
    axi = AxiWriter(
        dut.axi, config, memory, latency=4, stall=stall, fails=lambda address: address == 0x100
    )
    tokens = _tokens([(0, 200, False)], config, expected, 1)
    token = Source("token", dut.i_token[0], tokens, needed=False)
    request = Source("request", dut.i_request[0], [{"address": 0}])
    error, done = Strobes("error", dut.error), Strobes("done", dut.done)
    idle = Strobes("idle", dut.idle)
    run(dut, [request, token, axi, error, done, idle], settle=100, limit=600)
    assert memory[:0x100] == expected[:0x100]
    assert not any(memory[0x100:0x120])
    issued = {burst[1] for burst in axi.bursts}
    assert done.cycles == []
    refused = [burst[1] for burst in axi.bursts].index(0x100)
    assert error.cycles[0] == axi.done_cycles[refused] + 1
    assert len([c for c in axi.burst_cycles if c > error.cycles[0]]) <= 1
    assert len(axi.beat_cycles) == 4 * len(axi.bursts) < 200
    assert len(axi.done_cycles) == len(axi.bursts) == len(issued)
    assert idle.cycles[-1] >= axi.done_cycles[-1] + 60


def test_halt_stops_the_addresses():
    config = MemoryConfig()
    dut = WriteDma(1, config)
    axi = AxiWriter(dut.axi, config, bytearray(PAGE))
    tokens = _tokens([(0, 20, False)], config, bytearray(PAGE), 1)
    agents = [
        Source("token", dut.i_token[0], tokens),
        Source("request", dut.i_request[0], [{"address": 0}]),
    ]
    run(dut, [*agents, axi], constants={"halt": 1}, limit=100)
    assert axi.bursts == []
    assert axi.beat_cycles == []


def test_stream_count_out_of_range():
    with pytest.raises(ValueError, match=r"^streams must be in 1\.\.16, not 0$"):
        WriteDma(0, MemoryConfig())
