"""Memory behind an AXI4 port in Amaranth's simulator: strict about the rules, free in its timing.

`AxiReader` answers channels AR and R, `AxiWriter` channels AW, W and B. With `stall` = 0 and
`mixed` = False the memory is ideal: always ready, one beat a cycle, in order, `latency` cycles
after the address. With `mixed` it answers bursts of different IDs in any order and interleaves
their beats; bursts of one ID stay in order.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from hw.axi import CACHE_NORMAL, INCR, PAGE_BYTES, SLVERR
from hw.memory_config import MemoryConfig
from sim.streams import StreamRuleError

__all__ = ["AxiReader", "AxiWriter"]

_ADDRESS = ("id", "addr", "len", "size", "burst", "lock", "cache", "prot", "qos")


class _Channel:
    """Hold a channel that the manager drives to the rule: what is offered stays."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._withheld: tuple[int, ...] | None = None

    def taken(self, cycle: int, valid: int, ready: int, payload: Sequence[int]) -> bool:
        """Return whether there is a handshake."""
        if self._withheld is not None and (not valid or tuple(payload) != self._withheld):
            raise StreamRuleError(f"{self.name}: withdrawn or changed in cycle {cycle}")
        self._withheld = tuple(payload) if valid and not ready else None
        return bool(valid and ready)


class _Memory:
    """What reader and writer share: the burst rules and the bytes."""

    def __init__(
        self,
        port: Any,
        config: MemoryConfig,
        memory: bytearray,
        *,
        latency: int = 1,
        stall: float = 0.0,
        mixed: bool = False,
        fails: Callable[[int], bool] = lambda address: False,
        seed: int = 0,
    ) -> None:
        self._port = port
        self._config = config
        self._memory = memory
        self._latency = latency
        self._stall = stall
        self._mixed = mixed
        self._fails = fails
        self._random = Random(f"{seed} {self.name}")
        self.bursts: list[tuple[int, int, int]] = []
        self.burst_cycles: list[int] = []
        self.beat_cycles: list[int] = []

    name = "memory"
    finished = True

    def _get(self, *names: str) -> list[Any]:
        return [getattr(self._port, name) for name in names]

    def _go(self) -> int:
        return int(self._random.random() >= self._stall)

    def _burst(self, cycle: int, fields: Sequence[int]) -> tuple[int, int, int]:
        """Check an address handshake; return ID, address and beats."""
        at = dict(zip(_ADDRESS, fields, strict=True))
        size, beats = self._config.beat_bytes, at["len"] + 1
        first, last = at["addr"], at["addr"] + beats * size - 1
        fixed = (1 << at["size"], at["burst"], at["lock"], at["cache"], at["prot"], at["qos"])
        if fixed != (size, INCR, 0, CACHE_NORMAL, 0, 0) or first % size:
            raise StreamRuleError(f"{self.name}: bad burst in cycle {cycle}: {at}")
        if first // PAGE_BYTES != last // PAGE_BYTES:
            raise StreamRuleError(f"{self.name}: {beats} beats at {first:#x} cross 4 KiB")
        if beats > self._config.burst_beats or last >= len(self._memory):
            raise StreamRuleError(f"{self.name}: {beats} beats at {first:#x} are too many")
        self.bursts.append((at["id"], first, beats))
        self.burst_cycles.append(cycle)
        return at["id"], first, beats

    def _pick(self, ids: Sequence[int]) -> int:
        """Index of the burst that is answered: the first, or the first of a random ID."""
        return ids.index(self._random.choice(ids)) if self._mixed else 0


class AxiReader(_Memory):
    """Answer read bursts; `bursts` lists (ID, address, beats), with cycles beside."""

    name = "AXI read"

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._ar = _Channel("AR")
        self._open: list[tuple[int, int, int, int]] = []
        self._offered = False

    def signals(self) -> Sequence[Any]:
        """Return AR and the handshake of R."""
        return self._get("arvalid", "arready", *("ar" + n for n in _ADDRESS), "rvalid", "rready")

    def start(self, ctx: Any) -> None:
        """Choose the first ARREADY."""
        ctx.set(self._port.arready, self._go())

    def step(self, ctx: Any, cycle: int, values: Sequence[int]) -> bool:
        """Take an address, hand over a beat."""
        arvalid, arready, *address, rvalid, rready = values
        taken = self._ar.taken(cycle, arvalid, arready, address)
        if taken:
            identity, at, beats = self._burst(cycle, address)
            self._open.append((identity, at, beats, cycle + self._latency))
        if rvalid and rready:
            self._offered = False
            self.beat_cycles.append(cycle)
        if not self._offered:
            self._offer(ctx, cycle + 1)
        ctx.set(self._port.arready, self._go())
        return taken or bool(rvalid and rready)

    def _offer(self, ctx: Any, cycle: int) -> None:
        due = [burst for burst in self._open if burst[3] <= cycle]
        self._offered = bool(due) and bool(self._go())
        ctx.set(self._port.rvalid, int(self._offered))
        if not self._offered:
            return
        burst = due[self._pick([burst[0] for burst in due])]
        identity, at, beats, when = burst
        size = self._config.beat_bytes
        ctx.set(self._port.rid, identity)
        ctx.set(self._port.rdata, int.from_bytes(self._memory[at : at + size], "little"))
        ctx.set(self._port.rresp, SLVERR if self._fails(at) else 0)
        ctx.set(self._port.rlast, int(beats == 1))
        index = self._open.index(burst)
        self._open[index : index + 1] = [(identity, at + size, beats - 1, when)] * (beats > 1)


