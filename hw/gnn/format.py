"""Words that a graph Program puts into memory: one table from which packing and gates are made.

Everything is little endian; bit 0 of the first byte comes first. Addresses count bytes from the
header, so an image may lie at any multiple of 4 KiB. A *beat* is one AXI data word
(`MemoryConfig.axi_data_width` bits). Every region starts on a multiple of 128 bytes and is padded
with zeros to whole beats. Words of 64 bits stand one after another without gaps, also when a
beat is wider.

Header, at address 0 (128 bytes): `HEADER`.

Commands: two queues, each an array of 128-byte slots (`COMBINE`, `AGGREGATE` use the first words).
The *combination engine* executes the first queue, the *aggregation engine* the second, each in
order. A command waits until the other engine has completed `wait` commands since start; loading
weights and column words does not wait. So overlap is a property of the Program, not of the gates:

- one part: COMBINE(l) hands its q rows to AGGREGATE(l) on chip (`sink_memory` = 0,
  `source_memory` = 0), both run at once; COMBINE(l+1) waits for AGGREGATE(l);
- several parts: one COMBINE(0) over all rows writes q rows to memory, AGGREGATE(0, p) waits for it;
  COMBINE(l+1, p) waits for AGGREGATE(l, p) only, so it overlaps with AGGREGATE(l, p+1);
  AGGREGATE(l+1, p) waits for the last COMBINE(l+1, .).

Rows. Lowering renumbers the nodes so that every part is a contiguous range of rows; all tables
below are in row order.

Node tables (`nodes_address`, `nodes_beats`): `columns` column words, then `rows` node words:
`COMBINE_COLUMN` and `COMBINE_NODE`, or `AGGREGATE_COLUMN` and `AGGREGATE_NODE`.

Weights (`weights_address`, `weights_beats`): weight words of `cols` two's-complement s4 values
(column tile*cols + c in bits 4c+3..4c; 0 beyond the last column), in the order: for tile, for
address in 0..bank_stride-1, for lane: the word of reduction index k = address*lanes + lane (0 when
k >= reduction). Packed without gaps. Bank `lane` keeps it at tile*bank_stride + address.

Feature segment (`features_address`): one header beat whose low 32 bits are the number of beats
that follow, then a bit stream, rows in order, without padding between rows. A row of width B = 0
stores nothing. Codes are non-zero values only: B bits of magnitude and, in a signed layer, the
sign bit above them (stored bits = B + signed).

- `Format.INDEX`: `count` (from the node word) entries, each the feature index
  (`index_width` bits) and then its code; any order of indices, none twice;
- `Format.BITMAP`: for each chunk of 16 features: a 16-bit bitmap, then the codes of its set bits,
  lowest feature first. The last chunk is padded with zero bits.

q rows in memory: `row_beats` beats a row, s4 two's complement, column j in bits 4j+3..4j, zeros
above.

Edges (`edges_address`, `edges_beats`): a stream of u16: for each source row in the order in which
the rows arrive: the number of destinations, then each destination as a row number within the part.
Duplicates stand as often as they count.

Sources (`sources_address`, `sources_beats`, only with `source_memory`): `source_words` 64-bit words
`SOURCE`, each a contiguous run of q rows to be read.

Logits (`out_address` of a last layer): 64-bit words, the s48 logit sign-extended, `columns` a row.
The output of any other layer is a feature segment in BITMAP format whose header beat is written
last.
"""

from dataclasses import dataclass
from enum import IntEnum

__all__ = [
    "AGGREGATE",
    "AGGREGATE_COLUMN",
    "AGGREGATE_NODE",
    "BITMAP_CHUNK",
    "COMBINE",
    "COMBINE_COLUMN",
    "COMBINE_NODE",
    "HEADER",
    "MAGIC",
    "REGION_ALIGNMENT",
    "SLOT_BYTES",
    "SOURCE",
    "VERSION",
    "ErrorCode",
    "Format",
    "Opcode",
    "Word",
]

MAGIC = 0x31475742
"""'BWG1' in the first four bytes of a Program."""

VERSION = 1
"""Version of everything that this module states."""

SLOT_BYTES = 128
"""Bytes of the header and of each command slot."""

REGION_ALIGNMENT = 128
"""Bytes: one beat of the widest bus."""

BITMAP_CHUNK = 16
"""Features that one bitmap covers."""


class Opcode(IntEnum):
    """What a command does; 0 is never a command, so a cleared memory is refused."""

    COMBINE = 1
    AGGREGATE = 2


class ErrorCode(IntEnum):
    """Why a run was stopped."""

    NONE = 0
    BAD_MAGIC = 1
    BAD_VERSION = 2
    BAD_CONFIG = 3
    BAD_OPCODE = 4
    READ_ERROR = 5
    WRITE_ERROR = 6


class Format(IntEnum):
    """How a feature segment says where its values stand."""

    INDEX = 0
    BITMAP = 1


