"""CommandLog: stamps of both queues, the depth limit, and a run that begins anew."""

from amaranth.sim import Simulator

from hw.gnn.command_log import CommandLog
from hw.gnn.config import GnnConfig


def _run(events: list[dict[str, int]], selects: list[int], depth: int = 4) -> list[tuple]:
    dut = CommandLog(GnnConfig(log_depth=depth))
    simulator = Simulator(dut)
    simulator.add_clock(1e-8)
    entries = []

    async def bench(ctx):
        for now, event in enumerate(events):
            ctx.set(dut.now, now)
            for name in ("clear", "start", "go", "done"):
                ctx.set(getattr(dut, name), event.get(name, 0))
            await ctx.tick()
        for name in ("clear", "start", "go", "done"):
            ctx.set(getattr(dut, name), 0)
        for select in selects:
            ctx.set(dut.select, select)
            await ctx.tick()
            entry = dut.entry
            entries.append((ctx.get(entry.start), ctx.get(entry.go), ctx.get(entry.end)))

    simulator.add_testbench(bench)
    simulator.run()
    return entries


def test_both_queues_complete_in_one_cycle():
    events = [{"clear": 1}, {"start": 3}, {"go": 1}, {}, {"go": 2}, {}, {"done": 3}]
    assert _run(events, [0, 4]) == [(1, 2, 6), (1, 4, 6)]


def test_commands_beyond_the_depth_are_not_kept():
    command = [{"start": 1}, {"go": 1}, {"done": 1}]
    events = [{"clear": 1}, *command * 6]
    assert _run(events, [0, 3]) == [(1, 2, 3), (10, 11, 12)]


def test_a_new_run_overwrites():
    command = [{"start": 2}, {"go": 2}, {"done": 2}]
    events = [{"clear": 1}, *command, {"clear": 1}, *command]
    assert _run(events, [4]) == [(5, 6, 7)]


def test_go_in_the_cycle_of_done_is_this_commands():
    events = [{"clear": 1}, {"start": 1}, {"go": 1, "done": 1}]
    assert _run(events, [0]) == [(1, 2, 2)]
