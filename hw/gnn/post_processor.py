"""From drained sums to the codes of the next layer, or to logits."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

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


class _Stage:
    """One register of the pipeline: taken by the next stage or the output, else kept."""

    def __init__(self, m: Module, index: int, fields: dict) -> None:
        self._m = m
        self.valid = Signal(name=f"s{index}_valid")
        self.taken = Signal(name=f"s{index}_taken")
        self.room = Signal(name=f"s{index}_room")
        self.payload = Signal(data.StructLayout(fields), name=f"s{index}")
        m.d.comb += self.room.eq(~self.valid | self.taken)

    def load(self, valid: Value, **values: Value) -> None:
        """Take scalar `values` when there is room."""
        with self._m.If(self.room):
            self._m.d.sync += self.valid.eq(valid)
            for name, value in values.items():
                self._m.d.sync += self.payload[name].eq(value)

    def load_lanes(self, name: str, values: list) -> None:
        """Take one value a lane when there is room."""
        with self._m.If(self.room):
            for lane, value in enumerate(values):
                self._m.d.sync += self.payload[name][lane].eq(value)


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
        """Stages 1 and 2 make Y, 3 and 4 make Z, 5 to 7 make the code."""
        m = Module()
        z = self._make_z(m, self._make_y(m))
        m.d.comb += [
            self.o_logit.valid.eq(z.valid & self.last_layer),
            self.o_logit.payload.z.eq(z.payload.z),
            self.o_logit.payload.last.eq(z.payload.last),
        ]
        self._make_code(m, z)
        return m

    def _lanes(self, width: int) -> data.ArrayLayout:
        return data.ArrayLayout(signed(width), self.config.aggregation.lanes)

    def _make_y(self, m: Module) -> _Stage:
        operand = self.i.payload
        width = self.config.aggregation.psum_width + MULTIPLIER_WIDTH
        common = {"columns": operand.columns.shape(), "node": operand.node.shape(), "last": 1}
        s1 = _Stage(m, 1, {"product": self._lanes(width), **common})
        m.d.comb += self.i.ready.eq(s1.room)
        s1.load(self.i.valid, columns=operand.columns, node=operand.node, last=operand.last)
        s1.load_lanes("product", [acc * operand.node.m for acc in operand.acc])
        s2 = _Stage(m, 2, {"y": self._lanes(width), **common})
        m.d.comb += s1.taken.eq(s2.room)
        s2.load(s1.valid, **{name: s1.payload[name] for name in common})
        s2.load_lanes("y", [round_half_away(p, s1.payload.node.e) for p in s1.payload.product])
        return s2

    def _make_z(self, m: Module, s2: _Stage) -> _Stage:
        lanes = range(self.config.aggregation.lanes)
        width = len(s2.payload.y[0]) + COLUMN_FACTORS["n"].width
        common = {"node": s2.payload.node.shape(), "last": 1}
        s3 = _Stage(m, 3, {"product": self._lanes(width), "b": self._lanes(32), **common})
        m.d.comb += s2.taken.eq(s3.room)
        s3.load(s2.valid, **{name: s2.payload[name] for name in common})
        s3.load_lanes("product", [s2.payload.y[k] * s2.payload.columns[k].n for k in lanes])
        s3.load_lanes("b", [s2.payload.columns[k].b for k in lanes])
        s4 = _Stage(m, 4, {"z": self._lanes(LOGIT_WIDTH), **common})
        m.d.comb += s3.taken.eq(s4.room)
        s4.load(s3.valid, **{name: s3.payload[name] for name in common})
        s4.load_lanes("z", [s3.payload.product[k] + s3.payload.b[k] for k in lanes])
        return s4

    def _make_code(self, m: Module, s4: _Stage) -> None:
        width = LOGIT_WIDTH + MULTIPLIER_WIDTH
        node = s4.payload.node
        s5 = _Stage(m, 5, {"product": self._lanes(width), "e": 6, "width": 4, "last": 1})
        m.d.comb += s4.taken.eq(Mux(self.last_layer, self.o_logit.ready, s5.room))
        s5.load(
            s4.valid & ~self.last_layer, e=node.e_next, width=node.width_next, last=s4.payload.last
        )
        kept = [Mux((z < 0) & ~self.signed_next, 0, z) for z in s4.payload.z]
        s5.load_lanes("product", [z * node.m_next for z in kept])
        s6 = _Stage(m, 6, {"x": self._lanes(width), "width": 4, "last": 1})
        m.d.comb += s5.taken.eq(s6.room)
        s6.load(s5.valid, width=s5.payload.width, last=s5.payload.last)
        s6.load_lanes("x", [round_half_away(p, s5.payload.e) for p in s5.payload.product])
        m.d.comb += s6.taken.eq(~self.o_code.valid | self.o_code.ready)
        with m.If(s6.taken):
            m.d.sync += [
                self.o_code.valid.eq(s6.valid),
                self.o_code.payload.width.eq(s6.payload.width),
                self.o_code.payload.last.eq(s6.payload.last),
            ]
            for x, code in zip(s6.payload.x, self.o_code.payload.codes, strict=True):
                limit = ((1 << s6.payload.width) - 1)[:CODE_WIDTH_MAX]
                magnitude = Mux(x < 0, -x, x)
                m.d.sync += [
                    code.magnitude.eq(Mux(magnitude > limit, limit, magnitude)),
                    code.negative.eq((x < 0) & (limit != 0)),
                ]
