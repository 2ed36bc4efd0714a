"""Options of the commands that run a catalog or speak to one, each said once."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aegis.catalog.settings import DATABASE_VARIABLE, SETTINGS_VARIABLE, STORAGE_VARIABLE, read_settings
from aegis.errors import InputError, MissingExtraError, NotFoundError

if TYPE_CHECKING:
    from aegis.catalog.client.client import Client
    from aegis.catalog.service.catalog import Catalog

FOLDER = Path("aegis-catalog")
URL_VARIABLE, TOKEN_VARIABLE = "AEGIS_URL", "AEGIS_TOKEN"

Database = Annotated[
    str,
    typer.Option(
        "--database",
        envvar=DATABASE_VARIABLE,
        show_envvar=False,
        help="A SQLite file, or postgresql://… (better in AEGIS_DATABASE, where no list of processes shows it).",
    ),
]
Storage = Annotated[
    Path,
    typer.Option("--storage", envvar=STORAGE_VARIABLE, show_envvar=False, help="Folder for summaries and releases."),
]
Url = Annotated[
    str, typer.Option("--url", envvar=URL_VARIABLE, show_envvar=False, help="The catalog's address (or AEGIS_URL).")
]
TokenFile = Annotated[
    Path | None,
    typer.Option("--token-file", help="A file that holds the token; without one AEGIS_TOKEN is used."),
]
SettingsFile = Annotated[
    Path | None,
    typer.Option(
        "--settings",
        envvar=SETTINGS_VARIABLE,
        show_envvar=False,
        help="A YAML file of limits and times, such as `release_bytes: 10000000` (see the how-to).",
    ),
]
Product = Annotated[str, typer.Option("--product", help="The product's name.")]

DEFAULT_DATABASE = str(FOLDER / "catalog.sqlite")
DEFAULT_STORAGE = FOLDER / "storage"
DEFAULT_URL = "http://127.0.0.1:8080"


def open_catalog(database: str, storage: Path, *, make: bool = False, settings: Path | None = None) -> Catalog:
    """The catalog; one that is not there is an error unless it may be made."""
    try:
        from aegis.catalog.service.catalog import Catalog
    except ModuleNotFoundError:
        raise MissingExtraError(feature="The catalog", extra="service") from None
    if not make and not exists(database):
        raise NotFoundError("there is no catalog here; give its --database and --storage, or start one: aegis serve")
    return Catalog.open(database, storage, settings=read_settings(settings))


def exists(database: str) -> bool:
    """Whether a SQLite file is there; a database server is asked only when it is opened."""
    from aegis.catalog.database.connection import parse_url

    address = parse_url(database)
    return not address.drivername.startswith("sqlite") or Path(str(address.database)).is_file()


def client(url: str, token_file: Path | None) -> Client:
    """The catalog at an address, with the token of a file or of the environment, never of the command line."""
    from aegis.catalog.client.client import Client

    return Client(url, read_token(token_file))


def read_token(token_file: Path | None) -> str:
    """The token, from a file that only its owner reads, or from AEGIS_TOKEN."""
    if token_file is None:
        token = os.environ.get(TOKEN_VARIABLE, "").strip()
        if not token:
            raise InputError("there is no token; make one in the catalog and set AEGIS_TOKEN or give --token-file")
        return token
    try:
        mode = token_file.stat().st_mode
        text = token_file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{token_file} cannot be read ({type(error).__name__}); check the path") from None
    if mode & (stat.S_IRGRP | stat.S_IROTH):
        raise InputError(f"others can read {token_file}; run chmod 600 on it, and better make a new token")
    return text.strip()
