"""Weight words from memory into the banks."""

from typing import Any

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hw.beat_slicer import BeatSlicer
from hw.gnn.combine_layouts import address_width, weight_write_layout
from hw.gnn.config import GnnConfig

__all__ = ["WeightLoader"]


class WeightLoader(wiring.Component):
    """Write `tiles` x `bank_stride` words into each bank, in the order of `hw.gnn.format`.

    Members
    -------
    tiles, bank_stride : In
        From the command; at least 1.
    start : In(1)
        Strobe: load. `busy` is up from the next cycle on.
    busy : Out(1)
        Words are missing; low in the cycle after the last word was written.
    i : In(stream of axi_data_width bits)
        The weight region. Padding behind the last word is dropped with its beat.
    write : Out(weight_write_layout)

    **Latency**: a word is written in the cycle in which the beat with its last bit is offered, one
    word a cycle.
    """

    tiles: Signal
    bank_stride: Signal
    start: Signal
    busy: Signal
    i: stream.Interface
    write: Any

    def __init__(self, config: GnnConfig) -> None:
        self._config = config
        super().__init__(
            {
                "tiles": In(range(config.combination.tiles_max + 1)),
                "bank_stride": In(range(config.combination.bank_depth + 1)),
                "start": In(1),
                "busy": Out(1),
                "i": In(stream.Signature(config.memory.axi_data_width)),
                "write": Out(weight_write_layout(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Count lanes, addresses inside a tile and tiles; the bank address runs through."""
        m = Module()
        c = self._config.combination
        m.submodules.slicer = slicer = BeatSlicer(self._config.memory.axi_data_width, c.word_width)
        wiring.connect(m, wiring.flipped(self.i), slicer.i)
        lane = Signal(exact_log2(c.lanes))
        address = Signal(address_width(self._config))
        in_tile = Signal(range(c.bank_depth + 1))
        tile = Signal(range(c.tiles_max + 1))
        tile_ends = Signal()
        ends = Signal()
        m.d.comb += [
            slicer.o.ready.eq(self.busy),
            self.write.enable.eq(self.busy & slicer.o.valid),
            self.write.lane.eq(lane),
            self.write.address.eq(address),
            self.write.word.eq(slicer.o.payload),
            tile_ends.eq(in_tile + 1 == self.bank_stride),
            ends.eq(lane.all() & tile_ends & (tile + 1 == self.tiles)),
        ]
        m.d.sync += slicer.clear.eq(self.write.enable & ends)
        with m.If(self.start):
            m.d.sync += [self.busy.eq(1), address.eq(0), tile.eq(0)]
        with m.Elif(self.write.enable):
            m.d.sync += lane.eq(lane + 1)
            with m.If(lane.all()):
                m.d.sync += [address.eq(address + 1), in_tile.eq(Mux(tile_ends, 0, in_tile + 1))]
                m.d.sync += tile.eq(tile + tile_ends)
            with m.If(ends):
                m.d.sync += self.busy.eq(0)
        return m
