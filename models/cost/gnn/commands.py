"""Commands of a Program, read back from its image."""

from dataclasses import dataclass

import numpy as np

from hw.gnn.format import AGGREGATE, COMBINE, HEADER, SLOT_BYTES, SOURCE, Word
from hw.gnn.program import Kind, Program

__all__ = ["Commands", "command_rows", "read_commands", "read_edge_counts", "read_sources"]


@dataclass(frozen=True)
class Commands:
    """Both queues, each command as the fields of its word."""

    header: dict[str, int]
    combine: tuple[dict[str, int], ...]
    aggregate: tuple[dict[str, int], ...]


def _word_at(image: np.ndarray, address: int, word: Word) -> dict[str, int]:
    raw = image[address : address + word.width // 8].tobytes()
    return word.unpack(int.from_bytes(raw, "little"))


def read_commands(program: Program) -> Commands:
    """Return the commands of `program`."""
    header = _word_at(program.image, 0, HEADER)

    def queue(name: str, word: Word) -> tuple[dict[str, int], ...]:
        base = header[f"{name}_address"]
        return tuple(
            _word_at(program.image, base + index * SLOT_BYTES, word)
            for index in range(header[f"{name}_commands"])
        )

    return Commands(header, queue("combine", COMBINE), queue("aggregate", AGGREGATE))


def read_sources(program: Program, command: dict[str, int]) -> list[tuple[int, int]]:
    """Return (address, beats) of each run of q rows that an AGGREGATE command reads."""
    base = command["sources_address"]
    words = (
        _word_at(program.image, base + 8 * index, SOURCE)
        for index in range(command["source_words"])
    )
    return [(word["address"], word["beats"]) for word in words]


def read_edge_counts(program: Program, command: dict[str, int]) -> np.ndarray:
    """Return the destinations of each record of an AGGREGATE command's edge stream."""
    region = program.region(Kind.EDGES, command["layer"], command["part"])
    stream = program.image[region.address : region.address + region.size_bytes].view("<u2")
    counts = np.empty(command["source_rows"], np.int64)
    position = 0
    for record in range(len(counts)):
        counts[record] = stream[position]
        position += 1 + int(counts[record])
    return counts


def command_rows(program: Program, command: dict[str, int]) -> slice:
    """Return the rows that a command works on: a part, or all rows."""
    if command["rows"] == program.rows:
        return slice(0, program.rows)
    return slice(*program.parts[command["part"]])
