"""Register maps as data: from one table come the gates, the documentation and the drivers.

Registers have 32 bits and stand at multiples of 4. Bits that no field names read as 0;
an address that no register has is answered with SLVERR.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Access", "Field", "Register", "check", "markdown"]

REGISTER_WIDTH = 32


class Access(StrEnum):
    """What software may do with a field."""

    READ = "read"
    READ_WRITE = "read/write"
    STROBE = "write 1 to act, reads 0"
    CLEAR = "read, write 1 to clear"


@dataclass(frozen=True)
class Field:
    """Bits `low` to `low + width - 1` of a register; 0 after reset unless `Access.READ`."""

    name: str
    low: int
    width: int
    access: Access
    doc: str


@dataclass(frozen=True)
class Register:
    """One word: its name, its byte address, its fields and what it is for.

    Raises
    ------
    ValueError
        If the address is no multiple of 4 or two fields overlap or leave the word.
    """

    name: str
    address: int
    fields: tuple[Field, ...]
    doc: str

    def __post_init__(self) -> None:
        """Refuse what no word can hold."""
        if self.address % 4 or self.address < 0:
            raise ValueError(f"{self.name}.address must be a multiple of 4, not {self.address}")
        end = 0
        for field in self.fields:
            if field.low < end or field.low + field.width > REGISTER_WIDTH or field.width < 1:
                raise ValueError(
                    f"{self.name}.{field.name} must lie in bits {end}..{REGISTER_WIDTH - 1}, "
                    f"not {field.low}..{field.low + field.width - 1}"
                )
            end = field.low + field.width


def check(table: Sequence[Register], addr_width: int) -> None:
    """Refuse a map in which a name or an address stands twice or does not fit `addr_width` bits.

    Raises
    ------
    ValueError
        With the name of the first register that is wrong.
    """
    names: set[str] = set()
    addresses: dict[int, str] = {}
    for register in table:
        if register.name in names:
            raise ValueError(f"{register.name} must stand once in a register map, not twice")
        if register.address in addresses:
            other = addresses[register.address]
            raise ValueError(
                f"{register.name}.address must differ from {other}.address = "
                f"{register.address:#05x}"
            )
        if register.address >= 1 << addr_width:
            raise ValueError(
                f"{register.name}.address must fit {addr_width} bits, not {register.address:#05x}"
            )
        names.add(register.name)
        addresses[register.address] = register.name


def markdown(table: Sequence[Register]) -> str:
    """Return the map as a Markdown table, one line a field."""
    lines = [
        "| address | register | bits | field | access | meaning |",
        "|---|---|---|---|---|---|",
    ]
    for register in table:
        lines.append(f"| {register.address:#05x} | {register.name} | | | | {register.doc} |")
        for field in register.fields:
            high = field.low + field.width - 1
            bits = f"{field.low}" if field.width == 1 else f"{high}:{field.low}"
            lines.append(f"| | | {bits} | {field.name} | {field.access} | {field.doc} |")
    return "\n".join(lines) + "\n"
