"""Payloads of the streams between an engine and its DMA.

A read request names a byte address, aligned to a beat, and a number of beats; the data come back in
order on a stream of beats. A write request names a byte address; the beats follow as tokens.
"""

from amaranth.lib import data

__all__ = ["ReadRequest", "WriteRequest", "WriteToken"]


class ReadRequest(data.StructLayout):
    """`beats` beats from byte `address` on; no beats are a legal request that yields nothing."""

    def __init__(self, addr_width: int) -> None:
        super().__init__({"address": addr_width, "beats": 32})


class WriteRequest(data.StructLayout):
    """The tokens up to the next `last` go to byte `address` and up."""

    def __init__(self, addr_width: int) -> None:
        super().__init__({"address": addr_width})


class WriteToken(data.StructLayout):
    """A beat if `valid`; the end of the request if `last`; so a request may end without a beat."""

    def __init__(self, data_width: int) -> None:
        super().__init__({"data": data_width, "valid": 1, "last": 1})
