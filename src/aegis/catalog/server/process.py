"""The process that serves the catalog, on a socket that it inherits; ``aegis serve`` starts one or several."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import socket
import sys
from functools import partial
from pathlib import Path
from typing import Any, cast

import anyio.to_thread
import uvicorn

from aegis.catalog.logs import LOG_VARIABLE, TEXT, configure_logs
from aegis.catalog.server.app import create_site
from aegis.catalog.server.connections import limited, raise_file_limit
from aegis.catalog.server.supervisor import hold_lifeline
from aegis.catalog.service.catalog import Catalog
from aegis.catalog.settings import (
    CERTIFICATE_VARIABLE,
    DATABASE_VARIABLE,
    KEY_VARIABLE,
    SETTINGS_VARIABLE,
    STORAGE_VARIABLE,
    read_settings,
)
from aegis.errors import AegisError

THREADS = 12
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


if __name__ == "__main__":
    sys.exit(main())
