"""Turns ``--preset``, ``--config`` and ``--set`` into a config, or says in one line why not."""

import difflib
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import BaseModel, ValidationError

from hw.gnn.config import PRESETS, GnnConfig

__all__ = [
    "DEFAULT_PRESET",
    "ENGINES",
    "ConfigOption",
    "EngineArgument",
    "PresetOption",
    "SetOption",
    "check_engine",
    "resolve",
]

ENGINES: dict[str, dict[str, GnnConfig]] = {"gnn": PRESETS}
"""Presets of each engine, by the engine's name on the command line."""

DEFAULT_PRESET = "tiny"

EngineArgument = Annotated[str, typer.Argument(help=f"Engine: {', '.join(ENGINES)}.")]
PresetOption = Annotated[str | None, typer.Option(help="Name of a preset (default: tiny).")]
ConfigOption = Annotated[Path | None, typer.Option(help="TOML file with the config.")]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="One choice on top, as memory.burst_beats=8."),
]


def check_engine(engine: str) -> str:
    """Return `engine` if there is such an engine.

    Raises
    ------
    ValueError
        If there is none.
    """
    if engine not in ENGINES:
        raise ValueError(f"ENGINE must be one of {', '.join(ENGINES)}, not {engine}")
    return engine


def resolve(
    engine: str,
    preset: str | None = None,
    config: Path | None = None,
    settings: Sequence[str] | None = None,
) -> GnnConfig:
    """Return the config of an engine: a preset or a file, with single choices on top.

    A config that is no preset as it stands is named after its file, or "custom".

    Raises
    ------
    ValueError
        If the preset or a key is unknown (the message has the nearest known one), a value is
        refused, or both a preset and a file are given.
    FileNotFoundError
        If there is no such file.
    """
    presets = ENGINES[check_engine(engine)]
    if preset is not None and config is not None:
        raise ValueError("--preset and --config must not be given together")
    if config is not None:
        choices: dict[str, Any] = {"name": config.stem, **_read(config)}
    else:
        choices = _preset(presets, preset or DEFAULT_PRESET).model_dump()
    for setting in settings or ():
        key, value = _split(setting)
        _check_key(GnnConfig, key, "--set")
        if key != "name" and config is None:
            choices["name"] = "custom"
        _put(choices, key.split("."), value)
    try:
        return GnnConfig.model_validate(choices)
    except ValidationError as error:
        raise ValueError(_one_line(error)) from error


def _preset(presets: Mapping[str, GnnConfig], name: str) -> GnnConfig:
    if name not in presets:
        raise ValueError(f"unknown preset {name}{_nearest(name, presets)}")
    return presets[name]


def _nearest(name: str, known: Sequence[str] | Mapping[str, Any]) -> str:
    found = difflib.get_close_matches(name, list(known), n=1, cutoff=0.0)
    return f"; the nearest is {found[0]}" if found else ""


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise FileNotFoundError(f"there is no config file {path}")
    try:
        choices = tomllib.loads(path.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} must be TOML: {error}") from error
    for key in _leaves(choices, ""):
        _check_key(GnnConfig, key, str(path))
    return choices


def _leaves(choices: Mapping[str, Any], prefix: str) -> list[str]:
    keys: list[str] = []
    for key, value in choices.items():
        keys += _leaves(value, f"{prefix}{key}.") if isinstance(value, dict) else [prefix + key]
    return keys


def _split(setting: str) -> tuple[str, Any]:
    if not setting.isprintable():
        raise ValueError(f"--set must be one line of printable text, not {setting!r}")
    key, equals, text = setting.partition("=")
    if not equals or not key:
        raise ValueError(f"--set must be KEY=VALUE, not {setting}")
    try:
        return key, tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return key, text


def _fields(model: type[BaseModel], prefix: str = "") -> list[str]:
    keys: list[str] = []
    for name, field in model.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            keys += _fields(inner, f"{prefix}{name}.")
        else:
            keys.append(prefix + name)
    return keys


def _check_key(model: type[BaseModel], key: str, source: str) -> None:
    known = _fields(model)
    if key not in known:
        raise ValueError(f"unknown key {key} in {source}{_nearest(key, known)}")


def _put(choices: dict[str, Any], path: Sequence[str], value: object) -> None:
    for name in path[:-1]:
        choices = choices.setdefault(name, {})
    choices[path[-1]] = value


def _one_line(error: ValidationError) -> str:
    first = error.errors()[0]
    if first["type"] == "value_error":
        return first["msg"].removeprefix("Value error, ")
    field = ".".join(map(str, first["loc"]))
    rule = first["msg"].replace("Input should be", "must be").partition(", unable")[0]
    return f"{field} {rule}, not {first['input']!r}"
