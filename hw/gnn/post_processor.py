"""From drained sums to the codes of the next layer, or to logits."""

from typing import Any

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.elastic_control import ElasticControl
from hw.gnn.config import CODE_WIDTH_MAX, GnnConfig
from hw.gnn.format import AGGREGATE_COLUMN, AGGREGATE_NODE
from hw.rounding import round_half_away

__all__ = ["CodeWord", "LogitWord", "PostOperand", "PostProcessor"]

LOGIT_WIDTH = 48
"""Bits of Z (contract, section 1)."""

MULTIPLIER_WIDTH = 12
"""Bits of a mantissa m (contract, Notation)."""

NODE_FACTORS = {name: width for name, width, _ in AGGREGATE_NODE.fields if not name.startswith("_")}
COLUMN_FACTORS = data.StructLayout(
    {name: signed(width) for name, width, _ in AGGREGATE_COLUMN.fields if name in ("n", "b")}
)


class PostOperand(data.StructLayout):
    """`lanes` sums of one row with the factors of their columns and of the row; `last` of all."""

    def __init__(self, config: GnnConfig) -> None:
        lanes = config.aggregation.lanes
        super().__init__(
            {
                "acc": data.ArrayLayout(signed(config.aggregation.psum_width), lanes),
                "columns": data.ArrayLayout(COLUMN_FACTORS, lanes),
                "node": data.StructLayout(NODE_FACTORS),
                "last": 1,
            }
        )


class CodeWord(data.StructLayout):
    """`lanes` codes in sign and magnitude, the row's magnitude width, `last` of all."""

    def __init__(self, config: GnnConfig) -> None:
        code = data.StructLayout({"magnitude": CODE_WIDTH_MAX, "negative": 1})
        lanes = config.aggregation.lanes
        super().__init__({"codes": data.ArrayLayout(code, lanes), "width": 4, "last": 1})


class LogitWord(data.StructLayout):
    """`lanes` values Z, `last` of all."""

    def __init__(self, config: GnnConfig) -> None:
        z = data.ArrayLayout(signed(LOGIT_WIDTH), config.aggregation.lanes)
        super().__init__({"z": z, "last": 1})


