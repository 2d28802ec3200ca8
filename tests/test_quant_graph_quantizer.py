"""Codes, ranges and rounding modes against published tables and QONNX's own function."""

import re

import numpy as np
import pytest
from scipy import sparse

from quant.graph.quantizer import Quantizer, Rounding, dequantize, quantize, round_to_integer


def step(scale, width, *, signed=True, narrow=True, zero_point=0, rounding=Rounding.HALF_UP):
    """Make a quantizer from plain numbers or lists."""
    return Quantizer(
        np.array(scale), np.array(width), np.array(zero_point), signed, narrow, rounding
    )


# QONNX documentation, docs/qonnx-custom-ops/intquant_op.md, "Rounding modes".
MODES = ("ROUND", "CEIL", "FLOOR", "UP", "DOWN", "HALF_UP", "HALF_DOWN")
TABLE = {
    5.5: (6, 6, 5, 6, 5, 6, 5),
    2.5: (2, 3, 2, 3, 2, 3, 2),
    1.6: (2, 2, 1, 2, 1, 2, 2),
    1.1: (1, 2, 1, 2, 1, 1, 1),
    1.0: (1, 1, 1, 1, 1, 1, 1),
    -1.0: (-1, -1, -1, -1, -1, -1, -1),
    -1.1: (-1, -1, -2, -2, -1, -1, -1),
    -1.6: (-2, -1, -2, -2, -1, -2, -2),
    -2.5: (-2, -2, -3, -3, -2, -3, -2),
    -5.5: (-6, -5, -6, -6, -5, -6, -5),
}


@pytest.mark.parametrize("column", range(len(MODES)), ids=MODES)
def test_rounding_modes_follow_the_table_of_qonnx(column):
    """Each mode gives QONNX's column; HALF_EVEN is another name of ROUND."""
    x = np.array(list(TABLE))
    expected = [row[column] for row in TABLE.values()]
    assert round_to_integer(x, Rounding(MODES[column])).tolist() == expected
    if MODES[column] == "ROUND":
        assert round_to_integer(x, Rounding.HALF_EVEN).tolist() == expected


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        (3, [-3, 0, 0, 0, 3, 3]),
        (2, [-1, 0, 0, 0, 1, 1]),
        ([1], [0, 0, 0, 0, 0, 0]),
    ],
)
def test_a2q_vectors(width, expected):
    """`papers-quant.md` 1.12: s = 0.1; b = 3, 2 and 1.4 (no magnitude bit) of A2Q's quantizer."""
    x = np.array([-1, -0.01, 0, 0.01, 0.5, 3])
    assert quantize(x, step(0.1, width)).tolist() == expected


def test_ties_go_away_from_zero_and_the_sum_does_not_round():
    """0.49999999999999994 + 0.5 is 1.0 in float64, but the nearest integer is 0."""
    x = np.array([0.5, -0.5, 1.5, 0.49999999999999994, -0.49999999999999994])
    assert quantize(x, step(1.0, 4)).tolist() == [1, -1, 2, 0, 0]


@pytest.mark.parametrize(
    ("width", "signed", "narrow", "low", "high"),
    [
        (8, True, True, -127, 127),
        (8, True, False, -128, 127),
        (8, False, False, 0, 255),
        (8, False, True, 0, 254),
        (4, True, True, -7, 7),
        (0, False, False, 0, 0),
        ([1], True, True, [0], [0]),
    ],
)
def test_range(width, signed, narrow, low, high):
    """The first four are the examples in the docstrings of QONNX's `min_int` and `max_int`."""
    lowest, highest = step(1.0, width, signed=signed, narrow=narrow).range()
    assert (lowest.tolist(), highest.tolist()) == (low, high)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("signed", "narrow"), [(True, True), (True, False), (False, False)])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_values_equal_those_of_qonnx(mode, signed, narrow):
    """Scalar widths: QONNX's reference function judges every mode, ties and zero points too."""
    reference = pytest.importorskip("qonnx.custom_op.general.intquant").int_quant
    x = np.arange(-300, 301) / 16
    for width in (2, 3, 8):
        for scale, zero_point in ((0.25, 0), (1.0, 1), (0.3, 0)):
            quantizer = step(
                scale, width, signed=signed, narrow=narrow, zero_point=zero_point, rounding=mode
            )
            expected = reference(
                x,
                np.float64(scale),
                np.float64(zero_point),
                np.float64(width),
                signed,
                narrow,
                mode,
            )
            assert np.array_equal(dequantize(quantize(x, quantizer), quantizer), expected)


def test_each_graph_node_has_its_own_step_and_width():
    """Widths 0 to 3 and a step per row; hand calculation: 2.6 / step, rounded, at most 2^B - 1."""
    quantizer = step([[1.0], [1.0], [1.0], [0.5]], [[0], [1], [2], [3]], signed=False, narrow=False)
    x = np.tile([2.6, 0.4, -1.0], (4, 1))
    assert quantize(x, quantizer).tolist() == [[0, 0, 0], [1, 0, 0], [3, 0, 0], [5, 1, 0]]


@pytest.mark.parametrize("shape", [(), (1, 5), (6, 1), (6, 5)])
def test_sparse_codes_equal_dense_ones(shape):
    """A sparse tensor has the codes of the dense one and stores no zeros."""
    rng = np.random.default_rng(0)
    x = np.where(rng.random((6, 5)) < 0.5, rng.normal(size=(6, 5)), 0)
    quantizer = step(rng.uniform(0.2, 1, shape), rng.integers(2, 5, shape))
    codes = quantize(sparse.csr_array(x), quantizer)
    assert np.array_equal(codes.toarray(), quantize(x, quantizer))
    assert np.all(codes.data != 0)
    values = dequantize(codes, quantizer).toarray()
    assert np.array_equal(values, dequantize(quantize(x, quantizer), quantizer))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scale": 0.0}, "scale must be finite and positive, not 0.0"),
        ({"scale": [[0.5], [-1.0]]}, "scale[1, 0] must be finite and positive, not -1.0"),
        ({"scale": [np.inf]}, "scale[0] must be finite and positive, not inf"),
        ({"scale": np.nan}, "scale must be finite and positive, not nan"),
        ({"width": [[4], [9]]}, "width[1, 0] must be an integer from 1 to 8 (signed), not 9"),
        ({"width": [2.5]}, "width[0] must be an integer from 1 to 8 (signed), not 2.5"),
        ({"width": 0}, "width must be an integer from 1 to 8 (signed), not 0"),
        (
            {"width": -1, "signed": False, "narrow": False},
            "width must be an integer from 0 to 8 (unsigned), not -1",
        ),
        (
            {"width": 0, "signed": False},
            "width must be an integer from 1 to 8 (narrow unsigned), not 0",
        ),
        ({"width": 1}, "width must not be 1 for a signed tensor: QONNX reads it as -1 and 1"),
        ({"zero_point": 0.5}, "zero_point must be an integer, not 0.5"),
    ],
)
def test_refused(change, message):
    """A value out of range is named with its place."""
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        step(**({"scale": 1.0, "width": 4} | change))


def test_sparse_needs_zero_point_0():
    """With another zero point the zeros would have codes too."""
    with pytest.raises(ValueError, match=r"^zero_point must be 0 for a sparse tensor$"):
        quantize(sparse.csr_array(np.eye(2)), step(1.0, 4, zero_point=1))
