"""A body that does not arrive ends: after a time without a byte, or when it is slower than a stated pace.

Only the time that is spent waiting for the sender counts. To the application it looks as if the sender had gone, so
that everything half taken in is thrown away as always; the sender is told with a 408.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from aegis.catalog.server.api import problem

Clock = Callable[[], float]
Answer = Callable[[Scope, str], ASGIApp]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How long is waited for the next bytes, and how many have to come in a second on average.

    >>> Pace(idle_seconds=30, bytes_per_second=1000).seconds_for(60_000)
    90.0
    """

    idle_seconds: float
    bytes_per_second: float

    def seconds_for(self, taken_bytes: int) -> float:
        """How long may be waited in all for so many bytes."""
        return self.idle_seconds + taken_bytes / self.bytes_per_second


class Patience:
    """An app that waits for a body at a pace, and no longer."""

    def __init__(
        self, app: ASGIApp, *, pace: Pace, answer: Answer | None = None, clock: Clock = time.monotonic
    ) -> None:
        self._app = app
        self._pace = pace
        self._answer = _problem if answer is None else answer
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        waited, taken = 0.0, 0
        whole = gone = started = False

        async def patient() -> Message:
            nonlocal waited, taken, whole, gone
            if gone:
                return {"type": "http.disconnect"}
            if whole:  # from here on it is only asked whether somebody is still there
                return await receive()
            began = self._clock()
            left = self._pace.seconds_for(taken) - waited
            try:
                message = await asyncio.wait_for(receive(), min(self._pace.idle_seconds, left))
            except TimeoutError:
                gone = True
                return {"type": "http.disconnect"}
            waited += self._clock() - began
            taken += len(message.get("body", b""))
            whole = not message.get("more_body", False)
            if not whole and waited > self._pace.seconds_for(taken):
                gone = True
                return {"type": "http.disconnect"}
            return message

        async def watched(message: Message) -> None:
            nonlocal started
            if gone and not started:
                return  # whatever the app makes of it, the answer is given below
            started = True
            await send(message)

        try:
            await self._app(scope, patient, watched)
        except Exception:
            if not gone or started:
                raise
        if gone and not started:
            await self._answer(scope, self._said())(scope, receive, send)

    def _said(self) -> str:
        return (
            f"nothing arrived for {self._pace.idle_seconds:g} seconds, or less than {self._pace.bytes_per_second:g} "
            "bytes a second on average; nothing was kept, send it again over a faster line"
        )


def _problem(scope: Scope, said: str) -> ASGIApp:
    kind = f"{problem.PREFIX}too-slow"
    return problem.answer(scope, status=408, detail=said, kind=kind, headers={"Connection": "close"})
