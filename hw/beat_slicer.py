"""Words of a fixed power-of-two width out of the beats of a bus."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

__all__ = ["BeatSlicer"]


class BeatSlicer(wiring.Component):
    """Cut beats into words, or gather beats into words, lowest bits first.

    Parameters
    ----------
    beat_width, word_width : int, bits
        Powers of two; either may be the larger one.

    Members
    -------
    i : In(stream of beat_width bits)
    o : Out(stream of word_width bits)
    clear : In(1)
        Drop the rest of the beat whose words were taken in part; no word is offered in this cycle.

    **Latency**: 0; a word appears in the cycle in which the beat with its last bit is offered. One
    word a cycle if `word_width` <= `beat_width`, else one word every `word_width` / `beat_width`
    beats.
    """

    i: stream.Interface
    o: stream.Interface
    clear: Signal

    def __init__(self, beat_width: int, word_width: int) -> None:
        self._beat_width = beat_width
        self._word_width = word_width
        super().__init__(
            {
                "i": In(stream.Signature(beat_width)),
                "o": Out(stream.Signature(word_width)),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Choose by which of the two is wider."""
        m = Module()
        if self._beat_width >= self._word_width:
            self._cut(m)
        else:
            self._gather(m)
        return m

    def _cut(self, m: Module) -> None:
        part = Signal(exact_log2(self._beat_width // self._word_width))
        started = part != 0
        m.d.comb += [
            self.o.valid.eq(self.i.valid & ~self.clear),
            self.o.payload.eq(self.i.payload.word_select(part, self._word_width)),
            self.i.ready.eq(Mux(self.clear, started, self.o.ready & part.all())),
        ]
        with m.If(self.clear):
            m.d.sync += part.eq(0)
        with m.Elif(self.o.valid & self.o.ready):
            m.d.sync += part.eq(part + 1)

    def _gather(self, m: Module) -> None:
        ratio = self._word_width // self._beat_width
        part = Signal(exact_log2(ratio))
        held = Signal(self._word_width - self._beat_width)
        m.d.comb += [
            self.o.valid.eq(self.i.valid & part.all() & ~self.clear),
            self.o.payload.eq(Cat(held, self.i.payload)),
            self.i.ready.eq((self.o.ready | ~part.all()) & ~self.clear),
        ]
        with m.If(self.clear):
            m.d.sync += part.eq(0)
        with m.Elif(self.i.valid & self.i.ready):
            m.d.sync += part.eq(part + 1)
            m.d.sync += held.eq(Cat(held, self.i.payload)[self._beat_width :])
