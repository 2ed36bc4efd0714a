"""Nobody may send more than is accepted: refused by what is announced, or at the byte that is too much."""

from __future__ import annotations

from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from aegis.catalog.server.api import problem
from aegis.errors import AegisError, InputError, TooLargeError

PLAIN_BYTES = 1 << 20


class BodyLimit:
    """An app that reads at most ``limit_of(scope)`` bytes of a body, and stops reading there."""

    def __init__(self, app: ASGIApp, *, limit_of: Callable[[Scope], int]) -> None:
        self._app = app
        self._limit_of = limit_of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = self._limit_of(scope)
        announced = Headers(scope=scope).get("content-length")
        refusal: AegisError | None = None
        if announced is not None:
            if not announced.isascii() or not announced.isdigit():
                refusal = InputError("the Content-Length is not a number; send the number of bytes")
            elif int(announced) > limit:
                refusal = too_large(limit)
        if refusal is not None:
            await problem.answer_error(scope, refusal)(scope, receive, send)
            return
        read = 0
        exceeded = started = False

        async def counted() -> Message:
            nonlocal read, exceeded
            message = await receive()
            if message["type"] == "http.request":
                read += len(message.get("body", b""))
                if read > limit:
                    exceeded = True
                    raise too_large(limit)
            return message

        async def watched(message: Message) -> None:
            nonlocal started
            if exceeded and not started:
                return  # whatever the app makes of it, the answer is given below
            started = True
            await send(message)

        try:
            await self._app(scope, counted, watched)
        except TooLargeError:
            if started or not exceeded:
                raise
        if exceeded and not started:
            await problem.answer_error(scope, too_large(limit))(scope, receive, send)


def too_large(limit: int) -> TooLargeError:
    """What is said to whoever sends too much."""
    return TooLargeError(f"more than {size(limit)} was sent and this is the most accepted here; send less at once")


def size(count: int) -> str:
    """A number of bytes for people.

    >>> size(1 << 20), size(5 << 30), size(2000)
    ('1 MiB', '5 GiB', '2000 bytes')
    """
    for power, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB")):
        if count >= 1 << power:
            return f"{count / (1 << power):.3g} {unit}"
    return f"{count} bytes"
