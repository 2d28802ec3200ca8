"""The combination engine: feature segments times weights, requantized to rows of 4-bit operands."""

from typing import Any

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.beat_slicer import BeatSlicer
from hw.bit_unpacker import BitUnpacker
from hw.dma import ReadRequest, WriteRequest, WriteToken
from hw.gnn.combination_datapath import CombinationDatapath
from hw.gnn.combine_layouts import DATAPATH_EVENTS, events_layout, take_max
from hw.gnn.config import GnnConfig
from hw.gnn.format import COMBINE, COMBINE_COLUMN
from hw.gnn.row_writer import RowWriter
from hw.gnn.weight_loader import WeightLoader
from hw.gnn.words import layout

__all__ = ["CombinationEngine"]

WORD_WIDTH = 64
"""Bits of a column word and of a node word."""


class _Strobes:
    """What the parts of the engine tell each other.

    `pads`: what follows in the streams of node words and features is padding.
    """

    def __init__(self) -> None:
        self.accepts = Signal(name="accepts")
        self.columns_missing = Signal(name="columns_missing")
        self.loading = Signal(name="loading")
        self.waits = Signal(name="waits")
        self.asks_header = Signal(name="asks_header")
        self.takes_header = Signal(name="takes_header")
        self.pads = Signal(name="pads")
        self.row_given = Signal(name="row_given")
        self.rows_given = Signal(name="rows_given")


