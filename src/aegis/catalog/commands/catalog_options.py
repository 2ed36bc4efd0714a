"""Options of the commands that run a catalog or speak to one, each said once."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from aegis.catalog.settings import DATABASE_VARIABLE, SETTINGS_VARIABLE, STORAGE_VARIABLE, read_settings
from aegis.commands.command import SHARE, command
from aegis.commands.fields import PathLike
from aegis.errors import InputError, MissingExtraError, NotFoundError
from aegis.operation import Option, Options

if TYPE_CHECKING:
    from aegis.catalog.client.client import Client
    from aegis.catalog.service.catalog import Catalog

    StorageLike = str | Path
else:
    StorageLike = str  # for the terminal: a path would spoil the two strokes of an address

catalog_command = partial(command, group=SHARE, register=False)
"""Declares a command of the catalog: the entry point of this package names it."""
FOLDER = Path("aegis-catalog")
URL_VARIABLE, TOKEN_VARIABLE = "AEGIS_URL", "AEGIS_TOKEN"

SettingsFile = Annotated[
    PathLike | None,
    Option(
        "A YAML file of limits and times, such as `release_bytes: 10000000` (see the how-to).",
        variable=SETTINGS_VARIABLE,
    ),
]
Product = Annotated[str, Option("The product's name.")]


@dataclass(frozen=True, kw_only=True)
class OwnCatalog(Options):
    """Where the catalog of this machine lies."""

    database: Annotated[
        str,
        Option(
            "A SQLite file, or postgresql://… (better in AEGIS_DATABASE, where no list of processes shows it).",
            variable=DATABASE_VARIABLE,
            secret=True,
        ),
    ] = str(FOLDER / "catalog.sqlite")
    storage: Annotated[
        StorageLike,
        Option("Folder for summaries and releases, or s3://BUCKET/PREFIX (see the how-to).", variable=STORAGE_VARIABLE),
    ] = str(FOLDER / "storage")


@dataclass(frozen=True, kw_only=True)
class RemoteCatalog(Options):
    """The catalog that a provider or a consumer speaks to."""

    url: Annotated[str, Option("The catalog's address.", variable=URL_VARIABLE)] = "http://127.0.0.1:8080"
    token_file: Annotated[PathLike | None, Option("A file that holds the token; without one AEGIS_TOKEN is used.")] = (
        None
    )


def open_catalog(options: OwnCatalog, *, make: bool = False, settings: PathLike | None = None) -> Catalog:
    """The catalog; one that is not there is an error unless it may be made."""
    try:
        from aegis.catalog.service.catalog import Catalog  # an extra
    except ModuleNotFoundError:
        raise MissingExtraError(feature="The catalog", extra="service") from None
    if not make and not exists(options.database):
        raise NotFoundError("there is no catalog here; give its --database and --storage, or start one: aegis serve")
    path = None if settings is None else Path(settings)
    return Catalog.open(options.database, options.storage, settings=read_settings(path))


def check_server() -> None:
    """Say at once what is not installed."""
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ModuleNotFoundError:
        raise MissingExtraError(feature="The catalog", extra="service") from None


def exists(database: str) -> bool:
    """Whether a SQLite file is there; a database server is asked only when it is opened."""
    from aegis.catalog.database.connection import parse_url

    address = parse_url(database)
    return not address.drivername.startswith("sqlite") or Path(str(address.database)).is_file()


def client(options: RemoteCatalog) -> Client:
    """The catalog at an address, with the token of a file or of the environment, never of the command line."""
    from aegis.catalog.client.client import Client

    return Client(options.url, read_token(None if options.token_file is None else Path(options.token_file)))


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
