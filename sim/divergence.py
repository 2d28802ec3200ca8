"""Where gates and golden model part: the first value that differs, named as a person would name it.

"First" is by time where the gates made the value; a value that was never written comes last.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hw.gnn.format import BITMAP_CHUNK
from hw.gnn.program import Kind, Program, Region
from models.golden.gnn.decode import take_bits
from models.golden.gnn.execute import Execution

__all__ = [
    "Divergence",
    "Element",
    "element_inputs",
    "feature_element",
    "locate",
    "on_chip_divergence",
    "q_row_element",
]

REQUANTIZER = "combination.requantizer"
POST_PROCESSOR = "aggregation.post_processor"
ENCODER = "aggregation.encoder"

_TERMS_SHOWN = 8

Memory = NDArray[np.uint8]


@dataclass(frozen=True)
class Element:
    """One value: who makes it, row and column (-1: none), expected, got, its width in bits."""

    unit: str
    row: int
    column: int
    expected: int
    got: int
    width: int


@dataclass(frozen=True)
class Divergence:
    """The first value of one layer and part that differs.

    Parameters
    ----------
    layer, part : int
        Part -1: values that belong to all parts, or that were handed over on chip.
    node : int
        The row's node in the BitGraph; -1 where the value belongs to no row.
    element : Element
    cycle : int, optional
        When the gates wrote or handed over the value; None if they never did.
    address : int, optional
        Its byte in memory; None for values handed over on chip.
    inputs : dict of str to str
        What the golden model put into the value.
    """

    layer: int
    part: int
    node: int
    element: Element
    cycle: int | None
    address: int | None
    inputs: dict[str, str]

    def __str__(self) -> str:
        """Return one line that names everything."""
        place = f"layer {self.layer}" + (f", part {self.part}" if self.part >= 0 else "")
        at = self.element
        cell = f"node {self.node} (row {at.row}), column {at.column}" if at.row >= 0 else "no row"
        when = f"cycle {self.cycle}" if self.cycle is not None else "never written"
        where = f", address {self.address:#x}" if self.address is not None else ""
        inputs = "".join(f"; {name} = {value}" for name, value in self.inputs.items())
        return (
            f"{place}, unit {at.unit}, {cell}: expected {_both(at.expected, at.width)}, "
            f"got {_both(at.got, at.width)}, {when}{where}{inputs}"
        )


def _both(value: int, width: int) -> str:
    digits = -(-width // 4)
    return f"{value} (0x{value & (1 << width) - 1:0{digits}x})"


def q_row_element(expected: NDArray, got: NDArray, row: int) -> Element:
    """Return the first column in which two q rows differ."""
    column = int(np.flatnonzero(expected != got)[0])
    return Element(REQUANTIZER, row, column, int(expected[column]), int(got[column]), 4)


def feature_element(
    codes: NDArray, width: NDArray, memory: Memory, bit: int, first_bit: int, *, signed: bool
) -> Element:
    """Return the value of a BITMAP segment in which bit `bit` of its stream lies.

    Parameters
    ----------
    codes : ndarray [rows, columns], int
        Expected codes x'.
    width : ndarray [rows], int
    memory : ndarray, uint8
        What the gates left; equal to the expected stream below `bit`.
    bit : int
        First bit that differs, counted from the stream's begin.
    first_bit : int
        Bit offset of the stream in `memory`.
    signed : bool
    """
    columns = codes.shape[1]
    chunks = -(-columns // BITMAP_CHUNK)
    kept = np.flatnonzero(width > 0)
    cells = np.zeros((len(kept), chunks * BITMAP_CHUNK), np.int64)
    cells[:, :columns] = codes[kept]
    cells = cells.reshape(-1, BITMAP_CHUNK)
    stored = np.repeat(width[kept] + signed, chunks)
    length = BITMAP_CHUNK + stored * (cells != 0).sum(axis=1)
    begin = np.cumsum(length) - length
    if bit >= length.sum():
        return Element(ENCODER, -1, -1, 0, 1, 1)
    chunk = int(np.searchsorted(begin, bit, "right")) - 1
    got = _chunk(memory, first_bit + int(begin[chunk]), int(stored[chunk]), signed)
    at = int(np.flatnonzero(got != cells[chunk])[0]) if (got != cells[chunk]).any() else 0
    row = int(kept[chunk // chunks])
    column = chunk % chunks * BITMAP_CHUNK + at
    expected = int(cells[chunk, at])
    return Element(POST_PROCESSOR, row, column, expected, int(got[at]), int(stored[chunk]))


def _chunk(memory: Memory, offset: int, stored: int, signed: bool) -> NDArray[np.int64]:
    """Return the 16 codes of the chunk at bit `offset`."""
    bitmap = int(take_bits(memory, offset, BITMAP_CHUNK))
    values, at = np.zeros(BITMAP_CHUNK, np.int64), offset + BITMAP_CHUNK
    for feature in range(BITMAP_CHUNK):
        if bitmap >> feature & 1:
            code = int(take_bits(memory, at, stored))
            magnitude = code & (1 << stored - signed) - 1
            values[feature] = -magnitude if signed and code >> stored - 1 else magnitude
            at += stored
    return values


def locate(
    program: Program,
    execution: Execution,
    memory: Memory,
    region: Region,
    cycle_of: Callable[[int], int | None],
) -> Divergence | None:
    """Return the first value of an output region that differs, or None.

    Parameters
    ----------
    program, execution
        What should have happened.
    memory : ndarray [bytes], uint8
        What the gates left.
    region : Region
        One of ``program.outputs()``.
    cycle_of : function
        Cycle in which a byte address was last written.
    """
    span = slice(region.address, region.address + region.size_bytes)
    difference = memory[span] ^ execution.memory[span]
    if region.kind is Kind.FEATURES and difference[program.config.memory.beat_bytes :].any():
        # The header is written last; that it differs too is a consequence.
        difference[: program.config.memory.beat_bytes] = 0
    offset = int(np.argmax(difference != 0))
    if not difference[offset]:
        return None
    lowest = int(difference[offset]) & -int(difference[offset])
    element = _FIND[region.kind](
        program, execution, memory, region, 8 * offset + lowest.bit_length() - 1
    )
    address = region.address + offset
    return Divergence(
        region.layer,
        region.part,
        int(program.node_order[element.row]) if element.row >= 0 else -1,
        element,
        cycle_of(address),
        address,
        element_inputs(execution, region.layer, element),
    )


def on_chip_divergence(
    program: Program, execution: Execution, rows: NDArray[np.int8], cycles: NDArray[np.int64]
) -> Divergence | None:
    """Return the first q row that combination handed over otherwise than expected, or None.

    Parameters
    ----------
    program, execution
        What should have happened.
    rows : ndarray [rows, columns_max], int8
        What the gates handed over, in order.
    cycles : ndarray [rows], int64
        When.
    """
    at = 0
    for layer, q in enumerate(execution.q):
        for row, expected in enumerate(q):
            wide = np.zeros(rows.shape[1], np.int8)
            wide[: len(expected)] = expected
            missing = at >= len(rows)
            if missing or (rows[at] != wide).any():
                element = (
                    Element(REQUANTIZER, row, 0, int(expected[0]), 0, 4)
                    if missing
                    else q_row_element(wide, rows[at], row)
                )
                return Divergence(
                    layer,
                    -1,
                    int(program.node_order[row]),
                    element,
                    None if missing else int(cycles[at]),
                    None,
                    element_inputs(execution, layer, element),
                )
            at += 1
    return None


def element_inputs(execution: Execution, layer: int, element: Element) -> dict[str, str]:
    """Return what the golden model put into `element`: widths, values, sums."""
    row, column = element.row, element.column
    if row < 0 or not 0 <= column < execution.q[layer].shape[1]:
        return {}
    if element.unit == REQUANTIZER:
        features = execution.inputs[layer]
        first = int(features.count[:row].sum())
        values = slice(first, first + int(features.count[row]))
        terms = zip(features.index[values].tolist(), features.code[values].tolist(), strict=True)
        return {
            "P": str(int(execution.psums[layer][row, column])),
            "B": str(int(features.width[row])),
            "x": "{" + ", ".join(f"{k}: {x}" for k, x in list(terms)[:_TERMS_SHOWN]) + "}",
        }
    inputs = {"acc": str(int(execution.acc[layer][row, column]))}
    if layer + 1 < len(execution.inputs):
        inputs["B'"] = str(int(execution.widths[layer + 1][row]))
    return inputs


def _rows(program: Program, region: Region) -> slice:
    return slice(*program.parts[region.part]) if region.part >= 0 else slice(0, program.rows)


def _q_row(
    program: Program, execution: Execution, memory: Memory, region: Region, bit: int
) -> Element:
    rows = _rows(program, region)
    expected = execution.q[region.layer][rows]
    row_bits = 8 * _row_bytes(program, expected.shape[1])
    row = bit // row_bits
    if bit % row_bits >= 4 * expected.shape[1]:
        return Element(REQUANTIZER, rows.start + row, -1, 0, 1, 1)
    nibbles = take_bits(
        memory, 8 * region.address + row * row_bits + 4 * np.arange(expected.shape[1]), 4
    )
    element = q_row_element(expected[row], nibbles - 16 * (nibbles >> 3), row)
    return replace(element, row=rows.start + row)


def _row_bytes(program: Program, columns: int) -> int:
    beat_bytes = program.config.memory.beat_bytes
    return -(-4 * columns // (8 * beat_bytes)) * beat_bytes


def _logit(
    program: Program, execution: Execution, memory: Memory, region: Region, bit: int
) -> Element:
    columns = execution.logits.shape[1]
    row, column = divmod(bit // 64, columns)
    row += _rows(program, region).start
    if row >= _rows(program, region).stop:
        return Element(POST_PROCESSOR, -1, -1, 0, 1, 1)
    at = region.address + bit // 64 * 8
    got = int(memory[at : at + 8].view("<i8")[0])
    return Element(POST_PROCESSOR, row, column, int(execution.logits[row, column]), got, 64)


def _feature(
    program: Program, execution: Execution, memory: Memory, region: Region, bit: int
) -> Element:
    header_bits = 8 * program.config.memory.beat_bytes
    if bit < header_bits:
        expected, got = (
            int(m[region.address : region.address + 4].view("<u4")[0])
            for m in (execution.memory, memory)
        )
        return Element(ENCODER, -1, -1, expected, got, 32)
    rows = _rows(program, region)
    element = feature_element(
        execution.codes[region.layer][rows],
        execution.widths[region.layer + 1][rows],
        memory,
        bit - header_bits,
        8 * region.address + header_bits,
        signed=program.layers[region.layer + 1].signed,
    )
    return replace(element, row=rows.start + element.row) if element.row >= 0 else element


_FIND = {Kind.Q_ROWS: _q_row, Kind.LOGITS: _logit, Kind.FEATURES: _feature}
