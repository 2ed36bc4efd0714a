"""The whole catalog as one ASGI app: the API and the console behind one stack.

From the outside in: what a trusted proxy says, the id and log line and headers of every request, who sent it, how much
and how slowly its body may come, and then the routes: the API's below ``/api/``, the console's elsewhere.
"""

from __future__ import annotations

import ipaddress
import logging
import os
import time
import uuid
from collections.abc import Mapping

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from aegis.catalog.server.api.app import create_api
from aegis.catalog.server.errors import is_api, unexpected_response
from aegis.catalog.server.limits import BodyLimits, Pace, body_limit
from aegis.catalog.server.metrics import TOKEN_VARIABLE, Metrics, count_request
from aegis.catalog.server.pages.page import create_pages
from aegis.catalog.server.session import Authentication
from aegis.catalog.service.catalog import Catalog

access_log = logging.getLogger("aegis.access")

API_HEADERS: Mapping[str, str] = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
}
PAGE_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": "; ".join(
        (
            "default-src 'none'",
            "style-src 'self'",
            "script-src 'self'",
            "img-src 'self' data:",
            "connect-src 'self'",
            "form-action 'self'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
        )
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not no-referrer: browsers would then send forms with the origin "null".
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


def create_site(catalog: Catalog, *, behind_proxy: bool = False) -> ASGIApp:
    """The catalog's API and console. ``behind_proxy``: the nearest proxy says who asks and whether it is encrypted."""
    api, pages, settings = create_api(catalog), create_pages(catalog), catalog.settings

    async def routes(scope: Scope, receive: Receive, send: Send) -> None:
        await (api if is_api(scope) else pages)(scope, receive, send)

    site: ASGIApp = BodyLimits(routes, limit_of=lambda path: body_limit(settings, path), pace=Pace.of(settings))
    site = Authentication(site, catalog=catalog)
    site = Envelope(Metrics(site, catalog=catalog, token=os.environ.get(TOKEN_VARIABLE, "")))
    return TrustedProxy(site) if behind_proxy else site


class Envelope:
    """An app with an id, a line in the log and safe headers around each of its responses.

    The log names routes, not addresses: an address may hold the secret of an invitation, a query what somebody looked
    for.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        request_id = str(uuid.uuid4())
        scope.setdefault("state", {})["request_id"] = request_id
        status = 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers.update(API_HEADERS if is_api(scope) else PAGE_HEADERS)
                if scope.get("scheme") == "https":
                    headers["Strict-Transport-Security"] = "max-age=31536000"
                # A response shows what one person may see: no cache keeps it, unless it says otherwise itself.
                headers.setdefault("Cache-Control", "no-store")
                headers["X-Request-ID"] = request_id
                headers["Server-Timing"] = f"app;dur={1000 * (time.perf_counter() - began):.1f}"
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except Exception as error:
            if status == 0:  # else it was answered and logged where it happened
                response = await unexpected_response(Request(scope), error)
                await response(scope, receive, sending)
        finally:
            elapsed_s = time.perf_counter() - began
            route = route_of(scope)
            count_request(method=scope["method"], route=route, status=status, seconds=elapsed_s)
            logged = {"request_id": request_id, "method": scope["method"], "route": route, "status": status}
            access_log.info(
                "%s %s %s %d %.1f ms",
                *logged.values(),
                1000 * elapsed_s,
                extra={"fields": {**logged, "milliseconds": round(1000 * elapsed_s, 1)}},
            )


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


class TrustedProxy:
    """Take the address and the scheme from the headers that the nearest proxy sets.

    Of ``X-Forwarded-For`` only the last entry counts: the proxy wrote that one, everything before it came from
    whoever asks and may be made up.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            scheme = headers.get("x-forwarded-proto", "").split(",")[-1].strip()
            if scheme in {"http", "https"}:
                scope["scheme"] = scheme
            address = _last_address(headers.getlist("x-forwarded-for"))
            if address is not None:
                scope["client"] = (address, 0)
        await self._app(scope, receive, send)


def _last_address(listed: list[str]) -> str | None:
    """The last address of a list of lists, if it is one.

    >>> _last_address(["10.9.8.7, 192.0.2.1"]), _last_address(["made up"]), _last_address([])
    ('192.0.2.1', None, None)
    """
    last = listed[-1].split(",")[-1].strip() if listed else ""
    try:
        return str(ipaddress.ip_address(last))
    except ValueError:
        return None
