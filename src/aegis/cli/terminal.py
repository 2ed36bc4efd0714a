"""How commands talk: data to stdout, everything else to stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.table import Table

from aegis.errors import AegisError


def out() -> Console:
    return Console(file=sys.stdout, highlight=False, soft_wrap=False)


def talk() -> Console:
    return Console(file=sys.stderr, highlight=False)


def print_json(content: Any) -> None:
    """One object, with numbers that JSON does not know as null."""
    sys.stdout.write(json.dumps(_plain(content), ensure_ascii=False, indent=1, allow_nan=False) + "\n")


def _plain(content: Any) -> Any:
    if isinstance(content, dict):
        return {str(key): _plain(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_plain(value) for value in content]
    if isinstance(content, float) and (content != content or content in (float("inf"), float("-inf"))):
        return None
    return content


def table(title: str, columns: Sequence[str | tuple[str, str]], rows: Sequence[Sequence[str]]) -> Table:
    """A plain table; a column given as (name, "right") is aligned to the right."""
    drawn = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold", title_style="bold")
    for column in columns:
        name, justify = column if isinstance(column, tuple) else (column, "left")
        drawn.add_column(name, justify="right" if justify == "right" else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*row)
    return drawn


def next_step(command: str) -> None:
    """The last line: what one would do next."""
    talk().print(f"[dim]next:[/dim] {command}", soft_wrap=True)


def fail(error: AegisError) -> int:
    """Say an error in one line and give its exit status."""
    talk().print(f"[bold red]error:[/bold red] {_escape(str(error))}", soft_wrap=True)
    return error.exit_status


def _escape(text: str) -> str:
    from rich.markup import escape

    return escape(text)


@contextmanager
def progress(title: str) -> Iterator[Any]:
    """A progress bar on stderr, shown only to people; gives a callback (done, total, what)."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TextColumn("[dim]{task.fields[what]}[/dim]"),
        TimeElapsedColumn(),
        console=talk(),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
    with bar:
        task = bar.add_task(title, total=None, what="")

        def update(done: int, total: int, what: str) -> None:
            bar.update(task, completed=done, total=total, what=what)

        yield update
