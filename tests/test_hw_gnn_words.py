"""The gates' view of a packed word equals the packing."""

from random import Random

import pytest
from amaranth.hdl import Const

from hw.gnn import format as memory_format
from hw.gnn.words import layout

WORDS = [word for word in vars(memory_format).values() if isinstance(word, memory_format.Word)]


def _value(width: int, signed: bool, rng: Random) -> int:
    value = rng.getrandbits(width)
    return value - (1 << width) if signed and value >> width - 1 else value


@pytest.mark.parametrize("word", WORDS, ids=lambda word: word.name)
def test_layout_packs_as_the_table(word):
    rng = Random(1)
    values = {n: _value(w, s, rng) for n, w, s in word.fields if not n.startswith("_")}
    assert layout(word).size == word.width
    assert Const.cast(layout(word).const(values)).value == word.pack(**values)
