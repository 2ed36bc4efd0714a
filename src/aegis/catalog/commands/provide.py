"""``aegis provide``: the provider's side on the machine of the catalog, for one organisation that runs both."""

from __future__ import annotations

import logging
import signal
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

import typer

from aegis.catalog.commands import catalog_options
from aegis.commands import options, terminal
from aegis.errors import InputError

if TYPE_CHECKING:
    from aegis.catalog.worker.provider import Provided

Data = Annotated[
    Path | None,
    typer.Option("--data", help="Also count and release the tables of this folder, for the products of --owner."),
]
Owner = Annotated[str | None, typer.Option("--owner", help="Whose products: the name that this person signs in with.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """A folder of tables and the person whose products they are."""

    folder: Path
    owner: str

    @classmethod
    def given(cls, folder: Path | None, owner: str | None) -> Self:
        if folder is None or owner is None:
            raise InputError("--data and --owner go together: the folder of the tables, and whose products they are")
        if not folder.is_dir():
            raise InputError(f"there is no folder {folder} with tables; name the one where they are")
        return cls(folder=folder, owner=owner)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The command line of the process that provides."""
        return ("provide", str(self.folder.absolute()), "--owner", self.owner)


def provide(
    folder: Annotated[Path, typer.Argument(help="The tables: NAME.csv or NAME.parquet for the product NAME.")],
    owner: Annotated[str, typer.Option("--owner", help="Whose products: the name that this person signs in with.")],
    database: catalog_options.Database = catalog_options.DEFAULT_DATABASE,
    storage: catalog_options.Storage = catalog_options.DEFAULT_STORAGE,
    once: Annotated[bool, typer.Option("--once", help="Do what is due now, then stop.")] = False,
    settings: catalog_options.SettingsFile = None,
    json: options.Json = False,
) -> int:
    """Count and release the tables of a folder on the catalog's own machine; `aegis serve --data` starts it.

    New configurations are counted, approved requests get their release, both through the checks that a push passes.
    The rows stay in the folder. What was not made is said here, and with the reason on the page of the request.
    """
    from aegis.catalog.server.supervisor import hold_lifeline

    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(asctime)s %(name)s %(message)s")
    stop = threading.Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda *_: stop.set())
    hold_lifeline()
    with catalog_options.open_catalog(database, storage, settings=settings) as catalog:
        from aegis.catalog.worker.provider import Provider

        provider = Provider(catalog, folder, owner=owner)
        if not once:
            provider.run(stop, tell=_tell)
            return 0
        done = list(provider.due())
    if json:
        made = [{"what": d.what, "product": d.product, "request": d.request_id, "reason": d.reason} for d in done]
        terminal.print_json({"provided": made})
    else:
        for made_one in done:
            _tell(made_one)
    return 1 if any(made_one.reason is not None for made_one in done) else 0


def _tell(done: Provided) -> None:
    what = f"{done.product}: {done.what}" + ("" if done.request_id is None else f" for the request {done.request_id}")
    if done.reason is None:
        terminal.aside(what)
    else:
        terminal.warn(f"{what} was not made: {done.reason}")
