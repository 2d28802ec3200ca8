"""From values of any width to beats: the writing end of a packed region."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.dma import WriteToken

__all__ = ["BitPacker"]


class BitPacker(wiring.Component):
    """Put values one above the other into beats, the first at bit 0, and pad the last with zeros.

    Parameters
    ----------
    beat_width : int, bits
        Width of one beat.
    give_max : int, bits
        Most bits that one handshake gives, 1..beat_width.

    Members
    -------
    i : In(stream({bits: give_max, width: range(give_max + 1), last: 1}))
        `width` bits of `bits` (those above are ignored); `last` ends the region.
    o : Out(stream(WriteToken))
        Beats, each as soon as it is full. The end comes with the beat that the last give is in, or
        without a beat if that give was empty and nothing was held.

    **Latency**: the token that a give completes is offered in the next cycle. One give a cycle
    while `o` does not stall; one cycle more when `last` spills into a second beat.

    Raises
    ------
    ValueError
        If `give_max` is out of range.
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, beat_width: int, give_max: int) -> None:
        if not 1 <= give_max <= beat_width:
            raise ValueError(f"give_max must be in 1..{beat_width}, not {give_max}")
        self.beat_width = beat_width
        self.give_max = give_max
        give = data.StructLayout({"bits": give_max, "width": range(give_max + 1), "last": 1})
        super().__init__(
            {
                "i": In(stream.Signature(give)),
                "o": Out(stream.Signature(WriteToken(beat_width))),
            }
        )

    def elaborate(self, platform) -> Module:
        """Collect below one beat; the token register in front decouples the consumer."""
        m = Module()
        give = self.i.payload
        bits = Signal(self.beat_width)
        held = Signal(range(self.beat_width))
        spilled = Signal()
        free = Signal()
        masked = Signal(self.give_max)
        joined = Signal(self.beat_width + self.give_max)
        total = Signal(range(self.beat_width + self.give_max))
        full = Signal()
        m.d.comb += [
            free.eq(~self.o.valid | self.o.ready),
            self.i.ready.eq(free & ~spilled),
            masked.eq(give.bits & ((1 << give.width) - 1)),
            joined.eq(bits | (masked << held)),
            total.eq(held + give.width),
            full.eq(total >= self.beat_width),
        ]
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.If(spilled & free):
            m.d.sync += [
                self.o.valid.eq(1),
                self.o.payload.data.eq(bits),
                self.o.payload.valid.eq(1),
                self.o.payload.last.eq(1),
                spilled.eq(0),
                bits.eq(0),
                held.eq(0),
            ]
        with m.If(self.i.valid & self.i.ready):
            with m.If(full | give.last):
                m.d.sync += [
                    self.o.valid.eq(1),
                    self.o.payload.data.eq(joined),
                    self.o.payload.valid.eq(total != 0),
                    self.o.payload.last.eq(give.last & (total <= self.beat_width)),
                ]
            with m.If(full):
                m.d.sync += [bits.eq(joined >> self.beat_width), held.eq(total - self.beat_width)]
                m.d.sync += spilled.eq(give.last & (total != self.beat_width))
            with m.Elif(give.last):
                m.d.sync += [bits.eq(0), held.eq(0)]
            with m.Else():
                m.d.sync += [bits.eq(joined), held.eq(total)]
        return m
