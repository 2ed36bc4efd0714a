"""Options that several commands share, each said once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aegis.operation import names

if TYPE_CHECKING:
    from aegis.data.schema import Roles

_DATA = "Reading the data"
_ROLES = "Roles of columns"

Data = Annotated[str, typer.Argument(help="A CSV, Parquet, Arrow or DuckDB file, or a database URL (…#table).")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an output that exists.")]

Label = Annotated[str | None, typer.Option("--label", help="The column to be predicted.", rich_help_panel=_ROLES)]
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

Hierarchies = Annotated[
    Path | None, typer.Option("--hierarchies", help="Folder of hierarchy files (default: hierarchies beside the data).")
]


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
