"""The bit-serial multiply-accumulate array with its weight banks."""

from typing import Any

from amaranth import *
from amaranth.hdl import signed
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.adder_tree import adder_tree
from hw.gnn.combine_layouts import (
    add_control_layout,
    add_layout,
    address_width,
    array_events_layout,
    group_layout,
    psum_word_layout,
    tile_width,
    weight_write_layout,
)
from hw.gnn.config import CODE_WIDTH_MAX, Q_WIDTH, GnnConfig
from hw.gnn.psum_rows import PsumRows

__all__ = ["BitSerialArray"]


class _Step:
    """Stage 0: where the array stands in group, tile and plane, and what it does there."""

    def __init__(self, config: GnnConfig) -> None:
        self.runs = Signal(name="runs")
        self.works = Signal(name="works")
        self.row_ends = Signal(name="row_ends")
        self.first_group = Signal(name="first_group", init=1)
        self.plane = Signal(range(CODE_WIDTH_MAX), name="plane")
        self.tile = Signal(tile_width(config), name="tile")
        self.base = Signal(address_width(config), name="base")


class BitSerialArray(wiring.Component):
    """P[tile] = sum over the values of a row of +-magnitude * w, one magnitude plane a cycle.

    For each group, for each tile, for each plane t below the row's width B: the weights of the
    lanes whose bit t is set are added (negated where the sign is set), and 2^t times the sum is
    added to the row's partial sums. One bank per lane holds the weights, one read and one write
    port each; a bank is read once per group and tile, and holds the word for the B planes.

    Members
    -------
    tiles, bank_stride : In
        Tiles of a row, and words of a bank that one tile takes; from the command.
    weight_write : In(weight_write_layout)
        Writes a bank; only while no group is inside.
    i : In(stream of group_layout)
    o : Out(stream of psum_word_layout)
        Finished rows, tile by tile.
    events : Out(array_events_layout)
    row_taken : Out(1)
        Strobe: the last group of a row is taken.

    **Latency**: a group is worked on while it is offered, for B * tiles cycles (one cycle without
    work if it is empty), and taken in the last of them; the next group starts in the cycle after.
    A group of row u starts no earlier than the cycle after the last word of row u - 2 was taken
    from `o`: there are two rows of partial sums. After the last cycle f of a row's last group its
    first word is offered at f + 4 (read at f + 3), then a word a cycle (see `PsumRows`).
    """

    tiles: Signal
    bank_stride: Signal
    weight_write: Any
    i: stream.Interface
    o: stream.Interface
    events: Any
    row_taken: Signal

    def __init__(self, config: GnnConfig) -> None:
        self._config = config
        super().__init__(
            {
                "tiles": In(range(config.combination.tiles_max + 1)),
                "bank_stride": In(range(config.combination.bank_depth + 1)),
                "weight_write": In(weight_write_layout(config)),
                "i": In(stream.Signature(group_layout(config))),
                "o": Out(stream.Signature(psum_word_layout(config))),
                "events": Out(array_events_layout(config)),
                "row_taken": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Stage 0 steps through planes and reads weights, 1 sums over lanes, `PsumRows` adds."""
        m = Module()
        m.submodules.psums = psums = PsumRows(self._config)
        wiring.connect(m, psums.o, wiring.flipped(self.o))
        m.d.comb += psums.tiles.eq(self.tiles)
        step = self._steps(m, psums.free)
        m.d.comb += [self.row_taken.eq(step.row_ends), psums.claim.eq(step.row_ends)]
        words = self._banks(m, step)
        bits, negative = self._planes(m, step)
        s1 = Signal(add_control_layout(self._config))
        s2 = Signal(add_layout(self._config))
        m.d.sync += [
            s1.valid.eq(step.works),
            s1.plane.eq(step.plane),
            s1.tile.eq(step.tile),
            s1.clear.eq(step.first_group & (step.plane == 0)),
            s1.last.eq(step.row_ends),
            s1.empty.eq(step.first_group & ~step.works),
            s1.row.eq(self.i.payload.row),
            s2.control.eq(s1),
        ]
        self._sum(m, s2, words, bits, negative)
        m.d.comb += psums.add.eq(s2)
        self._count(m, step, psums.free)
        return m

    def _steps(self, m: Module, free: Signal) -> _Step:
        """Walk through groups, tiles and planes; the loop variables stand still while waiting."""
        step = _Step(self._config)
        group = self.i.payload
        works = Signal()
        plane_ends = Signal()
        group_ends = Signal()
        m.d.comb += [
            works.eq(Cat(value.valid for value in group.values).any() & (group.row.width != 0)),
            plane_ends.eq(step.plane + 1 == group.row.width),
            group_ends.eq(~works | plane_ends & (step.tile + 1 == self.tiles)),
            self.i.ready.eq(free & group_ends),
            step.runs.eq(self.i.valid & free),
            step.works.eq(step.runs & works),
            step.row_ends.eq(step.runs & group_ends & group.last),
        ]
        with m.If(step.works):
            m.d.sync += step.plane.eq(Mux(plane_ends, 0, step.plane + 1))
            with m.If(plane_ends):
                m.d.sync += step.tile.eq(step.tile + 1)
                m.d.sync += step.base.eq(step.base + self.bank_stride)
        with m.If(step.runs & group_ends):
            m.d.sync += [step.tile.eq(0), step.base.eq(0), step.first_group.eq(group.last)]
        return step

    def _banks(self, m: Module, step: _Step) -> list:
        """One memory a lane; return what each read last."""
        c = self._config.combination
        words, reads = [], []
        for lane, value in enumerate(self.i.payload.values):
            shape = data.ArrayLayout(signed(Q_WIDTH), c.cols)
            bank = memory.Memory(shape=shape, depth=c.bank_depth, init=[])
            m.submodules[f"bank{lane}"] = bank
            write = bank.write_port()
            read = bank.read_port()
            m.d.comb += [
                write.en.eq(self.weight_write.enable & (self.weight_write.lane == lane)),
                write.addr.eq(self.weight_write.address),
                Value.cast(write.data).eq(self.weight_write.word),
                read.en.eq(step.works & (step.plane == 0) & value.valid),
                read.addr.eq(step.base + value.address),
            ]
            words.append(read.data)
            reads.append(read.en)
        m.d.comb += self.events.weight_reads.eq(adder_tree(reads))
        return words

    def _planes(self, m: Module, step: _Step) -> tuple[list[Value], list[Value]]:
        """Shift each lane's magnitude right, a bit a plane; return bit and sign of each lane."""
        bits, signs = [], []
        for lane, value in enumerate(self.i.payload.values):
            magnitude = Signal(CODE_WIDTH_MAX, name=f"s1_magnitude{lane}")
            sign = Signal(name=f"s1_sign{lane}")
            with m.If(step.plane == 0):
                m.d.sync += magnitude.eq(Mux(value.valid, value.magnitude, 0))
            with m.Else():
                m.d.sync += magnitude.eq(magnitude >> 1)
            m.d.sync += sign.eq(value.sign)
            bits.append(magnitude[0])
            signs.append(sign)
        return bits, signs

    def _sum(self, m: Module, s2: Any, words: list, bits: list, signs: list) -> None:
        for column in range(self._config.combination.cols):
            terms = [
                Mux(bit, Mux(sign, -word[column], word[column]), 0)
                for word, bit, sign in zip(words, bits, signs, strict=True)
            ]
            m.d.sync += s2.sums[column].eq(adder_tree(terms))

    def _count(self, m: Module, step: _Step, free: Signal) -> None:
        """Raise the events; a group counts when its work starts."""
        valid = [value.valid for value in self.i.payload.values]
        values = adder_tree(valid)
        starts = step.works & (step.plane == 0) & (step.tile == 0)
        m.d.comb += [
            self.events.combine_values.eq(Mux(starts, values, 0)),
            self.events.combine_groups.eq(starts),
            self.events.combine_planes.eq(step.works),
            self.events.combine_bit_ops.eq(Mux(step.works, values, 0)),
            self.events.combine_starved.eq(free & ~self.i.valid),
            self.events.combine_stalled.eq(self.i.valid & ~free),
        ]
