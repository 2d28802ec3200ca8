"""The verbs by their names on the command line."""

from collections.abc import Callable
from typing import Any

from . import cost, demo, doctor, inspect, list_verb, quantize, replay, rtl, simulate

__all__ = ["VERBS"]

VERBS: dict[str, Callable[..., Any]] = {
    "demo": demo.run,
    "quantize": quantize.run,
    "inspect": inspect.run,
    "rtl": rtl.run,
    "sim": simulate.run,
    "replay": replay.run,
    "cost": cost.run,
    "list": list_verb.run,
    "doctor": doctor.run,
}
"""In the order of the help text; each module has the verb's arguments and its `run`."""
