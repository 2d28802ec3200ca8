"""Largest magnitudes over the real graph, and the refusals where one does not fit its width.

All bounds are sums of magnitudes, so they hold for every order of addition, not only for the
final sum.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hw.gnn.codes import Codes

__all__ = ["code_psum_bound", "require_at_most", "require_signed", "width_psum_bound"]

Integers = NDArray[np.int64]


def code_psum_bound(codes: Codes, weights: Integers) -> Integers:
    """Return ``max_j sum_k |x[u,k]| * |w[k,j]|`` of each row `u` of known codes."""
    shape = (len(codes.width), codes.reduction)
    matrix = csr_array((np.abs(codes.value), (codes.row, codes.index)), shape)
    return np.asarray(matrix @ np.abs(weights), np.int64).max(axis=1, initial=0)


def width_psum_bound(width: Integers, weights: Integers) -> Integers:
    """Return ``(2^B_u - 1) * max_j sum_k |w[k,j]|`` of each row `u` of unknown codes.

    Examples
    --------
    >>> width_psum_bound(np.array([0, 3]), np.array([[1, -7], [2, 4]])).tolist()
    [0, 77]
    """
    column = np.abs(weights).sum(axis=0).max(initial=0)
    return ((np.int64(1) << width) - 1) * column


def require_signed(what: str, bound: Integers, width: int, rule: str) -> None:
    """Refuse magnitudes that leave `width` bits of two's complement.

    Parameters
    ----------
    what : str
        The quantity, with its layer.
    bound : ndarray [nodes], int64
        Largest magnitude at each node.
    width : int, bits
    rule : str
        Where the width comes from.

    Raises
    ------
    ValueError
        Naming the node with the largest magnitude.

    Examples
    --------
    >>> require_signed("acc of layer 0", np.array([7, 200]), 8, "aggregation.psum_width")
    Traceback (most recent call last):
        ...
    ValueError: acc of layer 0 must fit aggregation.psum_width = 8 bits, not reach 200 at node 1
    """
    if bound.size and bound.max() >= 1 << width - 1:
        node = int(bound.argmax())
        raise ValueError(
            f"{what} must fit {rule} = {width} bits, not reach {bound[node]} at node {node}"
        )


def require_at_most(what: str, value: int, limit: int, rule: str) -> None:
    """Refuse a count above its limit.

    Examples
    --------
    >>> require_at_most("columns of layer 0", 64, 32, "combination.columns_max")
    Traceback (most recent call last):
        ...
    ValueError: columns of layer 0 must be at most combination.columns_max = 32, not 64
    """
    if value > limit:
        raise ValueError(f"{what} must be at most {rule} = {limit}, not {value}")
