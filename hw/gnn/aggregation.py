"""The aggregation engine: q rows and edges in, features of the next layer or logits out."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.bit_packer import BitPacker
from hw.dma import ReadRequest, WriteRequest, WriteToken
from hw.gnn.config import GnnConfig
from hw.gnn.counters import COUNTERS
from hw.gnn.drain import Drain
from hw.gnn.edge_decoder import EdgeDecoder
from hw.gnn.feature_encoder import FeatureEncoder
from hw.gnn.format import AGGREGATE
from hw.gnn.logit_encoder import LOGIT_WORD_WIDTH, LogitEncoder
from hw.gnn.post_processor import PostProcessor
from hw.gnn.psum_buffer import PsumBuffer, PsumOperation
from hw.gnn.row_fetcher import RowFetcher
from hw.gnn.scatter_add import ScatterAdd
from hw.gnn.segment_writer import SegmentWriter
from hw.gnn.words import layout

__all__ = ["AggregationEngine", "AggregationEvents"]


class AggregationEvents(data.StructLayout):
    """One bit for each counter of this engine: its increment in this cycle."""

    def __init__(self) -> None:
        super().__init__({c.name: 1 for c in COUNTERS if c.unit == "aggregate"})


class AggregationEngine(wiring.Component):
    """Execute AGGREGATE commands one after another: clear, wait, scatter, drain, write.

    Parameters
    ----------
    config : GnnConfig

    Members
    -------
    i_command : In(stream(AGGREGATE))
    combines_done : In(32)
        Commands that the combination engine has completed since start.
    i_rows : In(stream(row_width))
        q rows of the combination engine (`source_memory` = 0).
    o_request_<what>, i_<what> : Out(stream(ReadRequest)), In(stream(axi_data_width))
        Read streams: `edges`, `sources`, `nodes`; of q rows `o_request_rows`, `i_row_beats`.
    o_write_request, o_write, write_done
        Write stream of the output region.
    go, done : Out(1)
        Strobes: the command's wait is over; its output is acknowledged.
    events : Out(AggregationEvents)

    **Latency**: command taken in cycle t. Requests of nodes, edges and sources are offered from
    t + 1, psum words are cleared in t + 2 .. t + 1 + clear_words. Let u be the first cycle >=
    t + 2 + clear_words in which the column words are loaded (`Drain`); `go` comes in
    v = the first cycle >= u + 1 in which `combines_done` >= wait.
    *Scatter*: from v + 1 on, requests of q rows as well; row r with n destinations takes
    ``c[r] = max(n x tiles, 1)`` cycles and leaves in
    ``out[r] = max(out[r-1], in[r]) + c[r]`` with ``out[-1] = v`` and `in` from `RowFetcher`, if its
    tokens are there in time (`EdgeDecoder`; its region is fetched long before, one token a cycle).
    *Drain*: let x be the last cycle of scatter (v without source rows): address k of the drain
    in x + 1 + k, operand k in x + 2 + k, at the logit encoder in x + 6 + k, at the feature encoder
    in x + 9 + k, while those do not stall; their docstrings say the cycles of a row and of a
    chunk. A give in cycle y that completes a beat is at `o_write` in y + 1 (`BitPacker`).
    *End*: `done` comes with the acknowledgement of the data (logits), or of the header, which is
    requested one cycle after the acknowledgement of the data and written in the next. The next
    command is taken from `done` + 1 on. A beat of node or source words that ends in padding stays
    in its read stream until that command starts.
    """

    i_command: stream.Interface
    combines_done: Signal
    i_rows: stream.Interface
    o_request_edges: stream.Interface
    i_edges: stream.Interface
    o_request_sources: stream.Interface
    i_sources: stream.Interface
    o_request_rows: stream.Interface
    i_row_beats: stream.Interface
    o_request_nodes: stream.Interface
    i_nodes: stream.Interface
    o_write_request: stream.Interface
    o_write: stream.Interface
    write_done: Signal
    done: Signal
    go: Signal
    events: data.View

    def __init__(self, config: GnnConfig) -> None:
        self.config = config
        request = Out(stream.Signature(ReadRequest(config.memory.axi_addr_width)))
        beats = In(stream.Signature(config.memory.axi_data_width))
        super().__init__(
            {
                "i_command": In(stream.Signature(layout(AGGREGATE))),
                "combines_done": In(32),
                "i_rows": In(stream.Signature(config.row_width)),
                "o_request_edges": request,
                "i_edges": beats,
                "o_request_sources": request,
                "i_sources": beats,
                "o_request_rows": request,
                "i_row_beats": beats,
                "o_request_nodes": request,
                "i_nodes": beats,
                "o_write_request": Out(
                    stream.Signature(WriteRequest(config.memory.axi_addr_width))
                ),
                "o_write": Out(stream.Signature(WriteToken(config.memory.axi_data_width))),
                "write_done": In(1),
                "done": Out(1),
                "go": Out(1),
                "events": Out(AggregationEvents()),
            }
        )

    def elaborate(self, platform) -> Module:
        """Sequence the units; each method connects one path."""
        m = Module()
        command = Signal(layout(AGGREGATE))
        start = Signal()
        scattering = Signal()
        draining = Signal()
        clear_left = Signal(range(self.config.aggregation.depth + 1))
        clearing = Signal()
        m.submodules.drain = drain = Drain(self.config)
        m.submodules.scatter = scatter = ScatterAdd(self.config)
        m.submodules.psums = psums = PsumBuffer(self.config)
        segment = self._output(m, command, drain)
        self._requests(m, command)
        self._sources(m, command, start, scatter, scattering)
        self._psums(m, psums, scatter, drain, clearing, clear_left)
        self._factors(m, command, start, drain, draining)
        m.d.comb += [
            clearing.eq(clear_left != 0),
            self.done.eq(segment.done),
            segment.i_segment.valid.eq(self.go),
        ]
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self.i_command.ready.eq(1)
                with m.If(self.i_command.valid):
                    m.d.sync += command.eq(self.i_command.payload)
                    m.next = "START"
            with m.State("START"):
                m.d.comb += start.eq(1)
                m.d.sync += clear_left.eq(command.clear_words)
                m.next = "PREPARE"
            with m.State("PREPARE"):
                with m.If(clearing):
                    m.d.sync += clear_left.eq(clear_left - 1)
                with m.Elif(drain.loaded):
                    m.next = "WAIT"
            with m.State("WAIT"):
                m.d.comb += self.go.eq(self.combines_done >= command.wait)
                m.d.comb += self.events.aggregate_waiting.eq(~self.go)
                with m.If(self.go):
                    m.next = "SCATTER"
                    with m.If(command.source_rows == 0):
                        m.next = "DRAIN"
            with m.State("SCATTER"):
                m.d.comb += scattering.eq(1)
                with m.If(scatter.final):
                    m.next = "DRAIN"
            with m.State("DRAIN"):
                m.d.comb += draining.eq(1)
                with m.If(self.done):
                    m.next = "IDLE"
        return m

    def _requests(self, m: Module, command: data.View) -> None:
        """Offer each request from the cycle after the command until it is taken."""
        for what in ("edges", "sources", "nodes"):
            port = getattr(self, f"o_request_{what}")
            pending = Signal(name=f"{what}_pending")
            wanted = self.i_command.payload[f"{what}_beats"] != 0
            m.d.comb += [
                port.valid.eq(pending),
                port.payload.address.eq(command[f"{what}_address"]),
                port.payload.beats.eq(command[f"{what}_beats"]),
            ]
            with m.If(self.i_command.valid & self.i_command.ready):
                m.d.sync += pending.eq(wanted)
            with m.Elif(port.ready):
                m.d.sync += pending.eq(0)

    def _sources(
        self,
        m: Module,
        command: data.View,
        start: Signal,
        scatter: ScatterAdd,
        scattering: Signal,
    ) -> None:
        """Connect q rows and edges to the scatter-add unit."""
        m.submodules.fetcher = rows = RowFetcher(self.config)
        m.submodules.edges = edges = EdgeDecoder(self.config)
        for outer, inner in (
            (self.i_rows, rows.i_rows),
            (self.i_sources, rows.i_sources),
            (self.i_row_beats, rows.i_beats),
            (self.i_edges, edges.i),
        ):
            wiring.connect(m, wiring.flipped(outer), inner)
        wiring.connect(m, rows.o_request, wiring.flipped(self.o_request_rows))
        wiring.connect(m, rows.o, scatter.i_row)
        wiring.connect(m, edges.o, scatter.i_edge)
        m.d.comb += [
            rows.start.eq(start),
            rows.source_words.eq(command.source_words),
            rows.row_beats.eq(command.row_beats),
            rows.streaming.eq(~command.source_memory),
            rows.enable.eq(scattering),
            edges.start.eq(start),
            edges.records.eq(command.source_rows),
            edges.tiles.eq(command.tiles),
            scatter.tiles.eq(command.tiles),
            scatter.enable.eq(scattering),
            self.events.aggregate_starved.eq(scatter.starved),
            self.events.aggregate_rows.eq(scatter.row_done),
            self.events.aggregate_edges.eq(
                scatter.i_edge.valid & scatter.i_edge.ready & ~scatter.i_edge.payload.empty
            ),
        ]

    def _psums(
        self,
        m: Module,
        psums: PsumBuffer,
        scatter: ScatterAdd,
        drain: Drain,
        clearing: Signal,
        clear_left: Signal,
    ) -> None:
        """Give the psum buffer to the one unit that works in this phase."""
        wiring.connect(m, psums.o, drain.i_psum)
        operation = psums.i.payload
        with m.If(clearing):
            m.d.comb += [
                psums.i.valid.eq(1),
                operation.operation.eq(PsumOperation.CLEAR),
                operation.address.eq(clear_left - 1),
                self.events.psum_clears.eq(psums.i.ready),
            ]
        with m.Elif(drain.enable):
            m.d.comb += [
                psums.i.valid.eq(drain.o_address.valid),
                drain.o_address.ready.eq(psums.i.ready),
                operation.operation.eq(PsumOperation.DRAIN),
                operation.address.eq(drain.o_address.payload),
                self.events.psum_drains.eq(psums.i.valid & psums.i.ready),
            ]
        with m.Else():
            m.d.comb += [
                psums.i.valid.eq(scatter.o.valid),
                scatter.o.ready.eq(psums.i.ready),
                operation.operation.eq(PsumOperation.ADD),
                operation.address.eq(scatter.o.payload.address),
                operation.addend.eq(scatter.o.payload.addend),
                self.events.psum_updates.eq(psums.i.valid & psums.i.ready),
            ]

    def _factors(
        self, m: Module, command: data.View, start: Signal, drain: Drain, draining: Signal
    ) -> None:
        """Connect the node table."""
        wiring.connect(m, wiring.flipped(self.i_nodes), drain.i_nodes)
        m.d.comb += [
            drain.start.eq(start),
            drain.columns.eq(command.columns),
            drain.tiles.eq(command.tiles),
            drain.rows.eq(command.rows),
            drain.enable.eq(draining),
        ]

    def _output(self, m: Module, command: data.View, drain: Drain) -> SegmentWriter:
        """Post-process, encode by the kind of layer, pack, write."""
        m.submodules.post = post = PostProcessor(self.config)
        m.submodules.features = features = FeatureEncoder(self.config)
        m.submodules.logits = logits = LogitEncoder(self.config)
        m.submodules.packer = packer = BitPacker(
            self.config.memory.axi_data_width, LOGIT_WORD_WIDTH
        )
        m.submodules.segment = segment = SegmentWriter(self.config)
        wiring.connect(m, drain.o, post.i)
        wiring.connect(m, post.o_code, features.i)
        wiring.connect(m, post.o_logit, logits.i)
        wiring.connect(m, packer.o, segment.i)
        wiring.connect(m, segment.o_write_request, wiring.flipped(self.o_write_request))
        wiring.connect(m, segment.o_write, wiring.flipped(self.o_write))
        m.d.comb += [
            post.last_layer.eq(command.last_layer),
            post.signed_next.eq(command.signed_next),
            features.columns.eq(command.columns),
            features.signed.eq(command.signed_next),
            logits.columns.eq(command.columns),
            segment.write_done.eq(self.write_done),
            segment.i_segment.payload.address.eq(command.out_address),
            segment.i_segment.payload.header.eq(~command.last_layer),
            self.events.post_stalled.eq(
                (features.i.valid & ~features.i.ready) | (logits.i.valid & ~logits.i.ready)
            ),
        ]
        for chosen, encoder in ((command.last_layer, logits), (~command.last_layer, features)):
            with m.If(chosen):
                m.d.comb += [
                    packer.i.valid.eq(encoder.o.valid),
                    encoder.o.ready.eq(packer.i.ready),
                    packer.i.payload.bits.eq(encoder.o.payload.bits),
                    packer.i.payload.width.eq(encoder.o.payload.width),
                    packer.i.payload.last.eq(encoder.o.payload.last),
                ]
        m.d.comb += self.events.output_values.eq(
            Mux(command.last_layer, logits.o.valid & logits.o.ready, features.value)
        )
        return segment
