"""The comparison at the end of a sweep: arrays of the gates and of NumPy, equal or explained."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.cosim import MismatchError

__all__ = ["require_equal"]


def require_equal(
    name: str,
    got: NDArray[Any],
    expected: NDArray[Any],
    seed: int,
    inputs: Mapping[str, NDArray[Any]],
) -> None:
    """Check that the gates gave what was expected.

    Parameters
    ----------
    name : str
        Unit and output, for the message.
    got, expected : ndarray [n, ...], int
    seed : int
        Of the sweep.
    inputs : mapping of str to ndarray [n, ...]
        Printed for the element that differs first.

    Raises
    ------
    MismatchError
        If an element differs: how many do, and the first.

    Examples
    --------
    >>> require_equal("o.q", np.array([1, -6]), np.array([1, 7]), 3, {"psum": np.array([1, 9])})
    Traceback (most recent call last):
        ...
    sim.cosim.MismatchError: o.q, seed 3: 1 of 2 differ, first at 1: must be 0x7 (7), \
not -0x6 (-6); psum = 9
    """
    got, expected = np.asarray(got, np.int64), np.asarray(expected, np.int64)
    if got.shape != expected.shape:
        raise MismatchError(
            f"{name}, seed {seed}: must be {list(expected.shape)}, not {list(got.shape)}"
        )
    wrong = np.argwhere(got != expected)
    if not len(wrong):
        return
    at = tuple(map(int, wrong[0]))
    must, found = int(expected[at]), int(got[at])
    given = ", ".join(f"{key} = {values[at[0]]}" for key, values in inputs.items())
    raise MismatchError(
        f"{name}, seed {seed}: {len(wrong)} of {got.size} differ, first at "
        f"{', '.join(map(str, at))}: must be {must:#x} ({must}), not {found:#x} ({found}); {given}"
    )
