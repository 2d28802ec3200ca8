"""Packed words against Amaranth's own constants, and what is refused."""

from random import Random

import numpy as np
import pytest
from amaranth.hdl import Const, signed
from amaranth.lib import data

from sim.packing import leaves, pack, unpack, value_dtype, word_count, zeros

LAYOUT = data.StructLayout(
    {
        "valid": 1,
        "items": data.ArrayLayout(data.StructLayout({"code": signed(9), "at": 13}), 5),
        "nothing": 0,
        "wide": 75,
        "long": signed(64),
        "grid": data.ArrayLayout(data.ArrayLayout(3, 2), 2),
        "range": range(10),
    }
)


def _random(rng: Random) -> dict:
    def bits(width: int) -> int:
        return rng.choice([0, (1 << width) - 1, rng.getrandbits(width)])

    return {
        "valid": bits(1),
        "items": [{"code": bits(9) - 256, "at": bits(13)} for _ in range(5)],
        "nothing": 0,
        "wide": bits(75),
        "long": bits(64) - (1 << 63),
        "grid": [[bits(3), bits(3)], [bits(3), bits(3)]],
        "range": rng.randrange(10),
    }


def test_equals_the_constants_of_the_layout():
    rng = Random(5)
    payloads = [_random(rng) for _ in range(300)]
    values = zeros(LAYOUT, len(payloads))
    for at, payload in enumerate(payloads):
        for name in ("valid", "long", "range", "grid"):
            values[name][at] = payload[name]
        values["items"][at] = [(item["code"], item["at"]) for item in payload["items"]]
        values["wide"][at] = [payload["wide"] >> 32 * k & 0xFFFFFFFF for k in range(3)]
    words = pack(LAYOUT, values)
    expected = [Const.cast(LAYOUT.const(payload)).value for payload in payloads]
    assert [int.from_bytes(row.tobytes(), "little") for row in words] == expected
    assert words.shape == (300, word_count(data.Layout.cast(LAYOUT).size))
    assert (unpack(LAYOUT, words) == values).all()


def test_plain_shapes_and_mappings():
    assert pack(signed(5), [-16, 15]).tolist() == [[16], [15]]
    assert unpack(signed(5), np.array([[16], [15]], np.uint32)).tolist() == [-16, 15]
    assert value_dtype(signed(5)) == np.int8
    pairs = data.ArrayLayout(20, 2)
    assert pack(pairs, [[1, 2], [3, 4]]).tolist() == [[2 << 20 | 1, 0], [4 << 20 | 3, 0]]
    nested = data.StructLayout({"x": data.StructLayout({"y": 4}), "z": 4})
    assert pack(nested, {"x": {"y": [1, 2]}, "z": [3, 4]}).tolist() == [[0x31], [0x42]]


def test_names_of_the_leaves():
    names = [leaf.name for leaf in leaves(LAYOUT)]
    assert names[:3] == [".valid", ".items[0].code", ".items[0].at"]
    assert names[-4:] == [".grid[0][1]", ".grid[1][0]", ".grid[1][1]", ".range"]


def test_refuses_what_does_not_fit():
    values = zeros(LAYOUT, 3)
    values["items"]["code"][1, 2] = 256
    with pytest.raises(ValueError, match=r"^i\.items\[2\]\.code must be in -256\.\.255, not 256$"):
        pack(LAYOUT, values, "i")
    values = zeros(LAYOUT, 3)
    values["wide"][2, 2] = 1 << 11
    with pytest.raises(ValueError, match=r"^payload\.wide\[2\] must be in 0\.\.2047, not 2048$"):
        pack(LAYOUT, values)
    with pytest.raises(TypeError, match=r"^payload must be integers, not float64$"):
        pack(4, [1.0])
