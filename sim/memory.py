"""The files between Python and the behavioural memory `sim/verilog/axi_memory.v`."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["IDEAL", "MemoryLog", "MemoryOptions", "read_image", "read_log", "write_image"]

Memory = NDArray[np.uint8]


@dataclass(frozen=True)
class MemoryOptions:
    """How the memory behaves; the default is ideal: fixed latency, a beat a cycle, no stall.

    Parameters
    ----------
    read_latency, write_latency : int, cycles
        From the address to the first beat, from the last beat to the response; at least 2.
    read_beats_per_cycle, write_beats_per_cycle : float
        Above 0, up to 1; rounded to 256ths.
    stall : float
        Chance per cycle that a channel (each of AR, R, AW, W, B) is not ready or not valid.
    seed : int
        Of the stalls.
    error_range : (int, int), optional
        Byte addresses ``low <= a < high`` answer SLVERR.
    """

    read_latency: int = 8
    write_latency: int = 8
    read_beats_per_cycle: float = 1.0
    write_beats_per_cycle: float = 1.0
    stall: float = 0.0
    seed: int = 1
    error_range: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        for name in ("read_latency", "write_latency"):
            if getattr(self, name) < 2:
                raise ValueError(f"{name} must be at least 2 cycles, not {getattr(self, name)}")
        for name in ("read_beats_per_cycle", "write_beats_per_cycle"):
            if not 1 / 256 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must be in 1/256..1, not {getattr(self, name)}")
        if not 0 <= self.stall < 1:
            raise ValueError(f"stall must be at least 0 and below 1, not {self.stall}")

    @property
    def ideal(self) -> bool:
        """Whether nothing is throttled, stalled or made to fail."""
        rates = (self.read_beats_per_cycle, self.write_beats_per_cycle)
        return rates == (1.0, 1.0) and self.stall == 0 and self.error_range is None

    def plusargs(self) -> list[str]:
        """Return the arguments of the simulator."""
        stall = round(256 * self.stall)
        args = {
            "read_latency": self.read_latency,
            "write_latency": self.write_latency,
            "read_rate": round(256 * self.read_beats_per_cycle),
            "write_rate": round(256 * self.write_beats_per_cycle),
            "seed": self.seed,
        }
        args |= {f"stall_{channel}": stall for channel in ("ar", "r", "aw", "w", "b")}
        texts = [f"+{name}={value}" for name, value in args.items()]
        if self.error_range:
            low, high = self.error_range
            texts += [f"+error_low={low:x}", f"+error_high={high:x}"]
        return texts


IDEAL = MemoryOptions()
"""Eight cycles of latency, a beat a cycle, no stall."""


@dataclass(frozen=True)
class MemoryLog:
    """What the memory saw in one run.

    Parameters
    ----------
    cycle, address : ndarray [writes], int64
        Of each beat written, in order.
    data : ndarray [writes, beat_bytes], uint8
    strobe : ndarray [writes, beat_bytes], bool
    violations : tuple of (int, str)
        Cycle and text of each broken AXI rule.
    totals : dict of str to int
        Bursts and beats each way.
    """

    cycle: NDArray[np.int64]
    address: NDArray[np.int64]
    data: Memory
    strobe: NDArray[np.bool_]
    violations: tuple[tuple[int, str], ...]
    totals: dict[str, int]

    def counted_from(self, place: int) -> "MemoryLog":
        """Return the log with addresses that count from byte `place`."""
        return replace(self, address=self.address - place)

    def cycle_of(self, address: int) -> int | None:
        """Return the cycle of the last write to byte `address`, or None."""
        beat_bytes = self.data.shape[1]
        lane = address % beat_bytes
        hits = np.flatnonzero((self.address == address - lane) & self.strobe[:, lane])
        return int(self.cycle[hits[-1]]) if len(hits) else None


def write_image(path: Path, image: Memory, beat_bytes: int) -> int:
    """Write `image` as hexadecimal beats, one a line; return how many."""
    padded = np.zeros(-(-len(image) // beat_bytes) * beat_bytes, np.uint8)
    padded[: len(image)] = image
    beats = padded.reshape(-1, beat_bytes)[:, ::-1]
    path.write_text(beats.tobytes().hex("\n", beat_bytes) + "\n")
    return len(beats)


def read_image(path: Path, beat_bytes: int) -> Memory:
    """Return the bytes of hexadecimal beats.

    Raises
    ------
    ValueError
        If a digit is unknown (x), as where a simulator read what nobody had written.
    """
    raw = np.frombuffer(bytes.fromhex(path.read_text()), np.uint8)
    return raw.reshape(-1, beat_bytes)[:, ::-1].reshape(-1)


def read_log(path: Path, beat_bytes: int) -> MemoryLog:
    """Return the log of one run."""
    writes: list[tuple[int, int, bytes, int]] = []
    violations: list[tuple[int, str]] = []
    totals: dict[str, int] = {}
    for line in path.read_text().splitlines():
        kind, first, rest = line.split(maxsplit=2)
        if kind == "v":
            violations.append((int(first), rest))
        elif kind == "t":
            totals[first] = int(rest)
        else:
            address, data, strobe = rest.split()
            writes.append((int(first), int(address, 16), bytes.fromhex(data), int(strobe, 16)))
    data = np.frombuffer(b"".join(write[2] for write in writes), np.uint8)
    strobes = np.array([write[3] for write in writes], object).reshape(-1, 1)
    return MemoryLog(
        cycle=np.array([write[0] for write in writes], np.int64),
        address=np.array([write[1] for write in writes], np.int64),
        data=data.reshape(-1, beat_bytes)[:, ::-1],
        strobe=(strobes >> np.arange(beat_bytes).astype(object) & 1).astype(bool),
        violations=tuple(violations),
        totals=totals,
    )
