"""The parts of which a BitGraph is made: tensors and nodes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

import numpy as np

__all__ = ["Attribute", "Node", "Tensor"]

DTYPES = (
    "float32",
    "float64",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "bool",
)
"""Element types of a tensor."""

Attribute = int | str
"""What an attribute of a node may be."""


@dataclass(frozen=True, eq=False)
class Tensor:
    """A named array, with its values if it is a constant.

    Parameters
    ----------
    name : str
    shape : tuple of int
    dtype : str
        A name out of `DTYPES`.
    data : ndarray or None
        The values of a constant; kept as a read-only copy.

    Raises
    ------
    ValueError
        If the dtype is unknown, a dimension is negative, the data has another shape or dtype, or a
        value is not finite.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    data: np.ndarray | None = None

    def __post_init__(self) -> None:
        """Check the fields and make the data read-only."""
        if not self.name:
            raise ValueError("a tensor must have a name, not ''")
        if self.dtype not in DTYPES:
            raise ValueError(
                f"tensor {self.name}: dtype must be one of {', '.join(DTYPES)}, not {self.dtype}"
            )
        if any(size < 0 for size in self.shape):
            raise ValueError(f"tensor {self.name}: shape must not be negative, not {self.shape}")
        if self.data is not None:
            object.__setattr__(self, "data", self._checked(self.data))

    def _checked(self, data: np.ndarray) -> np.ndarray:
        """Return a read-only little-endian copy of `data` that fits shape and dtype."""
        if (data.shape, data.dtype.name) != (self.shape, self.dtype):
            raise ValueError(
                f"tensor {self.name}: data must be {self.dtype} {self.shape}, "
                f"not {data.dtype.name} {data.shape}"
            )
        if data.dtype.kind == "f" and not np.isfinite(data).all():
            where = tuple(int(i) for i in np.argwhere(~np.isfinite(data))[0])
            raise ValueError(
                f"tensor {self.name}: value at {where} must be finite, not {data[where]}"
            )
        data = np.array(data, data.dtype.newbyteorder("<"), order="C")
        data.flags.writeable = False
        return data

    @classmethod
    def constant(cls, name: str, data: np.ndarray) -> Self:
        """Make a tensor that holds `data`."""
        return cls(name, data.shape, data.dtype.name, data)

    def values(self) -> np.ndarray:
        """Return the data of a constant.

        Raises
        ------
        ValueError
            If the tensor is no constant.
        """
        if self.data is None:
            raise ValueError(f"tensor {self.name} must be a constant, not a computed value")
        return self.data

    def __eq__(self, other: object) -> bool:
        """Whether name, shape, dtype and every byte of the data are the same."""
        if not isinstance(other, Tensor):
            return NotImplemented
        if (self.name, self.shape, self.dtype) != (other.name, other.shape, other.dtype):
            return False
        if self.data is None or other.data is None:
            return self.data is other.data
        return self.data.tobytes() == other.data.tobytes()


@dataclass(frozen=True)
class Node:
    """One operation on named tensors (not a node of the data graph: that is a "graph node").

    Parameters
    ----------
    op : str
        A name out of `quant.graph.operators.OPERATORS`.
    name : str
    inputs, outputs : tuple of str
        Names of tensors.
    attributes : mapping of str to int or str
    """

    op: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Attribute] = field(default_factory=dict)

    def __str__(self) -> str:
        """Name the node as messages do."""
        return f"{self.op} node {self.name}"
