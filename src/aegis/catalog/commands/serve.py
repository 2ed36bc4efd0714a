"""``aegis serve``: the catalog, for everybody who is let in."""

from __future__ import annotations

import ipaddress
import os
import socket
from pathlib import Path
from typing import Annotated

import typer

from aegis.catalog.commands import catalog_options
from aegis.catalog.commands.provide import Data, Owner, Tables
from aegis.catalog.commands.tls import Certificate, Key, Tls
from aegis.catalog.settings import (
    CERTIFICATE_VARIABLE,
    DATABASE_VARIABLE,
    KEY_VARIABLE,
    SETTINGS_VARIABLE,
    STORAGE_VARIABLE,
)
from aegis.commands import options, terminal
from aegis.errors import InputError, MissingExtraError

Host = Annotated[str, typer.Option("--host", help="The address to listen on.")]
Port = Annotated[int, typer.Option("--port", min=0, max=65535, help="The port to listen on; 0 takes a free one.")]
Processes = Annotated[int, typer.Option("--processes", min=1, max=64, help="How many server processes.")]
BehindProxy = Annotated[
    bool,
    typer.Option(
        "--behind-proxy", help="A reverse proxy in front encrypts, and sets X-Forwarded-For and X-Forwarded-Proto."
    ),
]
AccessLog = Annotated[bool, typer.Option("--access-log", help="Log each request: its route, status and time.")]


def serve(
    database: catalog_options.Database = catalog_options.DEFAULT_DATABASE,
    storage: catalog_options.Storage = catalog_options.DEFAULT_STORAGE,
    host: Host = "127.0.0.1",
    port: Port = 8080,
    processes: Processes = 1,
    worker: Annotated[bool, typer.Option("--worker/--no-worker", help="Also run the worker that does jobs.")] = True,
    behind_proxy: BehindProxy = False,
    tls_certificate: Certificate = None,
    tls_key: Key = None,
    data: Data = None,
    owner: Owner = None,
    access_log: AccessLog = False,
    settings: catalog_options.SettingsFile = None,
    json: options.Json = False,
) -> int:
    """Run the data-sharing catalog; the first run makes its database and prints a one-time administrator link."""
    tls = Tls.given(tls_certificate, tls_key)
    tables = None if data is None and owner is None else Tables.given(data, owner)
    check_host(host, encrypted=behind_proxy or tls is not None)
    check_server()
    with bound(host, port) as listening:
        url = address(listening, host, tls=tls is not None)
        setup = first_link(database, storage, url, settings=settings)
        if json:
            terminal.print_json({"url": url, "setup_link": setup, "storage": str(storage), "processes": processes})
        else:
            terminal.out().print(f"catalog: {url}", soft_wrap=True)
            if setup is not None:
                terminal.out().print(f"first administrator (the link works once): {setup}", soft_wrap=True)
            terminal.aside("Ctrl-C stops it")
        return run(
            listening,
            database=database,
            storage=storage,
            processes=processes,
            worker=worker,
            behind_proxy=behind_proxy,
            tls=tls,
            tables=tables,
            access_log=access_log,
            settings=settings,
        )


def first_link(database: str, storage: Path, url: str, *, settings: Path | None = None) -> str | None:
    """Make the catalog where there is none; the link of the first administrator while there is nobody."""
    with catalog_options.open_catalog(database, storage, make=True, settings=settings) as catalog:
        from aegis.catalog.service.people import setup_link

        link = setup_link(catalog)
    return None if link is None else f"{url}/link/{link.secret}"


def run(
    listening: socket.socket,
    *,
    database: str,
    storage: Path,
    processes: int = 1,
    worker: bool = True,
    behind_proxy: bool = False,
    tls: Tls | None = None,
    tables: Tables | None = None,
    access_log: bool = False,
    settings: Path | None = None,
) -> int:
    """Keep the servers and the worker running until Ctrl-C or SIGTERM."""
    from aegis.catalog.server.supervisor import Part, Supervisor

    parts = [Part(name="server", arguments=("-m", "aegis.catalog.server.process"))] * processes
    if worker:
        parts.append(Part(name="worker", arguments=("-m", "aegis", "worker")))
    if tables is not None:
        parts.append(Part(name="provider", arguments=("-m", "aegis", *tables.arguments)))
    environment = {
        DATABASE_VARIABLE: database,  # not an argument: it may hold a password
        STORAGE_VARIABLE: str(storage),
        SETTINGS_VARIABLE: "" if settings is None else str(settings),
        "AEGIS_SOCKET": str(listening.fileno()),
        "AEGIS_BEHIND_PROXY": "1" if behind_proxy else "",
        "AEGIS_ACCESS_LOG": "1" if access_log else "",
        **(dict.fromkeys((CERTIFICATE_VARIABLE, KEY_VARIABLE), "") if tls is None else tls.environment),
    }
    keeper = Supervisor(parts, environment=environment, inherited=[listening.fileno()], say=terminal.aside)
    return keeper.run()


def check_host(host: str, *, encrypted: bool) -> None:
    """Passwords and tokens do not travel in the clear: only this machine may speak plain HTTP.

    >>> check_host("127.0.0.1", encrypted=False)
    >>> check_host("0.0.0.0", encrypted=True)
    >>> check_host("0.0.0.0", encrypted=False)
    Traceback (most recent call last):
        ...
    aegis.errors.InputError: 0.0.0.0 is reached by others, and passwords would travel in the clear; give
    --tls-certificate and --tls-key, put a reverse proxy with TLS in front and add --behind-proxy, or listen on
    127.0.0.1
    """
    try:
        local = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        local = False
    if not local and not encrypted:
        raise InputError(
            f"{host} is reached by others, and passwords would travel in the clear; give --tls-certificate and "
            "--tls-key, put a reverse proxy with TLS in front and add --behind-proxy, or listen on 127.0.0.1"
        )


def check_server() -> None:
    """Say at once what is not installed."""
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ModuleNotFoundError:
        raise MissingExtraError(feature="The catalog", extra="service") from None


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens; whoever connects before the servers are up waits for them."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else type(error).__name__
        raise InputError(f"port {port} of {host} cannot be used ({reason}); choose another --port") from None


def address(listening: socket.socket, host: str, *, tls: bool = False) -> str:
    """Where people go."""
    shown = f"[{host}]" if ":" in host else host
    return f"{'https' if tls else 'http'}://{shown}:{listening.getsockname()[1]}"