class AxiWriter(_Memory):
    """Carry out write bursts; `bursts` lists (ID, address, beats), with cycles beside.

    Data may come before their address. The answer to a burst comes `latency` cycles after the later
    of its address and its last beat. A burst with a failing address leaves the memory as it was.
    """

    name = "AXI write"

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._aw = _Channel("AW")
        self._w = _Channel("W")
        self._addresses: list[tuple[int, int, int]] = []
        self._beats: list[int] = []
        self._ends: list[int] = []
        self._answers: list[tuple[int, int, int]] = []
        self._offered = False
        self.done_cycles: list[int] = []

    def signals(self) -> Sequence[Any]:
        """Return AW, W and the handshake of B."""
        address = ("aw" + n for n in _ADDRESS)
        data = ("wvalid", "wready", "wdata", "wstrb", "wlast")
        return self._get("awvalid", "awready", *address, *data, "bvalid", "bready")

    def start(self, ctx: Any) -> None:
        """Choose the first AWREADY and WREADY."""
        ctx.set(self._port.awready, self._go())
        ctx.set(self._port.wready, self._go())

    def step(self, ctx: Any, cycle: int, values: Sequence[int]) -> bool:
        """Take an address, take a beat, carry out a complete burst, answer what is due."""
        awvalid, awready, *address = values[:11]
        wvalid, wready, wdata, wstrb, wlast, bvalid, bready = values[11:]
        progress = False
        if self._aw.taken(cycle, awvalid, awready, address):
            self._addresses.append(self._burst(cycle, address))
            progress = True
        if self._w.taken(cycle, wvalid, wready, (wdata, wstrb, wlast)):
            self._beat(cycle, wdata, wstrb, wlast)
            progress = True
        self._complete(cycle)
        if bvalid and bready:
            self._offered = False
            self.done_cycles.append(cycle)
            progress = True
        if not self._offered:
            self._answer(ctx, cycle + 1)
        ctx.set(self._port.awready, self._go())
        ctx.set(self._port.wready, self._go())
        return progress

    def _beat(self, cycle: int, data: int, strobe: int, last: int) -> None:
        if strobe != (1 << self._config.beat_bytes) - 1:
            raise StreamRuleError(f"W: strobe {strobe:#x} in cycle {cycle}")
        self._beats.append(data)
        self.beat_cycles.append(cycle)
        if last:
            self._ends.append(len(self._beats))

    def _complete(self, cycle: int) -> None:
        if not self._addresses:
            return
        identity, at, count = self._addresses[0]
        if self._ends and self._ends[0] != count or not self._ends and len(self._beats) >= count:
            raise StreamRuleError(f"W: burst of {count} beats ends elsewhere, cycle {cycle}")
        if not self._ends:
            return
        failed = self._fails(at)
        size = self._config.beat_bytes
        for index, beat in enumerate(self._beats[:count]):
            if not failed:
                start = at + index * size
                self._memory[start : start + size] = beat.to_bytes(size, "little")
        self._beats = self._beats[count:]
        self._ends = [end - count for end in self._ends[1:]]
        self._addresses.pop(0)
        self._answers.append((identity, SLVERR if failed else 0, cycle + self._latency))

    def _answer(self, ctx: Any, cycle: int) -> None:
        due = [answer for answer in self._answers if answer[2] <= cycle]
        self._offered = bool(due) and bool(self._go())
        ctx.set(self._port.bvalid, int(self._offered))
        if self._offered:
            answer = due[self._pick([answer[0] for answer in due])]
            self._answers.remove(answer)
            ctx.set(self._port.bid, answer[0])
            ctx.set(self._port.bresp, answer[1])
