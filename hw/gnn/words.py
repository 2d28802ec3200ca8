"""From the table of a packed word to the layout that the gates see."""

from amaranth.hdl import signed
from amaranth.lib import data

from hw.gnn.format import Word

__all__ = ["layout"]


def layout(word: Word) -> data.StructLayout:
    """Return the layout of `word`: same fields, same order, padding under its ``_`` names."""
    return data.StructLayout(
        {name: signed(width) if is_signed else width for name, width, is_signed in word.fields}
    )
