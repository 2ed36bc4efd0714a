"""``aegis demo-catalog``: a catalog that is already in use, to look around in."""

from __future__ import annotations

import secrets
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from aegis.catalog.commands import catalog_options, serve
from aegis.commands import options, terminal


def demo_catalog(
    folder: Annotated[
        Path | None, typer.Option("--folder", help="Keep it here (default: a folder that vanishes at the end).")
    ] = None,
    host: serve.Host = "127.0.0.1",
    port: serve.Port = 8080,
    processes: serve.Processes = 1,
    json: options.Json = False,
) -> int:
    """Start a catalog filled with the clinic example: a product, a ranking, a decided request and its release."""
    serve.check_host(host, encrypted=False)
    serve.check_server()
    with ExitStack() as until_end:
        if folder is None:
            folder = Path(until_end.enter_context(tempfile.TemporaryDirectory(prefix="aegis-demo-")))
        listening = until_end.enter_context(serve.bound(host, port))
        url = serve.address(listening, host)
        database, storage = str(folder / "catalog.sqlite"), folder / "storage"
        terminal.aside("filling the catalog with the clinic example …")
        people, product = fill(database, storage)
        if json:
            terminal.print_json({"url": url, "product": product, "people": people})
        else:
            rows = [[name, password] for name, password in people.items()]
            terminal.out().print(terminal.table("who can sign in", ["name", "password"], rows))
            terminal.out().print(f"catalog: {url}", soft_wrap=True)
            terminal.aside("Ctrl-C stops it")
        return serve.run(listening, database=database, storage=storage, processes=processes)


def fill(database: str, storage: Path) -> tuple[dict[str, str], str]:
    """A catalog with an administrator and the clinic flow; gives who can sign in, and the product's name."""
    with catalog_options.open_catalog(database, storage, make=True) as catalog:
        from aegis.catalog.service import people, sessions
        from aegis.catalog.worker.clinic_example import load_clinic
        from aegis.errors import ConflictError

        link = people.setup_link(catalog)
        if link is None:
            raise ConflictError("there is a catalog in this folder already; run it with aegis serve, or give another")
        password = secrets.token_urlsafe(12)
        people.accept_link(
            catalog, secret=link.secret, password=password, name="admin", display_name="The administrator"
        )
        admin = sessions.actor_of_session(
            catalog,
            secret=sessions.sign_in(catalog, name="admin", password=password, address="127.0.0.1").secret,
        ).actor
        flow = load_clinic(catalog, admin)
    return {"admin": password, **flow.people}, flow.product