class CombinationEngine(wiring.Component):
    """Execute COMBINE commands: q = C2(X W) for the rows of one part (contract, section 1).

    Members
    -------
    i_command : In(stream of COMBINE)
    aggregates_done : In(32)
        Commands that the other engine has completed since start.
    o_request_weights, i_weights, o_request_nodes, i_nodes, o_request_features, i_features
        Read requests and their beats. Each request covers its region exactly: padding stands in
        the last beat only.
    o_rows : Out(stream of row_width bits)
        q rows, if `sink_memory` is 0.
    o_write_request, o_write, write_done
        One request for all rows of the command, if `sink_memory` is 1.
    go, done : Out(1)
        Strobes: the wait is over; all rows are handed over, or acknowledged.
    events : Out(events_layout)
        Increments of the counters of unit ``combine``.

    **Latency**: a command taken at c asks for weights, node table and the write at c + 1. Weight
    words and column words are written side by side, each one a cycle from the cycle in which its
    first beat is offered. With the last of them written at l, `go` is at l + 2 or once the wait is
    over. The segment's header beat is asked for at go + 1; with the header taken at h, the rest is
    asked for (if there is any) and decoding starts at h + 1; a beat taken at b can be decoded from
    b + 1 on. Rows follow the rule of `CombinationDatapath`, its first step not before h + 1.
    In memory mode the row writer takes a row when it is empty or the last beat of the row before
    is taken; a row's beats follow from the next cycle on. `done` is in the cycle after the last row
    was handed over, in memory mode in the cycle after `write_done`; the next command can be taken
    in the cycle after `done`.
    """

    i_command: stream.Interface
    aggregates_done: Signal
    o_request_weights: stream.Interface
    i_weights: stream.Interface
    o_request_nodes: stream.Interface
    i_nodes: stream.Interface
    o_request_features: stream.Interface
    i_features: stream.Interface
    o_rows: stream.Interface
    o_write_request: stream.Interface
    o_write: stream.Interface
    write_done: Signal
    go: Signal
    done: Signal
    events: Any

    def __init__(self, config: GnnConfig) -> None:
        self._config = config
        request = stream.Signature(ReadRequest(config.memory.axi_addr_width))
        beats = stream.Signature(config.memory.axi_data_width)
        super().__init__(
            {
                "i_command": In(stream.Signature(layout(COMBINE))),
                "aggregates_done": In(32),
                "o_request_weights": Out(request),
                "i_weights": In(beats),
                "o_request_nodes": Out(request),
                "i_nodes": In(beats),
                "o_request_features": Out(request),
                "i_features": In(beats),
                "o_rows": Out(stream.Signature(config.row_width)),
                "o_write_request": Out(
                    stream.Signature(WriteRequest(config.memory.axi_addr_width))
                ),
                "o_write": Out(stream.Signature(WriteToken(config.memory.axi_data_width))),
                "write_done": In(1),
                "go": Out(1),
                "done": Out(1),
                "events": Out(events_layout(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Loaders and datapath; one state machine leads through a command."""
        m = Module()
        command = Signal(layout(COMBINE))
        m.submodules.loader = loader = WeightLoader(self._config)
        m.submodules.datapath = datapath = CombinationDatapath(self._config)
        wiring.connect(m, wiring.flipped(self.i_weights), loader.i)
        m.d.comb += [
            datapath.command.eq(command),
            datapath.weight_write.eq(loader.write),
            loader.tiles.eq(command.tiles),
            loader.bank_stride.eq(command.bank_stride),
        ]
        state = self._sequence(m, command)
        m.d.comb += [
            loader.start.eq(state.accepts & self.i_command.payload.load_weights),
            state.loading.eq(loader.busy | state.columns_missing),
        ]
        self._connect_nodes(m, command, state, datapath)
        self._connect_features(m, state, datapath)
        self._connect_rows(m, command, state, datapath)
        self._count(m, state, loader, datapath)
        return m

    def _sequence(self, m: Module, command: Any) -> _Strobes:
        """Accept, load, wait, read the header, run the rows, report; ask for what is needed."""
        state = _Strobes()
        ask = Signal(data.StructLayout(dict.fromkeys(("weights", "nodes", "write", "body"), 1)))
        body_beats = Signal(32)
        acknowledged = Signal()
        with m.If(self.write_done):
            m.d.sync += acknowledged.eq(1)
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += [self.i_command.ready.eq(1), state.accepts.eq(self.i_command.valid)]
                with m.If(self.i_command.valid):
                    taken = self.i_command.payload
                    m.d.sync += [command.eq(taken), acknowledged.eq(0)]
                    m.d.sync += [ask.weights.eq(taken.load_weights), ask.nodes.eq(1)]
                    m.d.sync += ask.write.eq(taken.sink_memory)
                    m.next = "LOAD"
            with m.State("LOAD"):
                with m.If(~state.loading & ~Value.cast(ask).any()):
                    m.next = "WAIT"
            with m.State("WAIT"):
                m.d.comb += self.go.eq(self.aggregates_done >= command.wait)
                m.d.comb += state.waits.eq(~self.go)
                with m.If(self.go):
                    m.next = "ASK_HEADER"
            with m.State("ASK_HEADER"):
                m.d.comb += state.asks_header.eq(1)
                with m.If(self.o_request_features.ready):
                    m.next = "HEADER"
            with m.State("HEADER"):
                m.d.comb += state.takes_header.eq(1)
                with m.If(self.i_features.valid):
                    m.d.sync += body_beats.eq(self.i_features.payload)
                    m.d.sync += ask.body.eq(self.i_features.payload[:32].any())
                    m.next = "ROWS"
            with m.State("ROWS"):
                with m.If(state.rows_given):
                    m.next = "DONE"
                    with m.If(command.sink_memory):
                        m.next = "ACKNOWLEDGE"
            with m.State("ACKNOWLEDGE"):
                with m.If(acknowledged | self.write_done):
                    m.next = "DONE"
            with m.State("DONE"):
                m.d.comb += self.done.eq(1)
                m.next = "IDLE"
        self._request(m, command, state, ask, body_beats)
        return state

    def _request(
        self, m: Module, command: Any, state: _Strobes, ask: Any, body_beats: Signal
    ) -> None:
        """Offer each request until it is taken."""
        features = self.o_request_features
        header_bytes = self._config.memory.beat_bytes
        m.d.comb += [
            self.o_request_weights.valid.eq(ask.weights),
            self.o_request_weights.payload.address.eq(command.weights_address),
            self.o_request_weights.payload.beats.eq(command.weights_beats),
            self.o_request_nodes.valid.eq(ask.nodes),
            self.o_request_nodes.payload.address.eq(command.nodes_address),
            self.o_request_nodes.payload.beats.eq(command.nodes_beats),
            self.o_write_request.valid.eq(ask.write),
            self.o_write_request.payload.address.eq(command.rows_address),
            features.valid.eq(state.asks_header | ask.body),
            features.payload.address.eq(command.features_address + Mux(ask.body, header_bytes, 0)),
            features.payload.beats.eq(Mux(ask.body, body_beats, 1)),
        ]
        for name, port in (
            ("weights", self.o_request_weights),
            ("nodes", self.o_request_nodes),
            ("write", self.o_write_request),
            ("body", features),
        ):
            with m.If(ask[name] & port.ready):
                m.d.sync += ask[name].eq(0)

    def _connect_nodes(self, m: Module, command: Any, state: _Strobes, datapath: Any) -> None:
        """Give the first words to the column table, the others to the decoder."""
        m.submodules.slicer = slicer = BeatSlicer(self._config.memory.axi_data_width, WORD_WIDTH)
        wiring.connect(m, wiring.flipped(self.i_nodes), slicer.i)
        column = Signal(16)
        rows_left = Signal(32)
        decoding = Signal()
        factors = data.View(layout(COMBINE_COLUMN), slicer.o.payload)
        node_taken = datapath.i_nodes.valid & datapath.i_nodes.ready
        m.d.comb += [
            datapath.column_write.enable.eq(slicer.o.valid & state.columns_missing),
            datapath.column_write.column.eq(column),
            datapath.column_write.n.eq(factors.n),
            datapath.column_write.f.eq(factors.f),
            datapath.i_nodes.valid.eq(slicer.o.valid & decoding),
            Value.cast(datapath.i_nodes.payload).eq(slicer.o.payload),
            slicer.o.ready.eq(state.columns_missing | decoding & datapath.i_nodes.ready),
            slicer.clear.eq(state.pads),
        ]
        with m.If(state.accepts):
            m.d.sync += [state.columns_missing.eq(1), column.eq(0)]
            m.d.sync += rows_left.eq(self.i_command.payload.rows)
        with m.If(datapath.column_write.enable):
            m.d.sync += column.eq(column + 1)
            m.d.sync += state.columns_missing.eq(column + 1 != command.columns)
        with m.If(state.takes_header & self.i_features.valid):
            m.d.sync += decoding.eq(1)
        m.d.sync += state.pads.eq(node_taken & (rows_left == 1))
        with m.If(node_taken):
            m.d.sync += [rows_left.eq(rows_left - 1), decoding.eq(rows_left != 1)]

    def _connect_features(self, m: Module, state: _Strobes, datapath: Any) -> None:
        """Keep the header from the unpacker."""
        beat_width = self._config.memory.axi_data_width
        m.submodules.unpacker = unpacker = BitUnpacker(beat_width, take_max(self._config))
        wiring.connect(m, unpacker.o, datapath.i_bits)
        m.d.comb += [
            unpacker.i.valid.eq(self.i_features.valid & ~state.takes_header),
            unpacker.i.payload.eq(self.i_features.payload),
            self.i_features.ready.eq(state.takes_header | unpacker.i.ready),
            unpacker.width.eq(datapath.take),
            unpacker.clear.eq(state.pads),
        ]

    def _connect_rows(self, m: Module, command: Any, state: _Strobes, datapath: Any) -> None:
        """Hand rows to the other engine or to the row writer."""
        m.submodules.writer = writer = RowWriter(self._config)
        wiring.connect(m, writer.o, wiring.flipped(self.o_write))
        rows_left = Signal(32)
        to_memory = command.sink_memory
        m.d.comb += [
            writer.row_beats.eq(command.row_beats),
            writer.last_row.eq(rows_left == 1),
            writer.i.valid.eq(datapath.o.valid & to_memory),
            writer.i.payload.eq(datapath.o.payload),
            self.o_rows.valid.eq(datapath.o.valid & ~to_memory),
            self.o_rows.payload.eq(datapath.o.payload),
            datapath.o.ready.eq(Mux(to_memory, writer.i.ready, self.o_rows.ready)),
            state.row_given.eq(datapath.o.valid & datapath.o.ready),
            state.rows_given.eq(state.row_given & (rows_left == 1)),
        ]
        with m.If(state.accepts):
            m.d.sync += rows_left.eq(self.i_command.payload.rows)
        with m.If(state.row_given):
            m.d.sync += rows_left.eq(rows_left - 1)

    def _count(self, m: Module, state: _Strobes, loader: Any, datapath: Any) -> None:
        """Pass events on; the array starves only from `go` until it has taken the last row."""
        active = Signal()
        rows_left = Signal(32)
        with m.If(state.accepts):
            m.d.sync += rows_left.eq(self.i_command.payload.rows)
        with m.If(self.go):
            m.d.sync += active.eq(1)
        with m.If(datapath.row_taken):
            m.d.sync += [rows_left.eq(rows_left - 1), active.eq(rows_left != 1)]
        m.d.comb += [self.events[name].eq(datapath.events[name]) for name in DATAPATH_EVENTS]
        m.d.comb += [
            self.events.combine_starved.eq(datapath.events.combine_starved & active),
            self.events.combine_waiting.eq(state.waits),
            self.events.weight_writes.eq(loader.write.enable),
            self.events.combine_rows.eq(state.row_given),
        ]
