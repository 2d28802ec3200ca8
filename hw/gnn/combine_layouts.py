"""Payloads that the units of the combination engine hand to each other."""

from amaranth.hdl import signed
from amaranth.lib.data import ArrayLayout, StructLayout
from amaranth.utils import bits_for, ceil_log2, exact_log2

from hw.gnn.config import CODE_WIDTH_MAX, Q_WIDTH, GnnConfig
from hw.gnn.counters import COUNTERS
from hw.gnn.format import BITMAP_CHUNK

__all__ = [
    "ARRAY_EVENTS",
    "DATAPATH_EVENTS",
    "EVENTS",
    "add_control_layout",
    "add_layout",
    "address_width",
    "array_events_layout",
    "column_write_layout",
    "datapath_events_layout",
    "events_layout",
    "group_layout",
    "index_width_max",
    "psum_word_layout",
    "q_word_layout",
    "row_layout",
    "take_max",
    "tile_width",
    "token_layout",
    "weight_write_layout",
]

EVENTS = tuple(counter.name for counter in COUNTERS if counter.unit == "combine")
"""Counters of the combination engine."""

ARRAY_EVENTS = (
    "combine_starved",
    "combine_stalled",
    "weight_reads",
    "combine_values",
    "combine_groups",
    "combine_planes",
    "combine_bit_ops",
)
"""Those that the array raises."""

DATAPATH_EVENTS = (*ARRAY_EVENTS, "combine_conflicts", "requantize_words")
"""Those that arise between node words and q rows."""


def address_width(config: GnnConfig) -> int:
    """Return the bits of an address inside one weight bank."""
    return max(1, ceil_log2(config.combination.bank_depth))


def index_width_max(config: GnnConfig) -> int:
    """Return the bits of the largest feature index that the banks can hold."""
    return address_width(config) + exact_log2(config.combination.lanes)


def take_max(config: GnnConfig) -> int:
    """Return the most bits that the decoder takes from a feature segment in one cycle."""
    return max(BITMAP_CHUNK, index_width_max(config) + CODE_WIDTH_MAX)


def tile_width(config: GnnConfig) -> int:
    """Return the bits of a tile number."""
    return max(1, ceil_log2(config.combination.tiles_max))


def row_layout() -> StructLayout:
    """Return what a node word says about its row: width B and multiplier (m, e)."""
    return StructLayout({"width": 4, "m": 12, "e": 6})


def token_layout(config: GnnConfig) -> StructLayout:
    """Return a decoded value (`value` = 1), or only the end of a row (`value` = 0, `last` = 1)."""
    return StructLayout(
        {
            "value": 1,
            "last": 1,
            "index": index_width_max(config),
            "magnitude": CODE_WIDTH_MAX,
            "sign": 1,
            "row": row_layout(),
        }
    )


def group_layout(config: GnnConfig) -> StructLayout:
    """Return up to `lanes` values of one row, each in the lane of its weight bank."""
    value = StructLayout(
        {"valid": 1, "address": address_width(config), "magnitude": CODE_WIDTH_MAX, "sign": 1}
    )
    return StructLayout(
        {
            "values": ArrayLayout(value, config.combination.lanes),
            "last": 1,
            "row": row_layout(),
        }
    )


def add_control_layout(config: GnnConfig) -> StructLayout:
    """Return what steers one bit plane through the array.

    `clear`: the row's first plane of this tile; `last`: the row ends; `empty`: it had no values.
    """
    return StructLayout(
        {
            "valid": 1,
            "plane": range(CODE_WIDTH_MAX),
            "tile": tile_width(config),
            "clear": 1,
            "last": 1,
            "empty": 1,
            "row": row_layout(),
        }
    )


def add_layout(config: GnnConfig) -> StructLayout:
    """Return one bit plane's sums over the lanes, for one tile of a row of partial sums."""
    c = config.combination
    sum_shape = signed(Q_WIDTH + 1 + exact_log2(c.lanes))
    return StructLayout(
        {"control": add_control_layout(config), "sums": ArrayLayout(sum_shape, c.cols)}
    )


def psum_word_layout(config: GnnConfig) -> StructLayout:
    """Return one tile of a finished row of partial sums."""
    c = config.combination
    return StructLayout(
        {
            "psum": ArrayLayout(signed(c.psum_width), c.cols),
            "tile": tile_width(config),
            "last": 1,
            "m": 12,
            "e": 6,
        }
    )


def q_word_layout(config: GnnConfig) -> StructLayout:
    """Return one requantized tile of a row."""
    return StructLayout(
        {
            "q": ArrayLayout(signed(Q_WIDTH), config.combination.cols),
            "tile": tile_width(config),
            "last": 1,
        }
    )


def weight_write_layout(config: GnnConfig) -> StructLayout:
    """Return the write port of the weight banks."""
    c = config.combination
    return StructLayout(
        {
            "enable": 1,
            "lane": exact_log2(c.lanes),
            "address": address_width(config),
            "word": c.word_width,
        }
    )


def column_write_layout(config: GnnConfig) -> StructLayout:
    """Return the write port of the column table."""
    width = ceil_log2(config.combination.columns_max)
    return StructLayout({"enable": 1, "column": width, "n": 12, "f": 6})


def events_layout(config: GnnConfig) -> StructLayout:
    """Return the increments of one cycle for the counters of unit ``combine``."""
    return StructLayout({name: _event_width(config, name) for name in EVENTS})


def array_events_layout(config: GnnConfig) -> StructLayout:
    """Return those increments that the array raises."""
    return StructLayout({name: _event_width(config, name) for name in ARRAY_EVENTS})


def datapath_events_layout(config: GnnConfig) -> StructLayout:
    """Return those increments that arise between node words and q rows."""
    return StructLayout({name: _event_width(config, name) for name in DATAPATH_EVENTS})


def _event_width(config: GnnConfig, name: str) -> int:
    by_lane = ("weight_reads", "combine_values", "combine_bit_ops")
    return bits_for(config.combination.lanes) if name in by_lane else 1
