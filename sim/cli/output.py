"""Where a verb writes: the result to stdout as a table or JSON, progress to stderr."""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

__all__ = ["JsonOption", "print_json", "print_table", "say"]

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


def print_json(content: Mapping[str, Any] | Sequence[Any]) -> None:
    """Print one JSON document."""
    print(json.dumps(content, indent=1))


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table for people."""
    table = Table(*columns, title=title, title_justify="left")
    for row in rows:
        table.add_row(*(escape(str(cell)) for cell in row))
    Console(soft_wrap=False).print(table)


def say(line: str) -> None:
    """Tell on stderr what is going on."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(line, markup=False)
