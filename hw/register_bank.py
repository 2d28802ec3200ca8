"""The gates of a register map behind AXI4-Lite."""

from collections.abc import Sequence
from typing import Any

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Member, Out

from hw.axi import bus, lite
from hw.axi_lite import AxiLiteSlave
from hw.registers import Access, Field, Register, check

__all__ = ["RegisterBank"]


class RegisterBank(wiring.Component):
    """Hold the fields that software may change, show those that it may read.

    Parameters
    ----------
    table : sequence of Register
    addr_width : int, bits

    Members
    -------
    axi : In(bus(lite(addr_width)))
        An address that the table does not name is answered with SLVERR and changes nothing.
    <register>_<field> : in lower case
        `Access.READ`: In, what software reads. `Access.READ_WRITE`: Out, what it wrote, byte by
        byte. `Access.STROBE`: Out, the bits written as 1, for one cycle. `Access.CLEAR`: Out; set
        by <register>_<field>_set : In, cleared by <register>_<field>_clear : In and where software
        writes 1; setting wins.

    **Latency**: a write's address and data taken by cycle t: strobes in t + 1, values from t + 2
    on. A read's address taken in t: it shows the values of t + 1.
    """

    axi: Any

    def __init__(self, table: Sequence[Register], addr_width: int) -> None:
        check(table, addr_width)
        self.table = tuple(table)
        self.addr_width = addr_width
        members: dict[str, Member] = {"axi": In(bus(lite(addr_width)))}
        for register in self.table:
            for field in register.fields:
                name = _name(register, field)
                is_input = field.access is Access.READ
                members[name] = In(field.width) if is_input else Out(field.width)
                if field.access is Access.CLEAR:
                    members[f"{name}_set"] = In(field.width)
                    members[f"{name}_clear"] = In(field.width)
        super().__init__(members)

    def elaborate(self, platform) -> Module:
        """One write decoder and one read multiplexer over the words."""
        m = Module()
        m.submodules.slave = slave = AxiLiteSlave(self.addr_width)
        wiring.connect(m, wiring.flipped(self.axi), slave.axi)
        mask = Signal(32)
        m.d.comb += mask.eq(Cat(bit.replicate(8) for bit in slave.write_strobe))
        m.d.comb += [slave.write_error.eq(1), slave.read_error.eq(1)]
        cleared = self._clearable(m)
        with m.Switch(slave.write_address[2:]):
            for register in self.table:
                with m.Case(register.address >> 2):
                    m.d.comb += slave.write_error.eq(0)
                    for field in register.fields:
                        with m.If(slave.write):
                            self._write(m, register, field, slave.write_data, mask, cleared)
        with m.Switch(slave.read_address[2:]):
            for register in self.table:
                with m.Case(register.address >> 2):
                    m.d.comb += [slave.read_error.eq(0), slave.read_data.eq(self._word(register))]
        return m

    def _clearable(self, m: Module) -> dict[str, Signal]:
        """Keep the fields that are set by hardware; return what software clears of each."""
        cleared: dict[str, Signal] = {}
        for register in self.table:
            for field in register.fields:
                if field.access is Access.CLEAR:
                    name = _name(register, field)
                    value, is_set = getattr(self, name), getattr(self, f"{name}_set")
                    cleared[name] = Signal(field.width, name=f"{name}_written")
                    keep = ~(cleared[name] | getattr(self, f"{name}_clear"))
                    m.d.sync += value.eq((value & keep) | is_set)
        return cleared

    def _write(
        self,
        m: Module,
        register: Register,
        field: Field,
        written: Signal,
        mask: Signal,
        cleared: dict[str, Signal],
    ) -> None:
        name = _name(register, field)
        value = getattr(self, name)
        bits = written[field.low : field.low + field.width]
        enabled = mask[field.low : field.low + field.width]
        if field.access is Access.READ_WRITE:
            m.d.sync += value.eq((value & ~enabled) | (bits & enabled))
        elif field.access is Access.STROBE:
            m.d.comb += value.eq(bits & enabled)
        elif field.access is Access.CLEAR:
            m.d.comb += cleared[name].eq(bits & enabled)

    def _word(self, register: Register) -> Value:
        parts: list[Value] = []
        at = 0
        for field in register.fields:
            is_strobe = field.access is Access.STROBE
            value = C(0, field.width) if is_strobe else getattr(self, _name(register, field))
            parts += [C(0, field.low - at), value]
            at = field.low + field.width
        return Cat(*parts)


def _name(register: Register, field: Field) -> str:
    return f"{register.name}_{field.name}".lower()
