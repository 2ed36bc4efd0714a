"""``aegis serve`` and ``aegis demo-catalog``: the catalog, for everybody who is let in."""

from __future__ import annotations

import ipaddress
import os
import socket
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from aegis.catalog.commands.catalog_options import OwnCatalog, SettingsFile, catalog_command, check_server, open_catalog
from aegis.catalog.settings import (
    CERTIFICATE_VARIABLE,
    DATABASE_VARIABLE,
    JSON,
    KEY_VARIABLE,
    LOG_VARIABLE,
    SETTINGS_VARIABLE,
    STORAGE_VARIABLE,
    TEXT,
)
from aegis.commands import terminal
from aegis.commands.fields import PathLike, Working
from aegis.errors import ConflictError, InputError, OptionError
from aegis.operation import Option, Options, operation
from aegis.result import UNWRITTEN, Result


@dataclass(frozen=True, kw_only=True)
class Listening(Options):
    """Where a catalog listens, and with how many processes."""

    host: Annotated[str, Option("The address to listen on.")] = "127.0.0.1"
    port: Annotated[int, Option("The port to listen on; 0 takes a free one.", minimum=0, maximum=65535)] = 8080
    processes: Annotated[int, Option("How many server processes.", minimum=1, maximum=64)] = 1


@dataclass(frozen=True, kw_only=True)
class Serve(OwnCatalog, Listening):
    """Run the data-sharing catalog; the first run makes its database and prints a one-time administrator link."""

    worker: Annotated[bool, Option("Also run the worker that does jobs.")] = True
    behind_proxy: Annotated[
        bool, Option("A reverse proxy in front encrypts, and sets X-Forwarded-For and X-Forwarded-Proto.")
    ] = False
    tls_certificate: Annotated[
        PathLike | None, Option("Speak HTTPS with this certificate (PEM, with its chain below it).")
    ] = None
    tls_key: Annotated[PathLike | None, Option("The certificate's private key (PEM, without a password).")] = None
    data: Annotated[
        PathLike | None, Option("Also count and release the tables of this folder, for the products of --owner.")
    ] = None
    owner: Annotated[str | None, Option("Whose products: the name that this person signs in with.")] = None
    access_log: Annotated[bool, Option("Log each request: its route, status and time.")] = False
    log_format: Annotated[
        str, Option("Lines for people, or one JSON object a line.", choices=(TEXT, JSON), variable=LOG_VARIABLE)
    ] = TEXT
    settings: SettingsFile = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise OptionError("--tls-certificate and --tls-key go together; give both, or neither")
        if (self.data is None) != (self.owner is None):
            raise OptionError("--data and --owner go together: the folder of the tables, and whose products they are")
        if self.data is not None and not Path(self.data).is_dir():
            raise OptionError(f"there is no folder {self.data} with tables; name the one where they are")


