"""Behind a reverse proxy: who asks, and whether the way is encrypted, is what the proxy says."""

from __future__ import annotations

import ipaddress

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send


class BehindProxy:
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
            address = _address(headers.getlist("x-forwarded-for"))
            if address is not None:
                scope["client"] = (address, 0)
        await self._app(scope, receive, send)


def _address(listed: list[str]) -> str | None:
    """The last address of a list of lists, if it is one.

    >>> _address(["10.9.8.7, 192.0.2.1"]), _address(["made up"]), _address([])
    ('192.0.2.1', None, None)
    """
    last = listed[-1].split(",")[-1].strip() if listed else ""
    try:
        return str(ipaddress.ip_address(last))
    except ValueError:
        return None