@dataclass(frozen=True)
class Word:
    """Fields of a packed word, lowest bits first.

    Parameters
    ----------
    name : str
        Name used in messages.
    fields : tuple of (str, int, bool)
        Name, width in bits and signedness. A name that starts with ``_`` is padding, always 0.
    """

    name: str
    fields: tuple[tuple[str, int, bool], ...]

    @property
    def width(self) -> int:
        """Bits of the word."""
        return sum(width for _, width, _ in self.fields)

    def pack(self, **values: int) -> int:
        """Pack `values` (missing ones are 0) into one integer.

        Raises
        ------
        ValueError
            If a name is unknown or a value does not fit its field.
        """
        unknown = set(values) - {name for name, _, _ in self.fields}
        if unknown:
            raise ValueError(f"{self.name} has no field {sorted(unknown)[0]!r}")
        word, at = 0, 0
        for name, width, signed in self.fields:
            value = int(values.get(name, 0))
            low = -(1 << width - 1) if signed else 0
            high = low + (1 << width) - 1
            if not low <= value <= high:
                raise ValueError(f"{self.name}.{name} must be in {low}..{high}, not {value}")
            word |= (value & (1 << width) - 1) << at
            at += width
        return word

    def unpack(self, word: int) -> dict[str, int]:
        """Return the fields of `word`, padding left out."""
        values, at = {}, 0
        for name, width, signed in self.fields:
            value = word >> at & (1 << width) - 1
            if signed and value >> width - 1:
                value -= 1 << width
            if not name.startswith("_"):
                values[name] = value
            at += width
        return values


def _word(name: str, *fields: tuple[str, int] | tuple[str, int, bool]) -> Word:
    return Word(name, tuple((f[0], f[1], len(f) > 2 and bool(f[2])) for f in fields))


HEADER = _word(
    "HEADER",
    ("magic", 32), ("version", 32),
    ("config_hash", 32), ("_0", 32),
    ("combine_commands", 32), ("aggregate_commands", 32),
    ("combine_address", 64),
    ("aggregate_address", 64),
)  # fmt: skip
"""First words of a Program: 5 words of 64 bits."""

COMBINE = _word(
    "COMBINE",
    ("opcode", 8), ("sink_memory", 1), ("load_weights", 1), ("signed", 1), ("_0", 5),
    ("format", 8), ("index_width", 8), ("tiles", 16), ("columns", 16),
    ("rows", 32), ("wait", 32),
    ("bank_stride", 32), ("row_beats", 32),
    ("weights_address", 64),
    ("weights_beats", 32), ("nodes_beats", 32),
    ("nodes_address", 64),
    ("features_address", 64),
    ("rows_address", 64),
    ("reduction", 32), ("layer", 16), ("part", 16),
)  # fmt: skip
"""Command of the combination engine: 9 words of 64 bits. `rows_address`: where q rows go."""

AGGREGATE = _word(
    "AGGREGATE",
    ("opcode", 8), ("source_memory", 1), ("last_layer", 1), ("signed_next", 1), ("_0", 5),
    ("_1", 16), ("tiles", 16), ("columns", 16),
    ("rows", 32), ("wait", 32),
    ("clear_words", 32), ("row_beats", 32),
    ("edges_address", 64),
    ("edges_beats", 32), ("nodes_beats", 32),
    ("nodes_address", 64),
    ("sources_address", 64),
    ("source_words", 32), ("sources_beats", 32),
    ("out_address", 64),
    ("source_rows", 32), ("layer", 16), ("part", 16),
)  # fmt: skip
"""Command of the aggregation engine: 10 words of 64 bits. `tiles`: psum words a row;
`clear_words`: psum words set to zero first (only the first command of a Program needs it, since
draining clears); `source_rows`: records in the edge stream."""

COMBINE_COLUMN = _word("COMBINE_COLUMN", ("n", 12), ("f", 6), ("_0", 46))
"""Column factor of the 4-bit requantizer, C2."""

COMBINE_NODE = _word("COMBINE_NODE", ("width", 4), ("m", 12), ("e", 6), ("count", 16), ("_0", 26))
"""A node's magnitude width B, its multiplier of C2, and the entries of its index list."""

AGGREGATE_COLUMN = _word("AGGREGATE_COLUMN", ("n", 16, True), ("r", 16, True), ("b", 32, True))
"""Column factor n', self factor r and bias b of A2."""

AGGREGATE_NODE = _word(
    "AGGREGATE_NODE",
    ("m", 12), ("e", 6), ("m_next", 12), ("e_next", 6), ("width_next", 4), ("_0", 24),
)  # fmt: skip
"""A node's multipliers m', e' and m'', e'' of A2 and its width B' in the next layer."""

SOURCE = _word("SOURCE", ("address", 48), ("beats", 16))
"""A run of q rows: byte address of the first and the length in beats."""
