"""When each command was taken, released and completed, for software to read."""

from amaranth import *
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from hw.gnn.config import GnnConfig

__all__ = ["CommandLog"]

STAMP_WIDTH = 32


class CommandLog(wiring.Component):
    """Keep start, go and end cycle of the first `log_depth` commands of either queue.

    Parameters
    ----------
    config : GnnConfig

    Members
    -------
    clear : In(1)
        A run begins: forget the last one.
    now : In(32)
        Cycles since the start of the run.
    start, go, done : In(2)
        Strobes of queue 0 (combination) and queue 1 (aggregation): command taken, wait satisfied,
        command complete.
    select : In
        Entry to read: command index, plus `log_depth` for queue 1.
    entry : Out({start, go, end})
        The entry, one cycle after `select`. Entries of commands that did not complete are stale.

    **Latency**: an entry is readable two cycles after `done`. A command beyond `log_depth` is not
    kept.
    """

    clear: Signal
    now: Signal
    start: Signal
    go: Signal
    done: Signal
    select: Signal
    entry: data.View

    def __init__(self, config: GnnConfig) -> None:
        self.depth = config.log_depth
        self.layout = data.StructLayout(
            {"start": STAMP_WIDTH, "go": STAMP_WIDTH, "end": STAMP_WIDTH}
        )
        super().__init__(
            {
                "clear": In(1),
                "now": In(STAMP_WIDTH),
                "start": In(2),
                "go": In(2),
                "done": In(2),
                "select": In(range(2 * self.depth)),
                "entry": Out(self.layout),
            }
        )

    def elaborate(self, platform) -> Module:
        """Two memories, since both queues may complete a command in one cycle."""
        m = Module()
        reads = [self._queue(m, queue) for queue in range(2)]
        second = Signal()
        m.d.sync += second.eq(self.select[-1])
        m.d.comb += Value.cast(self.entry).eq(Mux(second, reads[1], reads[0]))
        return m

    def _queue(self, m: Module, queue: int) -> Value:
        """Stamp one queue's commands and return what its memory reads."""
        store = memory.Memory(shape=3 * STAMP_WIDTH, depth=self.depth, init=[])
        m.submodules[f"queue{queue}"] = store
        write, read = store.write_port(), store.read_port()
        index = Signal(range(self.depth + 1))
        started = Signal(STAMP_WIDTH)
        released = Signal(STAMP_WIDTH)
        with m.If(self.start[queue]):
            m.d.sync += started.eq(self.now)
        with m.If(self.go[queue]):
            m.d.sync += released.eq(self.now)
        with m.If(self.clear):
            m.d.sync += index.eq(0)
        with m.Elif(write.en):
            m.d.sync += index.eq(index + 1)
        m.d.comb += [
            write.en.eq(self.done[queue] & (index != self.depth)),
            write.addr.eq(index),
            write.data.eq(Cat(started, Mux(self.go[queue], self.now, released), self.now)),
            read.addr.eq(self.select),
            read.en.eq(1),
        ]
        return read.data
