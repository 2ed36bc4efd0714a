"""How commands talk: data to stdout, everything else to stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO
from urllib.parse import urlsplit

from aegis.commands.fields import READING, ROLE_OPTIONS, Reading
from aegis.errors import AegisError
from aegis.operation import Options, fields_of, listed
from aegis.operation import word as word
from aegis.plural import count

if TYPE_CHECKING:  # a call from Python draws nothing, so rich is loaded by whoever draws
    from rich.console import Console, Group
    from rich.text import Text

    from aegis.privacy.verdict import StatedVerdict


Column = str | tuple[str, str]
"""A column of a table: its name, or name and alignment."""


def out() -> Console:
    return _console(sys.stdout)


def talk() -> Console:
    return _console(sys.stderr)


def _console(file: TextIO) -> Console:
    from rich.console import Console

    # Paths and column names may hold brackets, which are no markup. A pipe has no width of its own: leave room.
    return Console(file=file, highlight=False, markup=False, emoji=False, width=None if file.isatty() else 160)


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


def table(title: str, columns: Sequence[Column], rows: Sequence[Sequence[str | Text]]) -> Group:
    """A plain table of texts, taken literally; a column given as (name, "right") is aligned to the right."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        name, justify = column if isinstance(column, tuple) else (column, "left")
        drawn.add_column(name, justify="right" if justify == "right" else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in row))
    return Group(Text(title, style="bold"), drawn)  # a title of the table itself would wrap at the table's width


def numbers(*names: str) -> list[Column]:
    """Columns of a table that are aligned to the right."""
    return [(name, "right") for name in names]


def show_table(title: str, columns: Sequence[Column], rows: Sequence[Sequence[str | Text]]) -> None:
    """Print a `table`."""
    out().print(table(title, columns, rows))


def show_verdicts(
    verdicts: Sequence[StatedVerdict], *, title: str, classes: int, smallest: int, unit: str | None, suppressed: int
) -> None:
    """One line per model: what was asked, what was found, and whether that is enough."""
    from rich.text import Text

    rows: list[list[str | Text]] = []
    for verdict in verdicts:
        row = verdict.as_row()
        rows.append(
            [
                verdict.name,
                verdict.attribute or "",
                ", ".join(f"{name} {value}" for name, value in verdict.parameters.items()),
                row["asked"],
                row["found"],
                Text("yes", style="green") if verdict.satisfied else Text("NO", style="bold red"),
            ]
        )
    columns = ["model", "attribute", "with", *numbers("asked", "found"), "satisfied"]
    if not any(row[2] for row in rows):
        columns, rows = columns[:2] + columns[3:], [row[:2] + row[3:] for row in rows]
    size = f"{smallest:,}" if unit is None else f"{count(smallest, 'person', 'people')} by {unit}"
    starred = f", {suppressed:,} suppressed" if suppressed else ""
    sizes = f"{count(classes, 'class', 'classes')}, the smallest of {size}{starred}"
    out().print(Text(f"{title} in {sizes}", style="bold"), soft_wrap=True)
    show_table("", columns, rows)


def data_words(data: object, options: Reading) -> str:
    """The data with where it lies and how it is read, as they are typed, for commands that are shown.

    >>> from aegis.commands.fields import Reading
    >>> data_words("visits", Reading(engine="duckdb://shop.duckdb"))
    'visits --engine duckdb://shop.duckdb'
    >>> data_words("visits", Reading(engine="postgres://me:secret@host/shop"))
    'visits --engine URL'
    >>> data_words("visits.csv", Reading(missing=("?", "NA"), day_first=("born", "seen"), encoding="latin-1"))
    "visits.csv --encoding latin-1 --missing '?' --missing NA --day-first 'born, seen'"
    """
    return " ".join([word(data), *_typed(options, READING)])


def role_words(options: Options, *, of: type[Options]) -> str:
    """The roles and whose rows they are, as they are typed, for a command of these options that is shown.

    >>> from aegis.commands.fields import WithIdentifying, WithRoles
    >>> given = WithRoles(quasi=("age", "zip code"), roles="mine.yaml")
    >>> role_words(given, of=WithRoles), role_words(given, of=WithIdentifying)
    (" --quasi 'age, zip code' --roles mine.yaml", ' --roles mine.yaml')
    """
    taken = {field.name for field in fields_of(of)}
    return "".join(f" {option}" for option in _typed(options, taken & {*ROLE_OPTIONS, "person"}))


def _typed(options: Options, names: Collection[str]) -> list[str]:
    """Those of some options that were given, as they are typed."""
    words = []
    for field in fields_of(type(options)):
        if field.name not in names or field.name not in options.given():
            continue
        value = getattr(options, field.name)
        flag = f"--{field.name.replace('_', '-')}"
        if isinstance(value, str | Path):
            hidden = field.name == "engine" and (urlsplit(str(value)).password or "password" in str(value))
            words.append(f"{flag} {'URL' if hidden else word(value)}")
        elif isinstance(value, Sequence):
            shown = value if field.option.repeat else [listed(value)]
            words += [f"{flag} {word(part)}" for part in shown]
    return words


def label_words(label: str | None, bins: int | None) -> str:
    """The label's options as they are typed, for commands that are shown.

    >>> label_words("income class", 4)
    " --label 'income class' --label-bins 4"
    """
    return (f" --label {word(label)}" if label else "") + (f" --label-bins {bins}" if bins else "")


def _say(*parts: str | tuple[str, str]) -> None:
    """A line of texts, each plain or with its style."""
    from rich.text import Text

    talk().print(Text.assemble(*parts), soft_wrap=True)


def next_step(command: str) -> None:
    """The last line: what one would do next."""
    _say(("next: ", "dim"), command)


def fail(error: AegisError) -> int:
    """Say an error in one line and give its exit status."""
    _say(("error: ", "bold red"), str(error))
    return error.exit_status


def aside(text: str) -> None:
    """Something worth knowing, said quietly."""
    _say((text, "dim"))


def warn(text: str) -> None:
    """Something that must not be overlooked."""
    _say(("warning: ", "bold yellow"), text)


@contextmanager
def progress(title: str) -> Iterator[Any]:
    """A progress bar on stderr, shown only to people; gives a callback (done, total, what)."""
    if not sys.stderr.isatty():
        yield lambda done, total, what: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TextColumn("{task.fields[what]}", style="dim", markup=False),
        TimeElapsedColumn(),
        console=talk(),
        transient=True,
    )
    with bar:
        task = bar.add_task(title, total=None, what="")

        def update(done: int, total: int | None, what: str) -> None:
            bar.tasks[0].total = total  # an update with None would keep the total of what was done before
            bar.update(task, completed=done, what=what)

        yield update
