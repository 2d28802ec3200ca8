"""An AXI4-Lite master in Amaranth's simulator: one access after another."""

from collections.abc import Sequence
from random import Random
from typing import Any

from sim.streams import StreamRuleError

__all__ = ["LiteMaster"]

_CHANNELS = {"write": ("aw", "w"), "read": ("ar",)}
_ANSWERS = {"write": "b", "read": "r"}


class LiteMaster:
    """Carry out `accesses`; `answers` holds (response, data) of each, 0 as the data of a write.

    Parameters
    ----------
    port : interface
        AXI4-Lite of the subordinate.
    accesses : sequence of tuple
        ``("write", address, data, strobe)`` or ``("read", address)``.
    idle : float
        Probability of a cycle in which a channel is not offered yet, for each channel apart.
    stall : float
        Probability of a cycle in which the answer is not taken.
    seed : int
    """

    name = "AXI4-Lite"

    def __init__(
        self,
        port: Any,
        accesses: Sequence[tuple[Any, ...]],
        idle: float = 0.0,
        stall: float = 0.0,
        seed: int = 0,
    ) -> None:
        self._port = port
        self._accesses = list(accesses)
        self._idle = idle
        self._stall = stall
        self._random = Random(f"{seed} lite")
        self._left: set[str] = set()
        self._withheld: tuple[int, int] | None = None
        self.answers: list[tuple[int, int]] = []
        self.taken_cycles: list[int] = []
        self.answer_cycles: list[int] = []

    @property
    def finished(self) -> bool:
        """Whether every access was answered."""
        return len(self.answers) == len(self._accesses)

    def signals(self) -> Sequence[Any]:
        """Return valid and ready of all channels, and the answers."""
        names = ("awvalid", "awready", "wvalid", "wready", "arvalid", "arready")
        names += ("bvalid", "bready", "bresp", "rvalid", "rready", "rresp", "rdata")
        return [getattr(self._port, name) for name in names]

    def start(self, ctx: Any) -> None:
        """Begin the first access."""
        self._begin(ctx)

    def step(self, ctx: Any, cycle: int, values: Sequence[int]) -> bool:
        """Note what was taken, take an answer, begin the next access."""
        if self.finished:
            return False
        kind = self._accesses[len(self.answers)][0]
        before = len(self._left)
        for index, channel in enumerate(("aw", "w", "ar")):
            if values[2 * index] and values[2 * index + 1]:
                self._left.discard(channel)
                ctx.set(getattr(self._port, f"{channel}valid"), 0)
        if before and not self._left:
            self.taken_cycles.append(cycle)
        bvalid, bready, bresp, rvalid, rready, rresp, rdata = values[6:]
        if (rvalid and kind == "write") or (bvalid and kind == "read"):
            raise StreamRuleError(f"AXI4-Lite: answer to nothing in cycle {cycle}")
        valid, ready, answer = (
            (bvalid, bready, (bresp, 0)) if kind == "write" else (rvalid, rready, (rresp, rdata))
        )
        if valid and self._left:
            raise StreamRuleError(f"AXI4-Lite: answer before its request in cycle {cycle}")
        if self._withheld is not None and (not valid or answer != self._withheld):
            raise StreamRuleError(f"AXI4-Lite: answer withdrawn or changed in cycle {cycle}")
        self._withheld = answer if valid and not ready else None
        if valid and ready:
            self.answers.append(answer)
            self.answer_cycles.append(cycle)
            self._begin(ctx)
        else:
            self._offer(ctx)
        return True

    def _begin(self, ctx: Any) -> None:
        if self.finished:
            self._ready(ctx, False)
            return
        access = self._accesses[len(self.answers)]
        self._left = set(_CHANNELS[access[0]])
        if access[0] == "write":
            ctx.set(self._port.awaddr, access[1])
            ctx.set(self._port.wdata, access[2])
            ctx.set(self._port.wstrb, access[3])
        else:
            ctx.set(self._port.araddr, access[1])
        self._offered: set[str] = set()
        self._offer(ctx)

    def _offer(self, ctx: Any) -> None:
        for channel in sorted(self._left - self._offered):
            if self._random.random() >= self._idle:
                self._offered.add(channel)
                ctx.set(getattr(self._port, f"{channel}valid"), 1)
        self._ready(ctx, True)

    def _ready(self, ctx: Any, wanted: bool) -> None:
        kind = self._accesses[min(len(self.answers), len(self._accesses) - 1)][0]
        for which, channel in _ANSWERS.items():
            ready = wanted and which == kind and self._random.random() >= self._stall
            ctx.set(getattr(self._port, f"{channel}ready"), int(ready))
