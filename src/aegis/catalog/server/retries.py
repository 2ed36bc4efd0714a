"""Tried again where the database broke off: it may just have been started again.

A read is always safe to repeat. A write is where nothing of it happened for certain, or where its key finds what did.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from aegis.errors import BrokenOffError

T = TypeVar("T")
ATTEMPTS = 3
PAUSE_S = 0.3


def again_if_undone(
    act: Callable[[], T], *, is_keyed: bool = False, attempts: int = ATTEMPTS, pause_s: float = PAUSE_S
) -> T:
    """Do it, and again where the database broke off and nothing was written.

    With ``is_keyed`` the act finds by itself whether it was done before, and is repeated in any case.
    """
    for attempt in range(1, attempts + 1):
        try:
            return act()
        except BrokenOffError as error:
            if attempt == attempts or not (error.undone or is_keyed):
                raise
        time.sleep(pause_s * attempt)
    raise AssertionError("the last attempt returns or raises")


class RetriedReads:
    """An app whose reads are tried again where the database broke off: it may just have been started again."""

    def __init__(self, app: ASGIApp, *, attempts: int = ATTEMPTS, pause_s: float = PAUSE_S) -> None:
        self._app = app
        self._attempts = attempts
        self._pause_s = pause_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD"):
            await self._app(scope, receive, send)
            return
        for attempt in range(1, self._attempts + 1):
            broke_off = False

            async def sending(message: Message, last: bool = attempt == self._attempts) -> None:
                nonlocal broke_off
                if message["type"] == "http.response.start" and message["status"] == 502 and not last:
                    broke_off = True
                if not broke_off:
                    await send(message)

            await self._app(scope, receive, sending)
            if not broke_off:
                return
            await asyncio.sleep(self._pause_s * attempt)
