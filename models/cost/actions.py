"""Energy of one action and area of one structure at 28 nm and 0.9 V, from the table's laws.

Source: the rows of `models/cost/data/energy.csv` that each function names; laws of the fits as
their rows say. Nothing here is silicon of this project: joules carry their band.
"""

from models.cost.tables import Band, band

__all__ = [
    "adder_area",
    "adder_energy",
    "and_energy",
    "multiplier_area",
    "multiplier_energy",
    "register_area",
    "register_energy",
    "sram_area",
    "sram_leakage",
    "sram_read_energy",
    "sram_write_energy",
]

FJ_PER_PJ = 1000.0

REGISTER_LIMIT_BYTES = 512
"""Below this a memory is made of flip-flops: CACTI has no figure for so small an array."""


def multiplier_energy(b_width: int, c_width: int) -> Band:
    """Return the energy of one b x c multiply with its registers, pJ (rows pe_energy_*).

    >>> round(multiplier_energy(8, 8).nominal, 3)
    0.161
    """
    at_45 = (
        band("pe_energy_bc").nominal * b_width * c_width
        + band("pe_energy_sum").nominal * (b_width + c_width)
        + band("pe_energy_const").nominal
    )
    scale = band("scale_45_to_28_energy").nominal
    return band("pe_energy_band").times(at_45 * scale)


def multiplier_area(b_width: int, c_width: int) -> Band:
    """Return the area of one b x c multiplier with its registers, um2 (rows pe_area_*).

    >>> round(multiplier_area(8, 8).nominal)
    271
    """
    at_45 = (
        band("pe_area_bc").nominal * b_width * c_width
        + band("pe_area_sum").nominal * (b_width + c_width)
        + band("pe_area_const").nominal
    )
    return band("pe_area_band").times(at_45 * band("scale_45_to_28_area").nominal)


def adder_energy(width: int) -> Band:
    """Return the energy of one addition of `width` bits, pJ."""
    return band("adder_bit").times(width / FJ_PER_PJ)


def adder_area(width: int) -> Band:
    """Return the area of an adder of `width` bits, um2."""
    return band("adder_area").times(width)


def and_energy(width: int) -> Band:
    """Return the energy of `width` AND gates, pJ."""
    return band("and_bit").times(width / FJ_PER_PJ)


def register_energy(width: int) -> Band:
    """Return the energy of loading a register of `width` bits, pJ."""
    return band("register_bit").times(width / FJ_PER_PJ)


def register_area(width: int) -> Band:
    """Return the area of a register of `width` bits, um2."""
    return band("register_area").times(width)


def _sram(kind: str, size_bytes: int, width: int) -> Band:
    if size_bytes <= 0 or width <= 0:
        raise ValueError(f"a memory must have bytes and width, not {size_bytes} and {width}")
    if size_bytes < REGISTER_LIMIT_BYTES:
        return register_energy(width)
    size, wide = band(f"sram_{kind}_size_exponent"), band(f"sram_{kind}_width_exponent")
    kilobytes = size_bytes / 1024
    factors = ((kilobytes / 64) ** x * (width / 64) ** y for x, y in zip(size, wide, strict=True))
    return Band(*sorted(band(f"sram_{kind}_e0").times(Band(*factors))))


def sram_read_energy(size_bytes: int, width: int) -> Band:
    """Return the energy of one read of `width` bits, pJ: E0 (KB/64)^x (width/64)^y.

    The fits hold for 2 to 512 KB and 32 to 256 bits and are used beyond; low, nominal and high
    are sorted, since fits of different exponents cross at narrow words.

    >>> round(sram_read_energy(64 * 1024, 64).nominal, 1)
    9.3
    """
    return _sram("read", size_bytes, width)


def sram_write_energy(size_bytes: int, width: int) -> Band:
    """Return the energy of one write of `width` bits, pJ, as `sram_read_energy`."""
    return _sram("write", size_bytes, width)


def sram_area(size_bytes: int) -> Band:
    """Return the area of a memory, um2."""
    if size_bytes < REGISTER_LIMIT_BYTES:
        return register_area(8 * size_bytes)
    return band("sram_area").times(8 * size_bytes)


def sram_leakage(size_bytes: int) -> Band:
    """Return the leakage of a memory at 25 C, uW. Print it as a line of its own."""
    return band("sram_leakage").times(size_bytes / 1024)
