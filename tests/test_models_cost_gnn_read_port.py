"""The shared read port, the processes on it and the write bursts, by hand."""

from collections.abc import Hashable
from typing import Any

import pytest

from models.cost.gnn.beat_words import BeatWords
from models.cost.gnn.memory import IdealMemory
from models.cost.gnn.processes import Arrived, Happened, Process, Until, run_processes
from models.cost.gnn.read_port import Arrivals, Request, SharedPort
from models.cost.gnn.sequencer import Sequencer


def _run(port: SharedPort) -> None:
    while port.next_choice() < float("inf"):
        port.choose()


def test_one_request():
    # Request in 5, chosen in 6, address in 7, first beat 8 cycles later, offered two later.
    port = SharedPort(32, read_latency=8)
    arrivals = port.request(Request("edges", 5, [3]))
    _run(port)
    assert arrivals.offered == [17, 18, 19]


def test_streams_take_turns_and_beats_come_in_the_order_of_the_bursts():
    port = SharedPort(4, read_latency=8)
    nodes = port.request(Request("aggregate_nodes", 0, [2, 2]))
    edges = port.request(Request("edges", 0, [2, 2]))
    _run(port)
    # After reset the lowest stream is first: edges, nodes, edges, nodes; addresses in 2, 3, 4, 5.
    assert edges.offered == [12, 13, 16, 17]
    assert nodes.offered == [14, 15, 18, 19]


def test_the_next_stream_above_the_last_one_is_first():
    port = SharedPort(8, read_latency=2)
    port.note("edges")
    low = port.request(Request("weights", 0, [4]))
    high = port.request(Request("rows", 0, [4]))
    _run(port)
    assert high.offered == [6, 7, 8, 9]
    assert low.offered == [10, 11, 12, 13]


def test_beats_that_stay_fill_the_fifo():
    port = SharedPort(8, read_latency=2)
    arrivals = port.request(Request("edges", 0, [4, 4, 4]))
    _run(port)
    assert arrivals.beats == 8
    assert arrivals.offered == [6, 7, 8, 9, 10, 11, 12, 13]
    assert arrivals.cycle(10) == 16


def test_a_burst_waits_for_room():
    # Two beats fit; each is taken three cycles after the one before: 6 + 3 - 1 = 8, then 11.
    port = SharedPort(2, read_latency=2)
    arrivals = port.request(Request("weights", 0, [2, 2], taken=4, pace=3))
    _run(port)
    # Room for two in 12, address in 13, beats from 15 on, offered from 17 on.
    assert arrivals.offered == [6, 7, 17, 18]


def test_a_request_behind_another_waits_its_turn():
    port = SharedPort(8, read_latency=2)
    first = port.request(Request("rows", 0, [1]))
    second = port.request(Request("rows", 1, [1], fresh=False))
    _run(port)
    assert (first.offered, second.offered) == ([6], [7])


@pytest.mark.parametrize(
    ("words", "beat", "word", "beats", "last"),
    [
        (5, 64, 16, 2, 14),  # four of the first beat in 10 .. 13, one of the second
        (3, 64, 64, 3, 12),
        (2, 64, 128, 4, 13),  # two beats a word
    ],
)
def test_words_come_one_a_cycle(words: int, beat: int, word: int, beats: int, last: int):
    cut = BeatWords(words, beat, word)
    assert cut.beats == beats
    assert cut.last(Arrivals(beats, [10 + n for n in range(beats)])) == last


def test_words_wait_for_their_beat():
    assert BeatWords(5, 64, 16).last(Arrivals(2, [10, 30])) == 30


def test_write_bursts_by_hand():
    # Beats taken in 10 .. 13, two bursts: addresses in 13 and 16, beats in 14, 15 and 17, 18.
    write = IdealMemory(write_latency=8).write([2, 2], fifo_depth=4)
    assert [write.take(cycle) for cycle in (10, 11, 12, 13)] == [10, 11, 12, 13]
    assert write.done(13) == 18 + 8 + 1


def test_tokens_wait_for_room():
    # Places for two beats and one more; the third burst's token waits for the first beat's leave.
    write = IdealMemory().write([1] * 4, fifo_depth=1)
    assert write.take(10) == 10  # address in 12, beat in 13
    assert write.take(11) == 11  # address in 14, beat in 15
    assert write.take(12) == 14
    assert write.take(13) == 16


def test_a_request_without_beats_is_done_with_its_end():
    assert IdealMemory().write([], fifo_depth=4).done(20) == 21


def test_sequencer_by_hand():
    # Slots of 16 beats of 8 bytes at latency 8: first beat 12 cycles after the request.
    published: dict[Hashable, Any] = {}
    port = SharedPort(32, read_latency=8)
    sequencer = Sequencer(8, 16, port, published)
    published["start", "combine", 0] = 100
    run_processes(sequencer.processes({"combine": 2, "aggregate": 1}), port, published)
    # Header: 12 .. 27, next request in 30; slot: 42 .. 57, offered in 59, next request in 60.
    assert published["slot", "combine", 0] == 59
    assert published["slot", "aggregate", 0] == 89
    # The command taken in 100: next slot asked for in 102, last beat in 129.
    assert published["slot", "combine", 1] == 131


def test_requests_come_before_the_choices_that_see_them():
    port = SharedPort(8, read_latency=2)
    seen: dict[str, list[int]] = {}

    def reader(stream: str, cycle: int) -> Process:
        yield Until(cycle)
        arrivals = port.request(Request(stream, cycle, [2]))
        yield Arrived(arrivals, 2)
        seen[stream] = arrivals.offered

    run_processes([reader("rows", 3), reader("weights", 2), reader("edges", 40)], port, {})
    assert seen == {"weights": [8, 9], "rows": [10, 11], "edges": [46, 47]}


def test_a_circle_of_waiting_is_an_error():
    def waits(key: str) -> Process:
        yield Happened(key)

    with pytest.raises(RuntimeError, match="^the commands of a Program wait for each other$"):
        run_processes([waits("a"), waits("b")], SharedPort(8, 2), {})
