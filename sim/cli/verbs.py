"""The verbs by their names on the command line."""

from collections.abc import Callable
from typing import Any

from . import doctor, list_verb, rtl

__all__ = ["VERBS"]

VERBS: dict[str, Callable[..., Any]] = {
    "rtl": rtl.run,
    "list": list_verb.run,
    "doctor": doctor.run,
}
"""In the order of the help text; each module has the verb's arguments and its `run`."""
