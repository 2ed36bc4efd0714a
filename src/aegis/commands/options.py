"""Options that several commands share, each said once."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from aegis.data.schema import Roles

_DATA = "Reading the data"
_ROLES = "Roles of columns"

Data = Annotated[str, typer.Argument(help="A CSV, Parquet, Arrow or DuckDB file, or a database URL (…#table).")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]
Seed = Annotated[int, typer.Option("--seed", help="Equal seeds give equal results.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an output that exists.")]
Report = Annotated[Path | None, typer.Option("--report", help="Write a self-contained HTML report here.")]

Label = Annotated[str | None, typer.Option("--label", help="The column to be predicted.", rich_help_panel=_ROLES)]
LabelBins = Annotated[
    int | None,
    typer.Option("--label-bins", help="Cut a continuous label into this many classes.", rich_help_panel=_ROLES),
]
Identifying = Annotated[
    str, typer.Option("--identifying", help="Columns that name a person, comma separated.", rich_help_panel=_ROLES)
]
Quasi = Annotated[
    str, typer.Option("--quasi", help="Quasi-identifying columns, comma separated.", rich_help_panel=_ROLES)
]
Sensitive = Annotated[
    str, typer.Option("--sensitive", help="Sensitive columns, comma separated.", rich_help_panel=_ROLES)
]
Insensitive = Annotated[
    str, typer.Option("--insensitive", help="Insensitive columns, comma separated.", rich_help_panel=_ROLES)
]

Delimiter = Annotated[
    str | None, typer.Option("--delimiter", help="Field delimiter of a text file.", rich_help_panel=_DATA)
]
Encoding = Annotated[str, typer.Option("--encoding", help="Encoding of a text file.", rich_help_panel=_DATA)]
Missing = Annotated[
    list[str] | None,
    typer.Option("--missing", help="A text that means a missing value; may be repeated.", rich_help_panel=_DATA),
]
Table = Annotated[str | None, typer.Option("--table", help="The table of a database.", rich_help_panel=_DATA)]
Engine = Annotated[
    str | None,
    typer.Option(
        "--engine",
        help="URL of an engine; the data is then a table inside it, or a file that it reads.",
        rich_help_panel=_DATA,
    ),
]

Policy = Annotated[Path | None, typer.Option("--policy", help="Keep only configurations that satisfy this policy.")]
Configs = Annotated[
    Path | None, typer.Option("--configs", help="A configuration file, or a folder of them (YAML or JSON).")
]
Generate = Annotated[int, typer.Option("--generate", min=0, help="Make this many configurations.")]
Strength = Annotated[
    str, typer.Option("--strength", help="How strong generated configurations are: light, medium, heavy, mixed, any.")
]
Masks = Annotated[str, typer.Option("--masks", help="Only these masks in generated configurations, comma separated.")]
Hierarchies = Annotated[
    Path | None, typer.Option("--hierarchies", help="Folder of hierarchy files (default: hierarchies beside the data).")
]


def names(text: str) -> tuple[str, ...]:
    """Column names from a comma separated list; a name with a comma stands in double quotes.

    >>> names('age, zip, "last, first"')
    ('age', 'zip', 'last, first')
    """
    return tuple(part.strip() for row in csv.reader([text], skipinitialspace=True) for part in row if part.strip())


def listed(columns: Sequence[str]) -> str:
    """The list that `names` reads.

    >>> listed(["age", "last, first"])
    'age, "last, first"'
    """
    return ", ".join('"{}"'.format(name.replace('"', '""')) if set(name) & set(',"') else name for name in columns)


def roles(*, identifying: str, quasi: str, sensitive: str, insensitive: str) -> Roles:
    """The roles that the flags give; the label is an option of its own."""
    from aegis.data.schema import Roles

    return Roles(
        identifying=names(identifying),
        quasi_identifying=names(quasi),
        sensitive=names(sensitive),
        insensitive=names(insensitive),
    )


def reading(
    *, delimiter: str | None, encoding: str, missing: list[str] | None, table: str | None, engine: str | None
) -> dict[str, Any]:
    """The options of `open_dataset` as keywords."""
    delimiter = {"tab": "\t", "\\t": "\t"}.get(delimiter or "", delimiter)
    return {
        "delimiter": delimiter,
        "encoding": encoding,
        "missing": tuple(missing or ()),
        "table": table,
        "engine": engine,
    }