class PostProcessor(wiring.Component):
    """A2 on `lanes` columns: ``Z = rha(acc*m', e')*n' + b``, ``x' = clip(rha(Z*m'', e''))``.

    A layer that is not the last takes ``max(Z, 0)`` and clips to ``0..2^B'-1``; before a signed
    layer Z is taken as it is and clipped to ``-(2^B'-1)..2^B'-1``. Nothing else wraps or saturates:
    lowering proves the range of every product and that Z fits 48 bits.

    The self operand of GIN and SAGE, ``r_j * q_self[v,j]``, enters stage 4 beside b: then
    `PostOperand` carries ``r`` in its column factors and the row's own q beside `acc`, and the
    product is made in stage 3.

    Parameters
    ----------
    config : GnnConfig

    Members
    -------
    i : In(stream(PostOperand))
    o_code : Out(stream(CodeWord))
        Words of a layer that is not the last.
    o_logit : Out(stream(LogitWord))
        Words of the last layer.
    last_layer, signed_next : In(1)
        Constant while words are inside.

    **Latency**: a word taken in cycle t is at `o_logit` in t + 4, at `o_code` in t + 7, one word a
    cycle, while the output does not stall. Each stage moves on its own: a stalled output stops the
    input only when all stages hold a word.

    **Golden**: `models.golden.gnn.post_processor`.

    **Source**: contracts, section 1, A2.
    """

    i: stream.Interface
    o_code: stream.Interface
    o_logit: stream.Interface
    last_layer: Signal
    signed_next: Signal

    def __init__(self, config: GnnConfig) -> None:
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(PostOperand(config))),
                "o_code": Out(stream.Signature(CodeWord(config))),
                "o_logit": Out(stream.Signature(LogitWord(config))),
                "last_layer": In(1),
                "signed_next": In(1),
            }
        )

    def elaborate(self, platform) -> Module:
        """Stages 1 to 4 make Z, where logits leave; stages 5 to 7 make the code."""
        m = Module()
        m.submodules.z_control = z_control = ElasticControl(4)
        m.submodules.code_control = code_control = ElasticControl(3)
        m.d.comb += [
            z_control.i_valid.eq(self.i.valid),
            self.i.ready.eq(z_control.i_ready),
            self.o_logit.valid.eq(z_control.o_valid & self.last_layer),
            code_control.i_valid.eq(z_control.o_valid & ~self.last_layer),
            z_control.o_ready.eq(Mux(self.last_layer, self.o_logit.ready, code_control.i_ready)),
            self.o_code.valid.eq(code_control.o_valid),
            code_control.o_ready.eq(self.o_code.ready),
        ]
        node = self._make_z(m, z_control.load)
        self._make_code(m, code_control.load, node)
        return m

    def _lanes(self, width: int) -> data.ArrayLayout:
        return data.ArrayLayout(signed(width), self.config.aggregation.lanes)

    def _carry(self, m: Module, load: Signal, value: Any, name: str, stages: int) -> list[Any]:
        """Return the registers that take `value` along through the first stages."""
        registers = [Signal.like(value, name=f"s{k + 1}_{name}") for k in range(stages)]
        for k, (before, register) in enumerate(zip([value, *registers], registers, strict=False)):
            with m.If(load[k]):
                m.d.sync += register.eq(before)
        return registers

    def _make_z(self, m: Module, load: Signal) -> data.View:
        """Fill stages 1 to 4; return the row's factors beside Z."""
        lanes = range(self.config.aggregation.lanes)
        y_width = self.config.aggregation.psum_width + MULTIPLIER_WIDTH
        operand = self.i.payload
        s1_product = Signal(self._lanes(y_width))
        s2_y = Signal(self._lanes(y_width))
        s3_product = Signal(self._lanes(y_width + COLUMN_FACTORS["n"].width))
        s4_z = Signal(self._lanes(LOGIT_WIDTH))
        columns = self._carry(m, load, operand.columns, "columns", 3)
        nodes = self._carry(m, load, operand.node, "node", 4)
        lasts = self._carry(m, load, operand.last, "last", 4)
        with m.If(load[0]):
            m.d.sync += [s1_product[k].eq(operand.acc[k] * operand.node.m) for k in lanes]
        with m.If(load[1]):
            m.d.sync += [s2_y[k].eq(round_half_away(s1_product[k], nodes[0].e)) for k in lanes]
        with m.If(load[2]):
            m.d.sync += [s3_product[k].eq(s2_y[k] * columns[1][k].n) for k in lanes]
        with m.If(load[3]):
            m.d.sync += [s4_z[k].eq(s3_product[k] + columns[2][k].b) for k in lanes]
        m.d.comb += [self.o_logit.payload.z.eq(s4_z), self.o_logit.payload.last.eq(lasts[3])]
        return nodes[3]

    def _make_code(self, m: Module, load: Signal, node: data.View) -> None:
        """Fill stages 5 to 7 from Z; the last one is the output."""
        lanes = range(self.config.aggregation.lanes)
        z, last = self.o_logit.payload.z, self.o_logit.payload.last
        s5_product = Signal(self._lanes(LOGIT_WIDTH + MULTIPLIER_WIDTH))
        s5_e = Signal(6)
        s5_width = Signal(4)
        s5_last = Signal()
        s6_x = Signal(self._lanes(LOGIT_WIDTH + MULTIPLIER_WIDTH))
        s6_width = Signal(4)
        s6_last = Signal()
        limit = Signal(CODE_WIDTH_MAX)
        out = self.o_code.payload
        m.d.comb += limit.eq((1 << s6_width) - 1)
        with m.If(load[0]):
            kept = [Mux((z[k] < 0) & ~self.signed_next, 0, z[k]) for k in lanes]
            m.d.sync += [s5_product[k].eq(kept[k] * node.m_next) for k in lanes]
            m.d.sync += [s5_e.eq(node.e_next), s5_width.eq(node.width_next), s5_last.eq(last)]
        with m.If(load[1]):
            m.d.sync += [s6_x[k].eq(round_half_away(s5_product[k], s5_e)) for k in lanes]
            m.d.sync += [s6_width.eq(s5_width), s6_last.eq(s5_last)]
        with m.If(load[2]):
            for k in lanes:
                magnitude = Mux(s6_x[k] < 0, -s6_x[k], s6_x[k])
                m.d.sync += [
                    out.codes[k].magnitude.eq(Mux(magnitude > limit, limit, magnitude)),
                    out.codes[k].negative.eq((s6_x[k] < 0) & (limit != 0)),
                ]
            m.d.sync += [out.width.eq(s6_width), out.last.eq(s6_last)]
