"""Two rows of partial sums: one is accumulated while the other is handed on."""

from typing import Any

from amaranth import *
from amaranth.hdl import signed
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.gnn.combine_layouts import add_layout, psum_word_layout, tile_width
from hw.gnn.config import GnnConfig

__all__ = ["PsumRows"]

ROWS = 2


class PsumRows(wiring.Component):
    """P[tile] += term << plane in one row, while the row before it is read out.

    Each row is a memory of one read and one write port with `tiles_max` words of `cols` sums.

    Members
    -------
    tiles : In(range(tiles_max + 1))
        Tiles of a row, from the command.
    free : Out(1)
        The row that comes next, or is under way, may be accumulated.
    claim : In(1)
        The unit in front issues the last add of a row now; its add arrives two cycles later.
    add : In(add_layout)
        Cannot be refused. `clear`: the row's first add to this tile; `last`: ends the row.
    o : Out(stream of psum_word_layout)

    **Latency**: an add is in memory two cycles after it arrives. A row's first word is read one
    cycle after the add with `last` arrived (three cycles after its claim) at the earliest, a word
    a cycle, and offered the cycle after it was read; a word is read when the word before it has
    been or is being taken. The row is free in the cycle after its last word was taken.
    """

    tiles: Signal
    free: Signal
    claim: Signal
    add: Any
    o: stream.Interface

    def __init__(self, config: GnnConfig) -> None:
        self._config = config
        super().__init__(
            {
                "tiles": In(range(config.combination.tiles_max + 1)),
                "free": Out(1),
                "claim": In(1),
                "add": In(add_layout(config)),
                "o": Out(stream.Signature(psum_word_layout(config))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Three pointers go round the two rows: issue, add and read."""
        m = Module()
        busy = Signal(ROWS)
        full = Signal(ROWS)
        issue_row = Signal(range(ROWS))
        add_row = Signal(range(ROWS))
        m.d.comb += self.free.eq(~busy.bit_select(issue_row, 1))
        with m.If(self.claim):
            m.d.sync += [busy.bit_select(issue_row, 1).eq(1), issue_row.eq(issue_row + 1)]
        with m.If(self.add.control.last):
            m.d.sync += [full.bit_select(add_row, 1).eq(1), add_row.eq(add_row + 1)]

        term = self._shift(m, add_row)
        heads = [self._head(m, n, add_row) for n in range(ROWS)]
        read = Signal(1)
        read_row = Signal(range(ROWS))
        read_tile = Signal(tile_width(self._config))
        words = []
        for n in range(ROWS):
            memory_read = self._memory(m, n, term)
            adds = self.add.control.valid & (add_row == n)
            m.d.comb += [
                memory_read.addr.eq(Mux(full[n], read_tile, self.add.control.tile)),
                memory_read.en.eq(Mux(full[n], read & (read_row == n), adds)),
            ]
            words.append(memory_read.data)
        m.d.comb += read.eq(full.bit_select(read_row, 1) & (~self.o.valid | self.o.ready))
        given_row = self._read_out(m, read, read_row, read_tile)
        self._give(m, given_row, words, heads)
        with m.If(self.o.valid & self.o.ready & self.o.payload.last):
            m.d.sync += [busy.bit_select(given_row, 1).eq(0), full.bit_select(given_row, 1).eq(0)]
        return m

    def _shift(self, m: Module, add_row: Value) -> Any:
        """Register the add with its sums at their place value, while the old psum is read."""
        c = self._config.combination
        layout = data.StructLayout(
            {
                "valid": 1,
                "clear": 1,
                "row": range(ROWS),
                "tile": tile_width(self._config),
                "psum": data.ArrayLayout(signed(c.psum_width), c.cols),
            }
        )
        term = Signal(layout)
        m.d.sync += [
            term.valid.eq(self.add.control.valid),
            term.clear.eq(self.add.control.clear),
            term.row.eq(add_row),
            term.tile.eq(self.add.control.tile),
        ]
        for column in range(c.cols):
            m.d.sync += term.psum[column].eq(self.add.sums[column] << self.add.control.plane)
        return term

    def _head(self, m: Module, n: int, add_row: Value) -> Any:
        """Keep what goes with row `n`."""
        head = Signal(data.StructLayout({"m": 12, "e": 6, "empty": 1}), name=f"row{n}_head")
        with m.If(self.add.control.last & (add_row == n)):
            m.d.sync += [
                head.m.eq(self.add.control.row.m),
                head.e.eq(self.add.control.row.e),
                head.empty.eq(self.add.control.empty),
            ]
        return head

    def _memory(self, m: Module, n: int, term: Any) -> Any:
        """Store row `n`; a read in the cycle of a write to its tile sees the new sums."""
        c = self._config.combination
        shape = data.ArrayLayout(signed(c.psum_width), c.cols)
        row = memory.Memory(shape=shape, depth=c.tiles_max, init=[])
        m.submodules[f"row{n}"] = row
        write = row.write_port()
        read = row.read_port(transparent_for=(write,))
        m.d.comb += [write.en.eq(term.valid & (term.row == n)), write.addr.eq(term.tile)]
        for column in range(c.cols):
            old = Mux(term.clear, 0, read.data[column])
            m.d.comb += write.data[column].eq(old + term.psum[column])
        return read

    def _read_out(self, m: Module, read: Value, row: Signal, tile: Signal) -> Signal:
        """Step through the tiles of a full row; return the row of the word that is offered."""
        last = Signal()
        given_row = Signal(range(ROWS))
        m.d.comb += last.eq(tile + 1 == self.tiles)
        with m.If(~self.o.valid | self.o.ready):
            m.d.sync += self.o.valid.eq(read)
        with m.If(read):
            m.d.sync += [
                self.o.payload.tile.eq(tile),
                self.o.payload.last.eq(last),
                given_row.eq(row),
                tile.eq(Mux(last, 0, tile + 1)),
                row.eq(row + last),
            ]
        return given_row

    def _give(self, m: Module, given_row: Signal, words: list, heads: list) -> None:
        for n in range(ROWS):
            with m.If(given_row == n):
                m.d.comb += [self.o.payload.m.eq(heads[n].m), self.o.payload.e.eq(heads[n].e)]
                for column, psum in enumerate(self.o.payload.psum):
                    m.d.comb += psum.eq(Mux(heads[n].empty, 0, words[n][column]))
