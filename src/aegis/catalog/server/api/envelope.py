"""What surrounds every request: an id, a clock, a line in the log, safe headers, and an end for what nobody expected.

The log names routes, not addresses: an address may hold the secret of an invitation, a query what somebody looked
for. An unexpected error is logged by its kind and the places it passed; its message may quote data and is not.
"""

from __future__ import annotations

import logging
import time
import traceback
import uuid
from collections.abc import Mapping

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from aegis.catalog.server.api import problem

log = logging.getLogger("aegis.access")
trouble = logging.getLogger("aegis.trouble")

API_HEADERS: Mapping[str, str] = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Envelope:
    """An app with an id, a log line and headers around each of its answers."""

    def __init__(self, app: ASGIApp, *, headers: Mapping[str, str] = API_HEADERS) -> None:
        self._app = app
        self._headers = headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        name = str(uuid.uuid4())
        scope.setdefault("state", {})["request_id"] = name
        status = 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for key, value in self._headers.items():
                    headers.setdefault(key, value)
                headers["X-Request-ID"] = name
                headers["Server-Timing"] = f"app;dur={1000 * (time.perf_counter() - began):.1f}"
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except Exception as error:
            trouble.error("%s %s %s", name, type(error).__name__, places(error))
            if status == 0:
                response = problem.answer(scope, status=500, detail=_UNEXPECTED)
                await response(scope, receive, sending)
        finally:
            elapsed_ms = 1000 * (time.perf_counter() - began)
            log.info("%s %s %s %d %.1f ms", name, scope["method"], route_of(scope), status, elapsed_ms)


_UNEXPECTED = "the server met an error that nobody expected; tell its operator the instance of this problem"


def route_of(scope: Scope) -> str:
    """The address with names in place of what was filled in.

    >>> route_of({"path": "/links/s3cret", "path_params": {"secret": "s3cret"}, "endpoint": print})
    '/links/{secret}'
    >>> route_of({"path": "/anything/else"})
    '(no route)'
    """
    if "endpoint" not in scope:
        return "(no route)"
    parts = str(scope["path"]).split("/")
    named = {str(value): f"{{{name}}}" for name, value in scope.get("path_params", {}).items()}
    return "/".join(named.get(part, part) for part in parts)


def places(error: BaseException) -> str:
    """Where an error passed, as file:line, without a word of what it says."""
    frames = traceback.extract_tb(error.__traceback__)[-8:]
    return " < ".join(f"{frame.name}:{frame.lineno}" for frame in reversed(frames))
