"""Write requests of an output region: its data, then the header that says how long they are."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.dma import WriteRequest, WriteToken
from hw.gnn.config import GnnConfig

__all__ = ["SegmentWriter"]


class SegmentWriter(wiring.Component):
    """Write one region; a feature segment's header beat only after its data were acknowledged.

    Parameters
    ----------
    config : GnnConfig

    Members
    -------
    i_segment : In(stream({address, header}))
        A region and whether it has a header beat (the data then start one beat later). Taken when
        the region before is complete.
    i : In(stream(WriteToken))
        The data.
    o_write_request : Out(stream(WriteRequest)), o_write : Out(stream(WriteToken))
    write_done : In(1)
        Strobe: a request was acknowledged.
    done : Out(1)
        Strobe: the region is complete; it comes with the last `write_done`.

    **Latency**: region taken in t, data request in t + 1, data from t + 2 on, one beat a cycle as
    `i` and `o_write` allow. Acknowledged in cycle u: header request in u + 1, header beat in u + 2.
    """

    i_segment: stream.Interface
    i: stream.Interface
    o_write_request: stream.Interface
    o_write: stream.Interface
    write_done: Signal
    done: Signal

    def __init__(self, config: GnnConfig) -> None:
        self.config = config
        token = WriteToken(config.memory.axi_data_width)
        segment = data.StructLayout({"address": config.memory.axi_addr_width, "header": 1})
        super().__init__(
            {
                "i_segment": In(stream.Signature(segment)),
                "i": In(stream.Signature(token)),
                "o_write_request": Out(
                    stream.Signature(WriteRequest(config.memory.axi_addr_width))
                ),
                "o_write": Out(stream.Signature(token)),
                "write_done": In(1),
                "done": Out(1),
            }
        )

    def elaborate(self, platform) -> Module:
        """Run request, beats and acknowledgement once for the data and once for the header."""
        m = Module()
        region = Signal.like(self.i_segment.payload)
        beats = Signal(32)
        in_header = Signal()
        offset = Mux(region.header & ~in_header, self.config.memory.beat_bytes, 0)
        complete = Signal()
        last = Signal()
        m.d.comb += [
            self.o_write_request.payload.address.eq(region.address + offset),
            complete.eq(in_header | ~region.header),
            last.eq(self.o_write.valid & self.o_write.ready & self.o_write.payload.last),
        ]
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self.i_segment.ready.eq(1)
                m.d.sync += [in_header.eq(0), beats.eq(0), region.eq(self.i_segment.payload)]
                with m.If(self.i_segment.valid):
                    m.next = "REQUEST"
            with m.State("REQUEST"):
                m.d.comb += self.o_write_request.valid.eq(1)
                with m.If(self.o_write_request.ready):
                    m.next = "BEATS"
            with m.State("BEATS"):
                self._connect_beats(m, in_header, beats)
                with m.If(last):
                    m.next = "ACKNOWLEDGE"
                    self._finish(m, in_header, complete)
            with m.State("ACKNOWLEDGE"):
                self._finish(m, in_header, complete)
        return m

    def _connect_beats(self, m: Module, in_header: Signal, beats: Signal) -> None:
        """Pass the data on and count them, or give their count as the one beat of the header."""
        with m.If(in_header):
            m.d.comb += [
                self.o_write.valid.eq(1),
                self.o_write.payload.data.eq(beats),
                self.o_write.payload.valid.eq(1),
                self.o_write.payload.last.eq(1),
            ]
        with m.Else():
            wiring.connect(m, wiring.flipped(self.i), wiring.flipped(self.o_write))
            with m.If(self.o_write.ready & self.i.valid & self.i.payload.valid):
                m.d.sync += beats.eq(beats + 1)

    def _finish(self, m: Module, in_header: Signal, complete: Signal) -> None:
        """Act on an acknowledgement; without beats it may come with the last token."""
        with m.If(self.write_done):
            m.d.comb += self.done.eq(complete)
            m.d.sync += in_header.eq(1)
            with m.If(complete):
                m.next = "IDLE"
            with m.Else():
                m.next = "REQUEST"
