"""``aegis backup`` and ``aegis restore``: everything in one file, and back."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aegis.catalog.commands import catalog_options, serve
from aegis.commands import options, terminal
from aegis.masking.plural import count

if TYPE_CHECKING:
    from aegis.catalog.database.backup import Manifest


def backup(
    out: Annotated[Path, typer.Argument(help="The archive to write (.tar).")],
    database: catalog_options.Database = catalog_options.DEFAULT_DATABASE,
    storage: catalog_options.Storage = catalog_options.DEFAULT_STORAGE,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Write the whole catalog, database and stored files, into one archive. The catalog may go on running."""
    with catalog_options.open_catalog(database, storage) as catalog:
        from aegis.catalog.database.backup import backup as write

        made = write(catalog.database, catalog.store, out, overwrite=overwrite)
    _show(made, out, json=json)
    if not json:
        terminal.next_step(f"aegis restore {out} --database NEW.sqlite --storage NEW-FOLDER")


def restore(
    archive: Annotated[Path, typer.Argument(help="An archive that aegis backup wrote.")],
    database: catalog_options.Database = catalog_options.DEFAULT_DATABASE,
    storage: catalog_options.Storage = catalog_options.DEFAULT_STORAGE,
    json: options.Json = False,
) -> None:
    """Fill an empty catalog from an archive, and check its record; one that holds anything is left alone."""
    serve.check_server()
    from aegis.catalog.database.backup import restore as fill

    made = fill(archive, database_url=database, storage=storage)
    _show(made, archive, json=json)
    if not json:
        terminal.next_step(f"aegis serve --database {database} --storage {storage}")


def _show(made: Manifest, archive: Path, *, json: bool) -> None:
    """How much there is, and the head of the record, worth noting elsewhere."""
    if json:
        terminal.print_json({"archive": str(archive), **dataclasses.asdict(made)})
        return
    said = f"{count(sum(made.rows.values()), 'row')} and {count(made.files, 'file')}, as of {made.created_at}"
    terminal.out().print(f"{archive}: {said}", soft_wrap=True)
    terminal.out().print(f"audit: {count(made.audit_rows, 'row')}, head {made.audit_head}", soft_wrap=True)
