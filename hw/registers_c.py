"""C face of a register map: offsets, masks, and one inline function for each way to use a field."""

import textwrap
from collections.abc import Sequence

from hw.registers import Access, Field, Register

__all__ = ["accessors", "defines"]

LINE_WIDTH = 100


def defines(table: Sequence[Register], prefix: str) -> str:
    """Return the macros of a map: offset of each register, shift and mask of each field.

    Parameters
    ----------
    table : sequence of Register
    prefix : str
        What all names begin with, in upper case.
    """
    blocks: list[str] = []
    for register in table:
        name = f"{prefix}_{register.name}"
        lines = [_comment(register.doc), f"#define {name} {register.address:#05x}u"]
        for field in register.fields:
            macro = _macro(register, field, prefix)
            mask = (1 << field.width) - 1 << field.low
            if macro != name:
                lines.append(_comment(f"{field.name}: {field.doc} ({field.access})"))
            lines += [f"#define {macro}_SHIFT {field.low}", f"#define {macro}_MASK {mask:#010x}u"]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def accessors(table: Sequence[Register], prefix: str) -> str:
    """Return the inline functions of a map.

    They need ``struct <prefix>``, ``<prefix>_read`` and ``<prefix>_write``. A field that can be
    read has ``get``; one that keeps what is written has ``set``, which leaves its neighbours as
    they are; a strobe is a verb of its own, and a bit that a 1 clears has ``clear``.

    Parameters
    ----------
    table : sequence of Register
    prefix : str
        What all names begin with, in lower case.
    """
    functions: list[str] = []
    for register in table:
        for field in register.fields:
            functions += [make(register, field, prefix) for make in _MAKERS[field.access]]
    return "\n\n".join(functions)


def _stem(register: Register, field: Field) -> str:
    return register.name if field.name == "value" else f"{register.name}_{field.name}"


def _comment(text: str) -> str:
    return "\n * ".join(textwrap.wrap(f"/* {text} */", LINE_WIDTH - 3))


def _macro(register: Register, field: Field, prefix: str) -> str:
    return f"{prefix}_{_stem(register, field)}".upper()


def _get(register: Register, field: Field, prefix: str) -> str:
    macro = _macro(register, field, prefix)
    return (
        f"static inline uint32_t {prefix}_get_{_stem(register, field).lower()}("
        f"const struct {prefix} *engine)\n"
        "{\n"
        f"    const uint32_t word = {prefix}_read(engine, {prefix.upper()}_{register.name});\n"
        f"    return (word & {macro}_MASK) >> {macro}_SHIFT;\n"
        "}"
    )


def _set(register: Register, field: Field, prefix: str) -> str:
    macro, offset = _macro(register, field, prefix), f"{prefix.upper()}_{register.name}"
    lines = [
        f"static inline void {prefix}_set_{_stem(register, field).lower()}(",
        f"    const struct {prefix} *engine, uint32_t value)",
        "{",
        f"    const uint32_t offset = {offset};",
        f"    const uint32_t mask = {macro}_MASK;",
        f"    const uint32_t bits = value << {macro}_SHIFT & mask;",
    ]
    if len(register.fields) > 1:
        lines.append(f"    const uint32_t others = {prefix}_read(engine, offset) & ~mask;")
        lines.append(f"    {prefix}_write(engine, offset, others | bits);")
    else:
        lines.append(f"    {prefix}_write(engine, offset, bits);")
    return "\n".join([*lines, "}"])


def _pulse(register: Register, field: Field, prefix: str, verb: str) -> str:
    offset = f"{prefix.upper()}_{register.name}"
    return (
        f"static inline void {prefix}_{verb}{_stem(register, field).lower()}("
        f"const struct {prefix} *engine)\n"
        "{\n"
        f"    {prefix}_write(engine, {offset}, {_macro(register, field, prefix)}_MASK);\n"
        "}"
    )


def _strobe(register: Register, field: Field, prefix: str) -> str:
    return _pulse(register, field, prefix, "")


def _clear(register: Register, field: Field, prefix: str) -> str:
    return _pulse(register, field, prefix, "clear_")


_MAKERS = {
    Access.READ: (_get,),
    Access.READ_WRITE: (_get, _set),
    Access.STROBE: (_strobe,),
    Access.CLEAR: (_get, _clear),
}
