"""Partial sums to 4-bit aggregation operands."""

import itertools
from typing import Any

from amaranth import *
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hw.elastic_control import ElasticControl
from hw.gnn.combine_layouts import (
    column_write_layout,
    psum_word_layout,
    q_word_layout,
    tile_width,
)
from hw.gnn.config import GnnConfig

__all__ = ["Requantizer"]

Q_MAX = 7


class Requantizer(wiring.Component):
    """q = clip(rha(rha(P * m, e) * n_j, f_j), -7, 7) on `cols` columns a cycle (contract, C2).

    `rha` rounds half away from zero, so the datapath runs on magnitudes and the sign is put back
    after the clip. The factors (n_j, f_j) stand in a table of one entry a column; m and e come
    with the word.

    Members
    -------
    column_write : In(column_write_layout)
        Writes one column's factors; only while no word is inside.
    i : In(stream of psum_word_layout)
    o : Out(stream of q_word_layout)

    **Latency**: 5 cycles from `i` to `o` when nothing stalls, one word a cycle. The five stages
    are elastic: word w enters no earlier than the cycle in which word w - 5 leaves, and leaves at
    max(enter(w) + 5, leave(w - 1) + 1, consumer ready).

    **Golden**: `models.golden.gnn.requantizer.requantize`.
    """

    STAGES = 5

    column_write: Any
    i: stream.Interface
    o: stream.Interface

    def __init__(self, config: GnnConfig) -> None:
        self._config = config
        super().__init__(
            {
                "column_write": In(column_write_layout(config)),
                "i": In(stream.Signature(psum_word_layout(config))),
                "o": Out(stream.Signature(q_word_layout(config))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Stages: magnitude, node product, node shift, column product, column shift and clip."""
        m = Module()
        m.submodules.control = control = ElasticControl(self.STAGES)
        m.d.comb += [
            control.i_valid.eq(self.i.valid),
            self.i.ready.eq(control.i_ready),
            self.o.valid.eq(control.o_valid),
            control.o_ready.eq(self.o.ready),
        ]
        width = self._config.combination.psum_width
        s1 = self._register("s1", width, m=12, e=6)
        s2 = self._register("s2", width + 12, e=6)
        s3 = self._register("s3", width + 12)
        s4 = self._register("s4", width + 24)
        s5 = self._register("s5", 3)
        factors = self._column_table(m, s2.head.tile, control.load[2])
        s4_f = Signal(data.ArrayLayout(6, self._config.combination.cols))
        for k, (before, stage) in enumerate(itertools.pairwise([s1, s2, s3, s4, s5])):
            with m.If(control.load[k + 1]):
                m.d.sync += [stage.head.eq(before.head), stage.negative.eq(before.negative)]
        with m.If(control.load[0]):
            self._take_magnitudes(m, s1)
        for column in range(self._config.combination.cols):
            with m.If(control.load[1]):
                m.d.sync += s2.magnitude[column].eq(s1.magnitude[column] * s1.m)
            with m.If(control.load[2]):
                m.d.sync += s3.magnitude[column].eq(_round(s2.magnitude[column], s2.e))
            with m.If(control.load[3]):
                m.d.sync += s4.magnitude[column].eq(s3.magnitude[column] * factors[column].n)
                m.d.sync += s4_f[column].eq(factors[column].f)
            with m.If(control.load[4]):
                rounded = _round(s4.magnitude[column], s4_f[column])
                m.d.sync += s5.magnitude[column].eq(Mux(rounded > Q_MAX, Q_MAX, rounded))
        with m.If(control.load[1]):
            m.d.sync += s2.e.eq(s1.e)
        self._give(m, s5)
        return m

    def _register(self, name: str, width: int, **fields: int) -> Any:
        cols = self._config.combination.cols
        head = data.StructLayout({"tile": tile_width(self._config), "last": 1})
        layout = data.StructLayout(
            {
                "head": head,
                "negative": cols,
                "magnitude": data.ArrayLayout(width, cols),
                **fields,
            }
        )
        return Signal(layout, name=name)

    def _column_table(self, m: Module, tile: Value, enable: Value) -> Any:
        c = self._config.combination
        factor = data.StructLayout({"n": 12, "f": 6})
        shape = data.ArrayLayout(factor, c.cols)
        m.submodules.columns = columns = memory.Memory(shape=shape, depth=c.tiles_max, init=[])
        write = columns.write_port(granularity=1)
        read = columns.read_port()
        lane = self.column_write.column[: exact_log2(c.cols)]
        m.d.comb += [
            write.addr.eq(self.column_write.column[exact_log2(c.cols) :]),
            write.en.eq(self.column_write.enable << lane),
            read.addr.eq(tile),
            read.en.eq(enable),
        ]
        for column in range(c.cols):
            m.d.comb += write.data[column].n.eq(self.column_write.n)
            m.d.comb += write.data[column].f.eq(self.column_write.f)
        return read.data

    def _take_magnitudes(self, m: Module, s1: Any) -> None:
        word = self.i.payload
        m.d.sync += [
            s1.head.tile.eq(word.tile),
            s1.head.last.eq(word.last),
            s1.m.eq(word.m),
            s1.e.eq(word.e),
        ]
        for column in range(self._config.combination.cols):
            psum = word.psum[column]
            m.d.sync += s1.negative[column].eq(psum < 0)
            m.d.sync += s1.magnitude[column].eq(Mux(psum < 0, -psum, psum))

    def _give(self, m: Module, s5: Any) -> None:
        m.d.comb += [self.o.payload.tile.eq(s5.head.tile), self.o.payload.last.eq(s5.head.last)]
        for column in range(self._config.combination.cols):
            q = s5.magnitude[column]
            m.d.comb += self.o.payload.q[column].eq(Mux(s5.negative[column], -q, q))


def _round(magnitude: Value, shift: Value) -> Value:
    """Return (magnitude + 2^(shift-1)) >> shift; one bit below the point spares shift 0 a case."""
    return (((magnitude << 1) >> shift) + 1) >> 1
