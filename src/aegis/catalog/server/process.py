"""The process that serves the catalog, on a socket that it inherits; ``aegis serve`` starts one or several.

It may stand on the network itself, so headers arrive in time and one address has a share of the connections: otherwise
connections whose headers never end would take every place until their sender lets go.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import resource
import socket
import sys
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, cast

import anyio.to_thread
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from aegis.catalog.server.app import create_site
from aegis.catalog.server.supervisor import configure_logs, hold_lifeline
from aegis.catalog.service.catalog import Catalog
from aegis.catalog.settings import (
    CERTIFICATE_VARIABLE,
    DATABASE_VARIABLE,
    KEY_VARIABLE,
    LOG_VARIABLE,
    SETTINGS_VARIABLE,
    STORAGE_VARIABLE,
    TEXT,
    read_settings,
)
from aegis.errors import AegisError

THREADS = 12
_HEADER_BYTES = 1 << 16
SOCKET, PROXY, ACCESS_LOG = "AEGIS_SOCKET", "AEGIS_BEHIND_PROXY", "AEGIS_ACCESS_LOG"


def main() -> int:
    """Serve on the socket that was inherited, until told to stop."""
    configure_logs(os.environ.get(LOG_VARIABLE, TEXT))
    if os.environ.get(ACCESS_LOG):
        logging.getLogger("aegis.access").setLevel(logging.INFO)
    hold_lifeline()
    try:
        path = os.environ.get(SETTINGS_VARIABLE)
        settings = read_settings(Path(path) if path else None)
        catalog = Catalog.open(os.environ[DATABASE_VARIABLE], os.environ[STORAGE_VARIABLE], settings=settings)
    except AegisError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    with catalog:
        behind_proxy = bool(os.environ.get(PROXY))
        app = create_site(catalog, behind_proxy=behind_proxy)
        raise_file_limit()
        config = uvicorn.Config(
            app,
            http=limited(
                header_seconds=settings.header_seconds,
                most_of_address=None if behind_proxy else settings.connections_per_address,
            ),
            log_config=None,
            log_level="warning",
            access_log=False,  # ours names routes instead of addresses
            server_header=False,
            proxy_headers=False,
            lifespan="off",
            timeout_keep_alive=30,
            ssl_certfile=os.environ.get(CERTIFICATE_VARIABLE) or None,
            ssl_keyfile=os.environ.get(KEY_VARIABLE) or None,
            timeout_graceful_shutdown=10,
        )
        # What was imported lives as long as the process: looking through it for garbage would only make people wait.
        gc.collect()
        gc.freeze()
        gc.set_threshold(20_000, 20, 50)
        listening = socket.socket(fileno=int(os.environ[SOCKET]))
        with asyncio.Runner(loop_factory=partial(event_loop, handshake_seconds=settings.header_seconds)) as runner:
            runner.run(_serve(uvicorn.Server(config), listening))
    return 0


def event_loop(*, handshake_seconds: float) -> asyncio.AbstractEventLoop:
    """The quicker event loop where there is one (it has none for Windows), which gives up unfinished TLS handshakes.

    The default timeout of a minute lets a client that never sends anything hold connections for nothing.
    """
    kind: Any = asyncio.SelectorEventLoop
    try:
        import uvloop

        kind = uvloop.Loop
    except ImportError:
        pass

    class Loop(kind):
        async def create_server(self, *arguments: Any, **options: Any) -> Any:
            if options.get("ssl") is not None:
                options.setdefault("ssl_handshake_timeout", handshake_seconds)
            return await super().create_server(*arguments, **options)

    return cast(asyncio.AbstractEventLoop, Loop())


async def _serve(server: uvicorn.Server, listening: socket.socket) -> None:
    # More threads would only wait for each other and for the database.
    anyio.to_thread.current_default_thread_limiter().total_tokens = THREADS
    await server.serve(sockets=[listening])


class LimitedConnection(HttpToolsProtocol):
    """A connection of uvicorn with a timeout for headers, and of one address at most so many; see `limited`."""

    header_seconds: ClassVar[float]
    most_of_address: ClassVar[int | None]
    open_connections: ClassVar[Counter[str]]
    _header_timer: asyncio.TimerHandle | None = None
    _header_bytes = 0
    _counted: str | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        address = self.client[0] if self.client else ""
        self.open_connections[address] += 1
        self._counted = address
        if self.most_of_address is not None and self.open_connections[address] > self.most_of_address:
            self._refuse("429 Too Many Requests", "this address has too many connections; close some")
            return
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._counted is not None:
            self.open_connections[self._counted] -= 1
            if not self.open_connections[self._counted]:
                del self.open_connections[self._counted]
            self._counted = None
        self._stop_timer()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        self._header_bytes = 0
        if self._header_timer is None:
            self._start_timer()
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        self._header_bytes += len(name) + len(value)
        if self._header_bytes > _HEADER_BYTES:
            self._refuse("431 Request Header Fields Too Large", "the headers are too long; send fewer")
            return
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._stop_timer()
        if not self.transport.is_closing():
            super().on_headers_complete()

    def _start_timer(self) -> None:
        self._header_timer = self.loop.call_later(self.header_seconds, self._too_slow)

    def _stop_timer(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def _too_slow(self) -> None:
        self._header_timer = None
        self._refuse("408 Request Timeout", "the headers did not arrive in time; send them at once")

    def _refuse(self, status: str, sentence: str) -> None:
        if self.transport.is_closing():
            return
        body = sentence.encode()
        head = f"HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {len(body)}\r\n"
        self.transport.write(f"{head}connection: close\r\n\r\n".encode() + body)
        self.transport.close()


def limited(*, header_seconds: float, most_of_address: int | None) -> type[LimitedConnection]:
    """The class of connections with these limits; ``most_of_address`` is None behind a proxy, from which all come."""
    return type(
        "LimitedConnection",
        (LimitedConnection,),
        {"header_seconds": header_seconds, "most_of_address": most_of_address, "open_connections": Counter()},
    )


def raise_file_limit() -> None:
    """Let this process hold as many connections as the system lets it: the usual 1,024 are taken quickly."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


if __name__ == "__main__":
    sys.exit(main())
