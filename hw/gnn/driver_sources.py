"""Drivers of a graph engine in C and in Python, made from the register table of its gates."""

import re
from pathlib import Path
from string import Template

from hw.axi import PAGE_BYTES
from hw.gnn.config import GnnConfig
from hw.gnn.counters import COUNTERS
from hw.gnn.format import VERSION, ErrorCode
from hw.gnn.registers import COUNTER_BASE, ID_VALUE, REGISTERS
from hw.registers_c import accessors, defines
from hw.registers_python import entries

__all__ = ["c_header", "python_driver"]

_PREFIX = "bitwright_gnn"
_TEMPLATES = Path(__file__).parent / "drivers"

_CONTROL = tuple(r for r in REGISTERS if r.address < COUNTER_BASE)
"""All registers but the counters, which both drivers reach by an index or a name."""


def c_header(config: GnnConfig) -> str:
    """Return ``bitwright_gnn.h``: C99 and C++, static inline functions only."""
    upper = _PREFIX.upper()
    errors = [f"    {upper}_ERROR_{code.name} = {code.value}" for code in ErrorCode]
    counters = [
        f"    /* {counter.doc} */\n    {upper}_COUNTER_{counter.name.upper()} = {index},"
        for index, counter in enumerate(COUNTERS)
    ]
    return _filled(
        "bitwright_gnn.h.in",
        config,
        defines=defines(_CONTROL, upper),
        accessors=accessors(_CONTROL, _PREFIX),
        errors=",\n".join(errors),
        error_names=_strings([code.name for code in ErrorCode]),
        counters="\n".join([*counters, f"    {upper}_COUNTERS = {len(COUNTERS)}"]),
        counter_names=_strings([counter.name for counter in COUNTERS]),
    )


def python_driver(config: GnnConfig) -> str:
    """Return ``bitwright_gnn.py``: the standard library only."""
    return _filled(
        "bitwright_gnn.py.in",
        config,
        registers=entries(_CONTROL),
        errors="\n".join(f'    {code.value}: "{code.name}",' for code in ErrorCode),
        counters="\n".join(
            f'    ("{counter.name}", {COUNTER_BASE + 8 * index:#05x}, "{counter.doc}"),'
            for index, counter in enumerate(COUNTERS)
        ),
    )


def _filled(template: str, config: GnnConfig, **texts: str) -> str:
    """Return a template with `texts` and with what belongs to the config.

    A name may hold what ends a comment, so only plain characters of it are kept.
    """
    return Template((_TEMPLATES / template).read_text()).substitute(
        texts,
        config=re.sub(r"[^\w .+-]", "_", config.name),
        config_hash=f"{config.hash:#010x}",
        id_value=f"{ID_VALUE:#010x}",
        version=str(VERSION),
        log_depth=str(config.log_depth),
        page_bytes=str(PAGE_BYTES),
        counter_base=f"{COUNTER_BASE:#05x}",
    )


def _strings(names: list[str]) -> str:
    """Return string literals as items of a C array, the index being the value that they name."""
    return ",\n".join(f'        "{name}"' for name in names)
