"""Register maps: what is refused, how one is shown, and that the graph engine's is sound."""

import subprocess
import sys

import pytest

from hw.gnn.counters import COUNTERS
from hw.gnn.registers import ADDR_WIDTH, REGISTERS
from hw.registers import Access, Field, Register, check, markdown


def _field(low: int, width: int, name: str = "f") -> Field:
    return Field(name, low, width, Access.READ, "a field")


def test_markdown_has_one_line_a_register_and_one_a_field():
    table = [Register("R", 8, (_field(0, 1, "a"), _field(4, 8, "b")), "a register")]
    assert markdown(table).splitlines()[2:] == [
        "| 0x008 | R | | | | a register |",
        "| | | 0 | a | read | a field |",
        "| | | 11:4 | b | read | a field |",
    ]


@pytest.mark.parametrize(
    ("address", "fields", "message"),
    [
        (6, (), r"^R\.address must be a multiple of 4, not 6$"),
        (4, (_field(0, 4), _field(3, 1, "g")), r"^R\.g must lie in bits 4\.\.31, not 3\.\.3$"),
        (4, (_field(30, 3),), r"^R\.f must lie in bits 0\.\.31, not 30\.\.32$"),
    ],
)
def test_a_bad_register_is_refused(address, fields, message):
    with pytest.raises(ValueError, match=message):
        Register("R", address, fields, "a register")


@pytest.mark.parametrize(
    ("name", "address", "message"),
    [
        ("A", 4, r"^A must stand once in a register map, not twice$"),
        ("B", 0, r"^B\.address must differ from A\.address = 0x000$"),
        ("B", 16, r"^B\.address must fit 4 bits, not 0x010$"),
    ],
)
def test_a_bad_map_is_refused(name, address, message):
    table = [Register("A", 0, (), "one"), Register(name, address, (), "other")]
    with pytest.raises(ValueError, match=message):
        check(table, 4)


def test_the_map_of_the_graph_engine():
    check(REGISTERS, ADDR_WIDTH)
    addresses = [register.address for register in REGISTERS]
    assert addresses == sorted(addresses)
    names = {register.name for register in REGISTERS}
    assert {f"{c.name.upper()}_{half}" for c in COUNTERS for half in ("LO", "HI")} <= names
    status = next(register for register in REGISTERS if register.name == "STATUS")
    assert [field.name for field in status.fields] == ["busy", "done", "error"]


def test_the_map_loads_no_amaranth():
    code = "import sys, hw.gnn.registers; sys.exit('amaranth' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
