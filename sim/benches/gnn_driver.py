"""What software does with a graph engine: check it, start a Program, read status and counters."""

from typing import Any, Protocol

__all__ = ["Bus", "collect", "start"]


class Bus(Protocol):
    """A bus that reads and writes 32-bit registers."""

    async def read(self, address: int) -> int:
        """Read one register."""
        ...

    async def write(self, address: int, value: int) -> None:
        """Write one register."""
        ...


async def start(bus: Bus, job: dict[str, Any]) -> None:
    """Check the identity of the engine and start the Program of `job`.

    Raises
    ------
    AssertionError
        If a register that `job` expects reads otherwise.
    """
    registers = job["registers"]
    for name, expected in job["expect"].items():
        value = await bus.read(registers[name])
        assert value == expected, f"{name} reads {value:#010x}, not {expected:#010x}"
    await bus.write(registers["PROGRAM_ADDRESS_LO"], job["program_address"] & 0xFFFFFFFF)
    await bus.write(registers["PROGRAM_ADDRESS_HI"], job["program_address"] >> 32)
    await bus.write(registers["IRQ_ENABLE"], job["irq_enable"])
    await bus.write(registers["CONTROL"], job["start"])


async def collect(bus: Bus, job: dict[str, Any]) -> dict[str, Any]:
    """Return status, error, counters and both command logs."""
    registers = job["registers"]

    async def wide(name: str) -> int:
        low = await bus.read(registers[f"{name}_LO"])
        return low | await bus.read(registers[f"{name}_HI"]) << 32

    async def entry(index: int) -> dict[str, int]:
        await bus.write(registers["LOG_SELECT"], index)
        names = {"start": "LOG_START", "go": "LOG_GO", "end": "LOG_END"}
        return {key: await bus.read(registers[name]) for key, name in names.items()}

    status, error = await bus.read(registers["STATUS"]), await bus.read(registers["ERROR"])
    counters = {name: await wide(register) for name, register in job["counters"].items()}
    commands = {
        queue: [await entry(first + index) for index in range(count)]
        for queue, (first, count) in job["log"].items()
    }
    return {"status": status, "error": error, "counters": counters, "commands": commands}