@dataclass(frozen=True, kw_only=True)
class DemoCatalog(Listening, Working):
    """Start a catalog filled with the clinic example: a product, a ranking, a decided request and its release."""

    folder: Annotated[PathLike | None, Option("Keep it here (default: a folder that vanishes at the end).")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving(Result):
    """A catalog that listens; ``run`` serves until SIGTERM or Ctrl-C and gives the exit status."""

    url: str
    setup_link: str | None = field(repr=False)
    storage: str
    processes: int
    run: Callable[[], int] | None = field(default=None, repr=False, metadata=UNWRITTEN)

    @property
    def headline(self) -> str:
        """Where people go."""
        return f"catalog: {self.url}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingDemo(Result):
    """A filled catalog that listens, and who can sign in; ``run`` serves until SIGTERM or Ctrl-C."""

    url: str
    product: str
    people: dict[str, str] = field(repr=False)
    run: Callable[[], int] | None = field(default=None, repr=False, metadata=UNWRITTEN)

    @property
    def headline(self) -> str:
        """Where people go."""
        return f"catalog: {self.url}"

    def table_rows(self) -> list[dict[str, Any]]:
        """Who can sign in."""
        return [{"name": name, "password": password} for name, password in self.people.items()]


def _stay(serving: Serving | ServingDemo) -> int:
    return 0 if serving.run is None else serving.run()


@operation(Serve)
def serve(options: Serve) -> Serving:
    """Listen, and make the catalog where there is none; what is answered serves when its ``run`` is called."""
    environment = _tls_environment(options)
    check_host(options.host, encrypted=options.behind_proxy or options.tls_key is not None)
    check_server()
    listening = bound(options.host, options.port)
    url = address(listening, options.host, tls=options.tls_key is not None)
    try:
        with open_catalog(options, make=True, settings=options.settings) as catalog:
            from aegis.catalog.service.people import setup_link  # an extra

            link = setup_link(catalog)
    except BaseException:
        listening.close()
        raise
    return Serving(
        url=url,
        setup_link=None if link is None else f"{url}/link/{link.secret}",
        storage=str(options.storage),
        processes=options.processes,
        run=lambda: _run(options, listening, environment),
    )


@catalog_command("serve", Serve, run="aegis.catalog.commands.serve:serve", then=_stay)
def serve_command(serving: Serving, options: Serve) -> None:
    """Where people go, and the first administrator's link."""
    terminal.out().print(serving.headline, soft_wrap=True)
    if serving.setup_link is not None:
        terminal.out().print(f"first administrator (the link works once): {serving.setup_link}", soft_wrap=True)
    terminal.aside("Ctrl-C stops it")


@operation(DemoCatalog)
def demo_catalog(options: DemoCatalog) -> ServingDemo:
    """Listen, and fill a catalog with the clinic; what is answered serves when its ``run`` is called."""
    check_host(options.host, encrypted=False)
    check_server()
    vanishing = tempfile.TemporaryDirectory(prefix="aegis-demo-") if options.folder is None else None
    folder = Path(vanishing.name if vanishing is not None else str(options.folder))
    served = Serve(
        database=str(folder / "catalog.sqlite"),
        storage=str(folder / "storage"),
        host=options.host,
        port=options.port,
        processes=options.processes,
    )
    listening = bound(options.host, options.port)
    try:
        people, product = _fill(served, options)
    except BaseException:
        listening.close()
        raise

    def run() -> int:
        try:
            return _run(served, listening, _tls_environment(served))
        finally:
            if vanishing is not None:
                vanishing.cleanup()

    return ServingDemo(url=address(listening, options.host), product=product, people=people, run=run)


@catalog_command(
    "demo-catalog",
    DemoCatalog,
    run="aegis.catalog.commands.serve:demo_catalog",
    working="filling the catalog",
    then=_stay,
)
def demo_command(serving: ServingDemo, options: DemoCatalog) -> None:
    """Who can sign in, and where."""
    rows = [[row["name"], row["password"]] for row in serving.table_rows()]
    terminal.out().print(terminal.table("who can sign in", ["name", "password"], rows))
    terminal.out().print(serving.headline, soft_wrap=True)
    terminal.aside("Ctrl-C stops it")


def _fill(served: Serve, options: DemoCatalog) -> tuple[dict[str, str], str]:
    """A catalog with an administrator and the clinic flow; gives who can sign in, and the product's name."""
    import secrets  # the list of commands starts without it

    progress = options.progress or (lambda *_: None)
    progress(0, 2, "an administrator")
    with open_catalog(served, make=True) as catalog:
        from aegis.catalog.service import people, sessions  # an extra
        from aegis.catalog.worker.clinic_example import load_clinic

        link = people.setup_link(catalog)
        if link is None:
            raise ConflictError("there is a catalog in this folder already; run it with aegis serve, or give another")
        password = secrets.token_urlsafe(12)
        people.accept_link(
            catalog, secret=link.secret, password=password, name="admin", display_name="The administrator"
        )
        admin = sessions.actor_of_session(
            catalog, secret=sessions.sign_in(catalog, name="admin", password=password, address="127.0.0.1").secret
        ).actor
        progress(1, 2, "the clinic example")
        flow = load_clinic(catalog, admin)
    return {"admin": password, **flow.people}, flow.product


def _run(options: Serve, listening: socket.socket, environment: dict[str, str]) -> int:
    """Keep the servers and the worker running until Ctrl-C or SIGTERM."""
    from aegis.catalog.server.supervisor import Part, Supervisor

    parts = [Part(name="server", arguments=("-m", "aegis.catalog.server.process"))] * options.processes
    if options.worker:
        parts.append(Part(name="worker", arguments=("-m", "aegis", "worker")))
    if options.data is not None and options.owner is not None:
        folder = str(Path(options.data).absolute())
        parts.append(Part(name="provider", arguments=("-m", "aegis", "provide", folder, "--owner", options.owner)))
    with listening, tempfile.TemporaryDirectory(prefix="aegis-metrics-") as counted:
        part_environment = {
            DATABASE_VARIABLE: options.database,  # not an argument: it may hold a password
            STORAGE_VARIABLE: str(options.storage),
            SETTINGS_VARIABLE: "" if options.settings is None else str(options.settings),
            "AEGIS_SOCKET": str(listening.fileno()),
            "AEGIS_BEHIND_PROXY": "1" if options.behind_proxy else "",
            "AEGIS_ACCESS_LOG": "1" if options.access_log else "",
            "PROMETHEUS_MULTIPROC_DIR": counted,  # the processes add up what they count
            LOG_VARIABLE: options.log_format,
            **environment,
        }
        return Supervisor(parts, environment=part_environment, inherited=[listening.fileno()], say=terminal.aside).run()


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


def _tls_environment(options: Serve) -> dict[str, str]:
    """The certificate and its key for the processes that serve, looked at before anything listens."""
    if options.tls_certificate is None or options.tls_key is None:
        return dict.fromkeys((CERTIFICATE_VARIABLE, KEY_VARIABLE), "")
    import ssl  # the list of commands starts without it

    certificate, key = Path(options.tls_certificate), Path(options.tls_key)
    for path in (certificate, key):
        if not path.is_file():
            raise InputError(f"there is no file {path}; give the certificate and its key as PEM files")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password=_no_password)
    except (ssl.SSLError, OSError) as error:
        reason = getattr(error, "reason", None) or type(error).__name__
        raise InputError(
            f"{certificate} and {key} cannot be used ({str(reason).replace('_', ' ').lower()}); give a certificate and "
            "the private key that it was made for, both as PEM"
        ) from None
    return {CERTIFICATE_VARIABLE: str(certificate.absolute()), KEY_VARIABLE: str(key.absolute())}


def _no_password() -> bytes:
    raise InputError("the private key has a password, and nobody could type it when a server starts again; remove it")


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
