"""Writes a config as the TOML that the command line reads."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

__all__ = ["to_toml"]


def to_toml(config: BaseModel) -> str:
    """Return the TOML that `sim.cli.configs.resolve` reads back to the same config."""
    return _table(config.model_dump(), "")


def _table(choices: Mapping[str, Any], title: str) -> str:
    plain = {key: value for key, value in choices.items() if not isinstance(value, dict)}
    lines = [f"[{title}]"] if title else []
    lines += [f"{key} = {_literal(value)}" for key, value in plain.items()]
    tables = [
        _table(value, f"{title}.{key}" if title else key)
        for key, value in choices.items()
        if isinstance(value, dict)
    ]
    return "\n\n".join(["\n".join(lines), *(table.rstrip() for table in tables)]) + "\n"


def _literal(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return str(value)
