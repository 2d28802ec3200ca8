"""The walk over the finished sums: each word with the factors of its columns and of its row."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hw.beat_slicer import BeatSlicer
from hw.gnn.config import GnnConfig
from hw.gnn.format import AGGREGATE_COLUMN, AGGREGATE_NODE
from hw.gnn.post_processor import COLUMN_FACTORS, PostOperand
from hw.gnn.words import layout

__all__ = ["Drain"]


class Drain(wiring.Component):
    """Keep the column words of a command, then drain the psum rows in order, `tiles` words each.

    Parameters
    ----------
    config : GnnConfig

    Members
    -------
    i_nodes : In(stream(axi_data_width))
        Beats of the node table: `columns` column words, then `rows` node words.
    o_address : Out(stream)
        Psum words to be drained: 0, 1, ... ``rows x tiles - 1``.
    i_psum : In(stream(psum word))
        The drained words; each is offered in the cycle after its address was taken (`PsumBuffer`).
    o : Out(stream(PostOperand))
    start : In(1)
        Strobe: a new table; drops the padding of the table before.
    columns, tiles, rows : In
        Constant from `start` on; each at least 1.
    loaded : Out(1)
        All column words are kept.
    enable : In(1)
        Addresses are given out.

    **Latency**: one column word a cycle from `start` + 1 on; `loaded` rises in the cycle after the
    last. Then, let `enable` rise in cycle t: address k in t + k, operand k in t + k + 1, one a
    cycle while node words wait and `o` does not stall.
    """

    i_nodes: stream.Interface
    o_address: stream.Interface
    i_psum: stream.Interface
    o: stream.Interface
    start: Signal
    columns: Signal
    tiles: Signal
    rows: Signal
    loaded: Signal
    enable: Signal

    def __init__(self, config: GnnConfig) -> None:
        self.config = config
        self.tiles_max = config.combination.columns_max // config.aggregation.lanes
        operand = PostOperand(config)
        super().__init__(
            {
                "i_nodes": In(stream.Signature(config.memory.axi_data_width)),
                "o_address": Out(stream.Signature(range(config.aggregation.depth))),
                "i_psum": In(stream.Signature(operand["acc"].shape)),
                "o": Out(stream.Signature(operand)),
                "start": In(1),
                "columns": In(range(config.combination.columns_max + 1)),
                "tiles": In(range(self.tiles_max + 1)),
                "rows": In(32),
                "loaded": Out(1),
                "enable": In(1),
            }
        )

    def elaborate(self, platform) -> Module:
        """Load the table; then issue addresses and join what comes back."""
        m = Module()
        m.submodules.slicer = slicer = BeatSlicer(
            self.config.memory.axi_data_width, AGGREGATE_NODE.width
        )
        wiring.connect(m, wiring.flipped(self.i_nodes), slicer.i)
        m.d.comb += slicer.clear.eq(self.start)
        factors = data.ArrayLayout(COLUMN_FACTORS, self.config.aggregation.lanes)
        m.submodules.table = table = Memory(shape=factors, depth=self.tiles_max, init=[])
        self._load(m, slicer.o, table.write_port(granularity=1))
        self._walk(m, slicer.o, table.read_port())
        return m

    def _load(self, m: Module, words: stream.Interface, write) -> None:
        """Put column word `column` into its lane of table word column // lanes."""
        lanes = self.config.aggregation.lanes
        column = Signal(range(self.config.combination.columns_max + 1))
        word = data.View(layout(AGGREGATE_COLUMN), words.payload)
        m.d.comb += [
            self.loaded.eq(column == self.columns),
            write.addr.eq(column >> exact_log2(lanes)),
        ]
        for lane in range(lanes):
            m.d.comb += [write.data[lane].n.eq(word.n), write.data[lane].b.eq(word.b)]
            with m.If(column[: exact_log2(lanes)] == lane):
                m.d.comb += write.en[lane].eq(words.valid & ~self.loaded)
        with m.If(self.start):
            m.d.sync += column.eq(0)
        with m.Elif(words.valid & ~self.loaded):
            m.d.sync += column.eq(column + 1)

    def _walk(self, m: Module, words: stream.Interface, read) -> None:
        """Issue in stage 0; in stage 1 join psum word, column factors and node word."""
        left = Signal(32)
        tile = Signal(range(self.tiles_max))
        address = Signal(range(self.config.aggregation.depth))
        tile_last = Signal()
        issue = Signal()
        s1_tile_last = Signal()
        s1_last = Signal()
        join = Signal()
        m.d.comb += [
            tile_last.eq(tile + 1 == self.tiles),
            self.o_address.valid.eq(self.enable & (left != 0)),
            self.o_address.payload.eq(address),
            issue.eq(self.o_address.valid & self.o_address.ready),
            read.addr.eq(tile),
            read.en.eq(issue),
            self.o.valid.eq(self.i_psum.valid & words.valid),
            self.o.payload.acc.eq(self.i_psum.payload),
            self.o.payload.columns.eq(read.data),
            self.o.payload.last.eq(s1_last),
            join.eq(self.o.valid & self.o.ready),
            self.i_psum.ready.eq(words.valid & self.o.ready),
            words.ready.eq(~self.loaded | (join & s1_tile_last)),
        ]
        node = data.View(layout(AGGREGATE_NODE), words.payload)
        for name, _ in self.o.payload.node.shape():
            m.d.comb += self.o.payload.node[name].eq(node[name])
        with m.If(issue):
            m.d.sync += [
                address.eq(address + 1),
                tile.eq(Mux(tile_last, 0, tile + 1)),
                left.eq(left - tile_last),
                s1_tile_last.eq(tile_last),
                s1_last.eq(tile_last & (left == 1)),
            ]
        with m.If(self.start):
            m.d.sync += [address.eq(0), left.eq(self.rows)]
