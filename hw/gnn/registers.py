"""Register map of the graph engine, as data: the same for every config."""

from hw.gnn.counters import COUNTERS
from hw.gnn.format import ErrorCode
from hw.registers import Access, Field, Register

__all__ = ["ADDR_WIDTH", "COUNTER_BASE", "GUIDE", "ID_VALUE", "REGISTERS"]

ID_VALUE = 0x4E475742
"""'BWGN' in the first four bytes of the map."""

GUIDE = """\
# Registers of a graph engine

Registers have 32 bits, little endian, at the byte addresses below. A write follows its byte
strobes. Bits that no field names read as 0; an address that no register has is answered with
SLVERR and changes nothing. After reset all that software can write is 0, and so is STATUS.

A run:

1. Read ID, VERSION ({version}) and CONFIG_HASH (0x{config_hash}); a Program made for another hash
   ends with ERROR = 3.
2. Put the Program into memory, at a multiple of 4096, and write its address to PROGRAM_ADDRESS_LO
   and PROGRAM_ADDRESS_HI.
3. Write IRQ_ENABLE, or poll STATUS instead.
4. Write 1 to CONTROL.start. It clears STATUS.done and the counters.
5. Wait for STATUS.done or STATUS.error. The interrupt is a level: it stays high until the bit that
   raised it is cleared by a 1 written to it.
6. After an error no burst is in flight any more, and ERROR says why. Clear STATUS.error: start is
   ignored while it is set.

Counters have 48 bits in two registers that are not read together: read them when STATUS.busy is 0.
They keep their values until the next start. The log keeps the first {log_depth} commands of each
queue: write LOG_SELECT, then read LOG_START, LOG_GO, LOG_END. An entry whose command did not
complete in this run is stale.

CONTROL.soft_reset ends a run in order: STATUS.busy stays 1 until all bursts in flight have ended.

"""
"""What a driver does with the registers; a config's hash and depth of its log go in."""

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
        "byte address of the Program, low word, taken at start; a multiple of 4096, bits 11..0 are "
        "ignored",
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
