"""Tables that were made of another one's rows and have not left: masked, clustered, recoded or sanitized.

Whoever wrote one knows which table it was made of. The register keeps that, so that such a file is known when it is to
leave, and is judged together with the earlier releases of its source, under whatever name it comes back.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from aegis.releases.table_register import (
    damaged,
    register_folder,
    register_locked,
    stored_files,
    stored_read,
    stored_write,
)
from aegis.releases.table_sketch import Sketch

_ENDING = ".derived.npz"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DerivedTable:
    """A table that ``command`` made of the rows of ``source``.

    ``rows_of`` is the file or address of that source; None where it was no file. ``sketch`` is a sample of what was
    written, ``source_sketch`` one of the source.
    """

    source: str
    rows_of: str | None
    command: str
    columns: tuple[str, ...]
    sketch: Sketch
    source_sketch: Sketch


def derived_tables() -> tuple[DerivedTable, ...]:
    """Every table that is known to be made of another one, in a fixed order."""
    return tuple(_read(file) for file in stored_files(_ENDING))


def note_derived(table: DerivedTable) -> None:
    """Note a table; the same content made of the same source is noted once."""
    about = "\0".join((str(table.rows_of), table.source, table.command)).encode()
    content = hashlib.blake2b(about + table.sketch.digests.tobytes(), digest_size=16).hexdigest()
    with register_locked():
        stored_write(
            register_folder() / f"{content}{_ENDING}",
            {
                "source": table.source,
                "rows_of": table.rows_of,
                "command": table.command,
                "columns": list(table.columns),
            },
            {"": table.sketch, "source_": table.source_sketch},
        )


def _read(file: Path) -> DerivedTable:
    about, sketches = stored_read(file, ("", "source_"))
    try:
        return DerivedTable(
            source=str(about["source"]),
            rows_of=None if about["rows_of"] is None else str(about["rows_of"]),
            command=str(about["command"]),
            columns=tuple(map(str, about["columns"])),
            sketch=sketches[""],
            source_sketch=sketches["source_"],
        )
    except (KeyError, TypeError):
        raise damaged(file) from None
