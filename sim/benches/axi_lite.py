"""AXI4-Lite master for a bench: a few edges an access, and asleep between them."""

from typing import Any

from cocotb.triggers import RisingEdge

__all__ = ["AxiLite", "ResponseError"]

_TIMEOUT_EDGES = 1000


class ResponseError(RuntimeError):
    """The slave answered an access with something else than OKAY, or not at all."""


class AxiLite:
    """Reads and writes 32-bit registers through the ports ``<prefix>_*`` of a bench.

    Parameters
    ----------
    dut : handle
        The bench's top.
    prefix : str
        Prefix of the ports, such as ``s_axi``.
    clock : handle
        The clock of the interface.
    """

    def __init__(self, dut: Any, prefix: str, clock: Any) -> None:
        self._clock = clock
        self._port = lambda name: getattr(dut, f"{prefix}_{name}")
        for name in ("awvalid", "wvalid", "bready", "arvalid", "rready", "awaddr", "araddr"):
            self._port(name).value = 0
        self._port("wdata").value = 0
        self._port("wstrb").value = 0
        self._port("awprot").value = 0
        self._port("arprot").value = 0

    async def write(self, address: int, value: int) -> None:
        """Write one register.

        Raises
        ------
        ResponseError
            If the response is not OKAY or does not come.
        """
        port = self._port
        port("awaddr").value, port("awvalid").value = address, 1
        port("wdata").value, port("wstrb").value, port("wvalid").value = value, 0xF, 1
        port("bready").value = 1
        waiting = {"aw", "w"}
        for _ in range(_TIMEOUT_EDGES):
            await RisingEdge(self._clock)
            # The values seen at an edge are those before it, so a ready seen here has been taken.
            for channel in sorted(waiting):
                if int(port(f"{channel}ready").value):
                    port(f"{channel}valid").value = 0
                    waiting.discard(channel)
            if int(port("bvalid").value):
                port("bready").value = 0
                return self._check("write", address, int(port("bresp").value))
        raise ResponseError(f"no response to a write of address {address:#x}")

    async def read(self, address: int) -> int:
        """Read one register.

        Raises
        ------
        ResponseError
            If the response is not OKAY or does not come.
        """
        port = self._port
        port("araddr").value, port("arvalid").value, port("rready").value = address, 1, 1
        for _ in range(_TIMEOUT_EDGES):
            await RisingEdge(self._clock)
            if int(port("arvalid").value) and int(port("arready").value):
                port("arvalid").value = 0
            if int(port("rvalid").value):
                value = int(port("rdata").value)
                port("rready").value = 0
                self._check("read", address, int(port("rresp").value))
                return value
        raise ResponseError(f"no response to a read of address {address:#x}")

    @staticmethod
    def _check(access: str, address: int, response: int) -> None:
        if response:
            raise ResponseError(f"{access} of address {address:#x} answered {response}, not OKAY")
