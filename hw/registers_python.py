"""Python face of a register map: a dictionary of addresses and fields, as source text."""

from collections.abc import Sequence

from hw.registers import Register

__all__ = ["entries"]


def entries(table: Sequence[Register]) -> str:
    """Return the items of a dictionary: name to (address, {field: (lowest bit, width)}).

    Examples
    --------
    >>> from hw.registers import Access, Field
    >>> field = Field("busy", 3, 2, Access.READ, "at work")
    >>> print(entries([Register("STATUS", 20, (field,), "what is the case")]))
        "STATUS": (0x014, {"busy": (3, 2)}),
    """
    lines: list[str] = []
    for register in table:
        fields = [f'"{field.name}": ({field.low}, {field.width})' for field in register.fields]
        lines.append(f'    "{register.name}": ({register.address:#05x}, {{{", ".join(fields)}}}),')
    return "\n".join(lines)
