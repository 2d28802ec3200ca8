"""Register map of the graph engine, as data: the same for every config."""

from hw.gnn.counters import COUNTERS
from hw.gnn.format import ErrorCode
from hw.registers import Access, Field, Register

__all__ = ["ADDR_WIDTH", "ID_VALUE", "REGISTERS"]

ID_VALUE = 0x4E475742
"""'BWGN' in the first four bytes of the map."""

ADDR_WIDTH = 12
"""Bits of a register's byte address."""

COUNTER_BASE = 0x100
"""Counter k is at COUNTER_BASE + 8k (low 32 bits) and + 4 (high 16 bits)."""

_READ, _READ_WRITE = Access.READ, Access.READ_WRITE
_STROBE, _CLEAR = Access.STROBE, Access.CLEAR

_CODES = ", ".join(f"{code.value} {code.name}" for code in ErrorCode)


def _word(name: str, address: int, access: Access, doc: str, width: int = 32) -> Register:
    return Register(name, address, (Field("value", 0, width, access, "the value"),), doc)


_CONTROL = (
    Field("start", 0, 1, _STROBE, "start the Program; ignored while busy or error is set"),
    Field("soft_reset", 1, 1, _STROBE, "end the run, clear the engine, done and error"),
)

_STATUS = (
    Field("busy", 0, 1, _READ, "a run or a soft reset is going on"),
    Field("done", 1, 1, _CLEAR, "the Program is complete; start clears it too"),
    Field("error", 2, 1, _CLEAR, "the run was stopped; clearing it also clears ERROR"),
)

_IRQ_ENABLE = (
    Field("done", 0, 1, _READ_WRITE, "raise the interrupt while STATUS.done is set"),
    Field("error", 1, 1, _READ_WRITE, "raise the interrupt while STATUS.error is set"),
)

_FIXED = (
    _word("ID", 0x000, _READ, f"always {ID_VALUE:#010x}: a graph engine of Bitwright"),
    _word("VERSION", 0x004, _READ, "version of the memory format that the engine reads"),
    _word("CONFIG_HASH", 0x008, _READ, "hash of the config; a Program holds the same"),
    Register("CONTROL", 0x010, _CONTROL, "what to do"),
    Register("STATUS", 0x014, _STATUS, "what is the case"),
    _word("ERROR", 0x018, _READ, f"code of the first error: {_CODES}", 8),
    Register("IRQ_ENABLE", 0x01C, _IRQ_ENABLE, "when to raise the interrupt"),
    _word(
        "PROGRAM_ADDRESS_LO",
        0x020,
        _READ_WRITE,
        "byte address of the Program, low word; a multiple of 4096, bits 11..0 are ignored",
    ),
    _word("PROGRAM_ADDRESS_HI", 0x024, _READ_WRITE, "byte address of the Program, high word"),
    _word(
        "LOG_SELECT",
        0x030,
        _READ_WRITE,
        "command to look up: its index in the combination queue, or log_depth + its index in the "
        "aggregation queue",
        16,
    ),
    _word("LOG_START", 0x034, _READ, "cycle after start in which that command was taken"),
    _word("LOG_GO", 0x038, _READ, "cycle after start in which its wait was satisfied"),
    _word("LOG_END", 0x03C, _READ, "cycle after start in which it was complete"),
)

_COUNTERS = tuple(
    register
    for index, counter in enumerate(COUNTERS)
    for register in (
        _word(f"{counter.name.upper()}_LO", COUNTER_BASE + 8 * index, _READ, counter.doc),
        _word(
            f"{counter.name.upper()}_HI",
            COUNTER_BASE + 8 * index + 4,
            _READ,
            f"high bits of {counter.name.upper()}_LO",
            16,
        ),
    )
)

REGISTERS: tuple[Register, ...] = _FIXED + _COUNTERS
"""All registers, by address."""
