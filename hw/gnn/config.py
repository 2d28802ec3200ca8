"""Choices of a graph engine, what follows from them, and the presets.

Only choices are fields; everything derived is a property. No module that is imported here loads
Amaranth, so the golden and cost models can be made from the same object as the gates.
"""

import hashlib
import json
from typing import Annotated, Self

from pydantic import Field, model_validator

from hw.config_base import Frozen, require_power_of_two
from hw.memory_config import MemoryConfig

__all__ = [
    "PRESETS",
    "AggregationConfig",
    "CombinationConfig",
    "GnnConfig",
]

CODE_WIDTH_MAX = 8
"""Largest magnitude width of a feature code (contract, section 1)."""

Q_WIDTH = 4
"""Bits of one aggregation operand and of one weight (contract, section 1: s4 in -7..7)."""


class CombinationConfig(Frozen):
    """The bit-serial multiply-accumulate array and its buffers.

    Parameters
    ----------
    lanes : int
        Feature values taken in one cycle; each has a weight bank of its own (value k lives in
        bank k mod lanes). A power of two in 1..64.
    cols : int
        Output columns worked on in one cycle (one weight word is `cols` weights of 4 bits).
        A power of two in 2..64.
    weight_buffer_bytes : int, bytes
        All banks together.
    columns_max : int
        Largest number of output columns of a layer; a multiple of `cols`, at most 256.
    psum_width : int, bits
        Width of one combination partial sum P, 16..32 (contract: s24).
    group_fifo_depth : int
        Groups of values that may wait between the decoder and the array.
    """

    lanes: int = 2
    cols: int = 4
    weight_buffer_bytes: Annotated[int, Field(ge=64, le=1 << 22)] = 32 * 1024
    columns_max: Annotated[int, Field(ge=2, le=256)] = 32
    psum_width: Annotated[int, Field(ge=16, le=32)] = 24
    group_fifo_depth: Annotated[int, Field(ge=2, le=64)] = 4

    @model_validator(mode="after")
    def _check(self) -> Self:
        require_power_of_two(self.lanes, "combination.lanes", 1, 64)
        require_power_of_two(self.cols, "combination.cols", 2, 64)
        if self.columns_max % self.cols:
            raise ValueError(
                f"combination.columns_max must be a multiple of combination.cols = {self.cols}, "
                f"not {self.columns_max}"
            )
        if self.weight_buffer_bytes % (self.lanes * self.word_bytes):
            raise ValueError(
                "combination.weight_buffer_bytes must be a multiple of lanes x cols / 2 = "
                f"{self.lanes * self.word_bytes} bytes, not {self.weight_buffer_bytes}"
            )
        return self

    @property
    def word_width(self) -> int:
        """Bits of one weight word: `cols` weights."""
        return self.cols * Q_WIDTH

    @property
    def word_bytes(self) -> int:
        """Bytes of one weight word."""
        return self.word_width // 8

    @property
    def bank_depth(self) -> int:
        """Weight words in one bank."""
        return self.weight_buffer_bytes // (self.lanes * self.word_bytes)

    @property
    def tiles_max(self) -> int:
        """Column tiles of the widest layer."""
        return self.columns_max // self.cols


class AggregationConfig(Frozen):
    """The scatter-add unit, its resident partial sums and the post-processor behind it.

    Parameters
    ----------
    lanes : int
        Columns added (and later post-processed) in one cycle. A power of two in 1..16, so that a
        word never crosses a bitmap chunk.
    psum_buffer_bytes : int, bytes
        Resident partial sums; a part's rows x columns must fit.
    psum_width : int, bits
        Width of one resident partial sum, 8..32 (contract: s16).
    row_fifo_depth : int
        Rows of q that may wait before the scatter-add unit.
    """

    lanes: int = 4
    psum_buffer_bytes: Annotated[int, Field(ge=64, le=1 << 24)] = 128 * 1024
    psum_width: Annotated[int, Field(ge=8, le=32)] = 16
    row_fifo_depth: Annotated[int, Field(ge=2, le=64)] = 4

    @model_validator(mode="after")
    def _check(self) -> Self:
        require_power_of_two(self.lanes, "aggregation.lanes", 1, 16)
        if self.psum_buffer_bytes * 8 % self.word_width:
            raise ValueError(
                "aggregation.psum_buffer_bytes must be a multiple of lanes x psum_width / 8 = "
                f"{self.word_width / 8:g} bytes, not {self.psum_buffer_bytes}"
            )
        return self

    @property
    def word_width(self) -> int:
        """Bits of one word of the psum buffer: `lanes` partial sums."""
        return self.lanes * self.psum_width

    @property
    def depth(self) -> int:
        """Words of the psum buffer."""
        return self.psum_buffer_bytes * 8 // self.word_width


class GnnConfig(Frozen):
    """One graph engine.

    Parameters
    ----------
    name : str
        Name of the preset, or of the file that it came from; one line of printable text.
    memory, combination, aggregation
        The three parts of the engine.
    log_depth : int
        Commands of each queue whose start and end cycles are kept for software, 4..1024.
    """

    name: str = "custom"
    memory: MemoryConfig = MemoryConfig()
    combination: CombinationConfig = CombinationConfig()
    aggregation: AggregationConfig = AggregationConfig()
    log_depth: Annotated[int, Field(ge=4, le=1024)] = 64

    @model_validator(mode="after")
    def _check(self) -> Self:
        # The name stands in the head of the Verilog, in TOML and on pages.
        if not self.name.isprintable():
            raise ValueError(f"name must be one line of printable text, not {self.name!r}")
        require_power_of_two(self.log_depth, "log_depth", 4, 1024)
        if self.combination.columns_max % self.aggregation.lanes:
            raise ValueError(
                "combination.columns_max must be a multiple of aggregation.lanes = "
                f"{self.aggregation.lanes}, not {self.combination.columns_max}"
            )
        return self

    @property
    def row_width(self) -> int:
        """Bits of the widest q row: `columns_max` operands of 4 bits."""
        return self.combination.columns_max * Q_WIDTH

    @property
    def hash(self) -> int:
        """First 32 bits of the SHA-256 of the choices, the name left out."""
        text = json.dumps(self.model_dump(exclude={"name"}), sort_keys=True)
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "little")


PRESETS: dict[str, GnnConfig] = {
    "tiny": GnnConfig(name="tiny"),
}
"""Presets by the name used on the command line.

`tiny`: the smallest engine with every mechanism (two value lanes with a bank each, four columns,
one 64-bit master); its buffers hold Cora, CiteSeer and hidden layers of 16, so that whole real
graphs run in the test suite.
"""
