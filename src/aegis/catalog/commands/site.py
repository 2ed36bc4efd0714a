"""One app for the API and the pages, and the process that serves it."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import anyio.to_thread
import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from aegis.catalog.commands.catalog_options import DATABASE_VARIABLE, SETTINGS_VARIABLE, STORAGE_VARIABLE, read_settings
from aegis.catalog.commands.supervisor import hold_lifeline
from aegis.catalog.commands.tls import CERTIFICATE_VARIABLE, KEY_VARIABLE
from aegis.catalog.server.api.app import create_api, pace
from aegis.catalog.server.api.envelope import Envelope
from aegis.catalog.server.api.patience import Patience
from aegis.catalog.server.api.proxy import BehindProxy
from aegis.catalog.server.pages.app import create_pages
from aegis.catalog.service.catalog import Catalog
from aegis.errors import AegisError

THREADS = 12
SOCKET, PROXY, ACCESS_LOG = "AEGIS_SOCKET", "AEGIS_BEHIND_PROXY", "AEGIS_ACCESS_LOG"


class Site:
    """What begins with /api/ belongs to the API, everything else to the pages."""

    def __init__(self, *, api: ASGIApp, pages: ASGIApp) -> None:
        self._api = api
        self._pages = pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        below_api = str(scope.get("path", "")).startswith("/api/")
        await (self._api if below_api else self._pages)(scope, receive, send)


def create_site(catalog: Catalog, *, behind_proxy: bool = False) -> ASGIApp:
    """The whole catalog as one app."""
    pages = Envelope(Patience(create_pages(catalog), pace=pace(catalog), answer=_too_slow), headers={})
    site: ASGIApp = Site(api=create_api(catalog), pages=pages)
    return BehindProxy(site) if behind_proxy else site


def _too_slow(_scope: Scope, said: str) -> ASGIApp:
    """For somebody at a browser."""
    headers = {
        "Connection": "close",
        "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
        "X-Content-Type-Options": "nosniff",
    }
    return PlainTextResponse(f"The upload was too slow: {said}.", status_code=408, headers=headers)


def main() -> int:
    """Serve on the socket that was inherited, until told to stop."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(asctime)s %(name)s %(message)s")
    if os.environ.get(ACCESS_LOG):
        logging.getLogger("aegis.access").setLevel(logging.INFO)
    hold_lifeline()
    try:
        given = os.environ.get(SETTINGS_VARIABLE)
        settings = read_settings(Path(given) if given else None)
        catalog = Catalog.open(os.environ[DATABASE_VARIABLE], Path(os.environ[STORAGE_VARIABLE]), settings=settings)
    except AegisError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    with catalog:
        app = create_site(catalog, behind_proxy=bool(os.environ.get(PROXY)))
        config = uvicorn.Config(
            app,
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
        with asyncio.Runner(loop_factory=_event_loop()) as runner:
            runner.run(_serve(uvicorn.Server(config), listening))
    return 0


def _event_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The quicker event loop where there is one: it has none for Windows."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


async def _serve(server: uvicorn.Server, listening: socket.socket) -> None:
    # More threads would only wait for each other and for the database.
    anyio.to_thread.current_default_thread_limiter().total_tokens = THREADS
    await server.serve(sockets=[listening])


if __name__ == "__main__":
    sys.exit(main())
