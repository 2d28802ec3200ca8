"""From beats to values of any width: the reading end of a packed region."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["BitUnpacker"]


class BitUnpacker(wiring.Component):
    """Take the next `width` bits of a bit stream, lowest bit of the first beat first.

    Parameters
    ----------
    beat_width : int, bits
        Width of one beat.
    take_max : int, bits
        Most bits that one handshake takes, 1..beat_width.

    Members
    -------
    i : In(stream(beat_width))
        Beats.
    width : In(range(take_max + 1))
        Bits of the next take. It may change while `o` is not valid, or after a handshake.
    o : Out(stream(take_max))
        Valid when `width` bits are held; the bits above `width` are 0. A take of 0 bits is always
        valid.
    clear : In(1)
        Drop what is held at the end of this cycle (the padding behind a region). A take in the
        same cycle counts; no beat is taken in that cycle.

    **Latency**: a beat taken in cycle t can be used from cycle t + 1 on. While a beat waits in
    each cycle there is one take a cycle. A beat is taken when fewer than 2 take_max bits are held.

    Raises
    ------
    ValueError
        If `take_max` is out of range.
    """

    i: stream.Interface
    width: Signal
    o: stream.Interface
    clear: Signal

    def __init__(self, beat_width: int, take_max: int) -> None:
        if not 1 <= take_max <= beat_width:
            raise ValueError(f"take_max must be in 1..{beat_width}, not {take_max}")
        self.beat_width = beat_width
        self.take_max = take_max
        super().__init__(
            {
                "i": In(stream.Signature(beat_width)),
                "width": In(range(take_max + 1)),
                "o": Out(stream.Signature(take_max)),
                "clear": In(1),
            }
        )

    def elaborate(self, platform) -> Module:
        """Insert beats above what is held, which is little then; shift takes out at the bottom."""
        m = Module()
        room = 2 * self.take_max  # what is held when a beat may come: no take ever waits for it
        capacity = room - 1 + self.beat_width
        bits = Signal(capacity)
        held = Signal(range(capacity + 1))
        offset = Signal(range(room))
        joined = Signal(capacity)
        total = Signal(range(capacity + 1))
        taken = Signal(range(self.take_max + 1))
        mask = Signal(self.take_max + 1)
        m.d.comb += [
            self.i.ready.eq((held < room) & ~self.clear),
            self.o.valid.eq(held >= self.width),
            mask.eq((1 << self.width) - 1),
            self.o.payload.eq(bits & mask),
            offset.eq(held),
            joined.eq(bits),
            total.eq(held),
        ]
        with m.If(self.i.valid & self.i.ready):
            m.d.comb += [
                joined.eq(bits | (self.i.payload << offset)),
                total.eq(held + self.beat_width),
            ]
        with m.If(self.o.valid & self.o.ready):
            m.d.comb += taken.eq(self.width)
        m.d.sync += [bits.eq(joined >> taken), held.eq(total - taken)]
        with m.If(self.clear):
            m.d.sync += [bits.eq(0), held.eq(0)]
        return m
