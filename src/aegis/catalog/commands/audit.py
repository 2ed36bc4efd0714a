"""``aegis audit``: is the record as it was written?"""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from aegis.catalog.commands import catalog_options
from aegis.commands import options, terminal
from aegis.masking.plural import count

app = typer.Typer(help="The record of everything that was done in a catalog.")


@app.callback()
def _root() -> None:
    pass


@app.command("verify")
def verify(
    database: catalog_options.Database = catalog_options.DEFAULT_DATABASE,
    storage: catalog_options.Storage = catalog_options.DEFAULT_STORAGE,
    head: Annotated[
        str | None, typer.Option("--head", help="A head that was noted earlier; it must still be in the chain.")
    ] = None,
    json: options.Json = False,
) -> int:
    """Walk the chain of hashes and find any row that was changed, removed, added or moved.

    Exit status 1 if the chain is broken. Note the head elsewhere: whoever can rewrite the whole database can rewrite
    the whole chain, but not what you noted.
    """
    with catalog_options.open_catalog(database, storage) as catalog:
        from aegis.catalog.service.audit_log import verify as walk
        from aegis.catalog.service.permissions import SYSTEM

        with catalog.read(SYSTEM) as work:
            found = walk(work, expected_head=head)
    if json:
        terminal.print_json(
            {
                "rows": found.rows,
                "intact": found.intact,
                "first_broken": found.first_broken,
                "reason": found.reason,
                "head": found.head,
            }
        )
    elif found.intact:
        terminal.out().print(Text.assemble(("intact: ", "bold green"), f"{count(found.rows, 'row')}"), soft_wrap=True)
        terminal.out().print(f"head: {found.head}", soft_wrap=True)
    else:
        said = f"at row {found.first_broken}: {found.reason}"
        terminal.out().print(Text.assemble(("broken ", "bold red"), said), soft_wrap=True)
    return 0 if found.intact else 1
