"""From node words and feature bits to q rows: the units of the combination engine in a row."""

from typing import Any

from amaranth import *
from amaranth.lib import fifo, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.gnn.bit_serial_array import BitSerialArray
from hw.gnn.combine_layouts import (
    ARRAY_EVENTS,
    column_write_layout,
    datapath_events_layout,
    group_layout,
    take_max,
    weight_write_layout,
)
from hw.gnn.config import GnnConfig
from hw.gnn.feature_decoder import FeatureDecoder
from hw.gnn.format import BITMAP_CHUNK, COMBINE, COMBINE_NODE
from hw.gnn.group_assembler import GroupAssembler
from hw.gnn.requantizer import Requantizer
from hw.gnn.row_assembler import RowAssembler
from hw.gnn.words import layout

__all__ = ["CombinationDatapath"]


class CombinationDatapath(wiring.Component):
    """Decoder, group assembler, group FIFO, bit-serial array, requantizer and row assembler.

    Members
    -------
    command : In(COMBINE)
        Constant while rows are inside.
    weight_write, column_write : In
        Fill weight banks and column table; only while no row is inside.
    i_nodes : In(stream of COMBINE_NODE)
    take, i_bits : Out(range(take_max + 1)), In(stream of take_max bits)
        A `BitUnpacker` with the feature segment.
    o : Out(stream of row_width bits)
        q rows.
    row_taken : Out(1)
        Strobe: the array takes the last group of a row.
    events : Out(datapath_events_layout)

    **Latency**: the cycle rule; each event happens in the latest of the cycles that it lists.

    - Decode step s, at d(s): d(s-1) + 1; node word and bits are offered; the token before is taken.
      How many steps a row has says `FeatureDecoder`.
    - Its token is taken, at t(s): d(s) + 1; the group that it finds complete, or closes because its
      lane is taken, is pushed.
    - Group k is pushed, at p(k): the first value of the row's next group is taken, or, for the last
      group of a row, t(last token) + 1; the cycle after group k - group_fifo_depth was taken.
    - The array works on group k from w(k) to w(k) + n - 1, n = B * tiles, or 1 without work if the
      group is empty: p(k) + 1; the cycle after the end of group k - 1; the cycle after the last
      word of row u - 2 entered the requantizer, for there are two rows of partial sums.
    - A word of row u is read: f + 3, f being the row's last array cycle; the cycle after the word
      before was read; the word before leaves the read register.
    - It enters the requantizer one cycle after it was read and the row assembler five cycles later,
      in order; the six places between move up whenever there is room. The assembler has room for
      a row's first word when the row before is taken from `o`.
    - Row u is offered at `o` in the cycle after its last word entered the assembler.

    So, when nothing stalls, `o` is valid 9 + tiles cycles after f, and a row costs
    max(decode steps, sum of n, tiles) cycles without a bubble, as long as every other row has at
    least tiles + 3 array cycles.
    """

    command: Any
    weight_write: Any
    column_write: Any
    i_nodes: stream.Interface
    take: Signal
    i_bits: stream.Interface
    o: stream.Interface
    row_taken: Signal
    events: Any

    def __init__(self, config: GnnConfig) -> None:
        self._config = config
        super().__init__(
            {
                "command": In(layout(COMBINE)),
                "weight_write": In(weight_write_layout(config)),
                "column_write": In(column_write_layout(config)),
                "i_nodes": In(stream.Signature(layout(COMBINE_NODE))),
                "take": Out(range(take_max(config) + 1)),
                "i_bits": In(stream.Signature(take_max(config))),
                "o": Out(stream.Signature(config.row_width)),
                "row_taken": Out(1),
                "events": Out(datapath_events_layout(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Chain the units."""
        m = Module()
        m.submodules.decoder = decoder = FeatureDecoder(self._config)
        m.submodules.assembler = assembler = GroupAssembler(self._config)
        m.submodules.array = array = BitSerialArray(self._config)
        m.submodules.requantizer = requantizer = Requantizer(self._config)
        m.submodules.row_assembler = row_assembler = RowAssembler(self._config)
        wiring.connect(m, wiring.flipped(self.i_nodes), decoder.i_nodes)
        wiring.connect(m, wiring.flipped(self.i_bits), decoder.i_bits)
        wiring.connect(m, decoder.o, assembler.i)
        self._queue_groups(m, assembler.o, array.i)
        wiring.connect(m, array.o, requantizer.i)
        wiring.connect(m, requantizer.o, row_assembler.i)
        wiring.connect(m, row_assembler.o, wiring.flipped(self.o))
        m.d.comb += [
            self.take.eq(decoder.take),
            decoder.format.eq(self.command.format),
            decoder.signed.eq(self.command.signed),
            decoder.index_width.eq(self.command.index_width),
            decoder.last_chunk.eq((self.command.reduction - 1) // BITMAP_CHUNK),
            array.tiles.eq(self.command.tiles),
            array.bank_stride.eq(self.command.bank_stride),
            array.weight_write.eq(self.weight_write),
            requantizer.column_write.eq(self.column_write),
            self.row_taken.eq(array.row_taken),
            self.events.combine_conflicts.eq(assembler.conflict),
            self.events.requantize_words.eq(requantizer.i.valid & requantizer.i.ready),
        ]
        m.d.comb += [self.events[name].eq(array.events[name]) for name in ARRAY_EVENTS]
        return m

    def _queue_groups(self, m: Module, groups: Any, array: Any) -> None:
        """Put the FIFO between: a group that is pushed can be worked on in the next cycle."""
        width = group_layout(self._config).size
        depth = self._config.combination.group_fifo_depth
        m.submodules.group_fifo = queue = fifo.SyncFIFO(width=width, depth=depth)
        m.d.comb += [
            queue.w_data.eq(groups.payload),
            queue.w_en.eq(groups.valid),
            groups.ready.eq(queue.w_rdy),
            Value.cast(array.payload).eq(queue.r_data),
            array.valid.eq(queue.r_rdy),
            queue.r_en.eq(array.ready),
        ]
