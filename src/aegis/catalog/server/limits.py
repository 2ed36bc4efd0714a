"""How much is taken in, how slowly, how often, and how much of it is worked on at once.

A body is refused at the byte that is too much, or after the timeout: the application sees a client that disconnected,
so that what was half received is thrown away as always; the client gets a 413 or a 408. Only the time that is spent
waiting for the sender counts.

Work that takes long waits in a lane of its own, so that everything else is answered at once. A lane has a few threads.
Of one person (or one address, before they signed in) one thing runs at a time and few wait; whoever comes on top gets
a 503 and a time to come back.
"""

from __future__ import annotations

import asyncio
import math
import re
import threading
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar
from weakref import WeakKeyDictionary

import anyio
import anyio.to_thread
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from aegis.catalog.server.errors import error_response
from aegis.catalog.settings import Settings
from aegis.errors import AegisError, InputError, RequestTimeoutError, TooBusyError, TooLargeError, TooManyAttemptsError

JSON_BYTES = 1 << 20
FORM_BYTES = 2_000_000
_MOST_PERSONS = 10_000
_PARTS_BYTES = 1 << 16  # what surrounds the files of a form

# Everything else has a body of JSON or of fields.
_UPLOADS: tuple[tuple[re.Pattern[str], Callable[[Settings], int]], ...] = (
    (re.compile("/api/v1/products/[^/]+/summaries"), lambda s: s.summary_bytes),
    (re.compile("/api/v1/products/[^/]+/releases"), lambda s: s.release_bytes + s.certificate_bytes + _PARTS_BYTES),
    (re.compile("/api/v1/products/[^/]+/configurations"), lambda s: max(JSON_BYTES, s.document_bytes)),
    (re.compile("/products/[^/]+/summaries"), lambda s: s.summary_bytes + FORM_BYTES),
    (re.compile("/products/[^/]+/configurations/upload"), lambda s: s.document_bytes + FORM_BYTES),
    (re.compile("/requests/[^/]+/release"), lambda s: s.release_bytes + s.certificate_bytes + FORM_BYTES),
)


def body_limit(settings: Settings, path: str) -> int:
    """How many bytes a body may have, by where it is sent.

    >>> body_limit(Settings(), "/api/v1/products"), body_limit(Settings(), "/api/v1/products/clinic/summaries")
    (1048576, 134217728)
    """
    for pattern, limit in _UPLOADS:
        if pattern.fullmatch(path):
            return limit(settings)
    return JSON_BYTES if path.startswith("/api/") else FORM_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How long is waited for the next bytes, and how many have to come in a second on average.

    >>> Pace(idle_seconds=30, bytes_per_second=1000).seconds_for(60_000)
    90.0
    """

    idle_seconds: float
    bytes_per_second: float

    def seconds_for(self, received_bytes: int) -> float:
        """How long may be waited in all for so many bytes."""
        return self.idle_seconds + received_bytes / self.bytes_per_second

    @classmethod
    def of(cls, settings: Settings) -> Pace:
        """The pace that an administrator set."""
        return cls(idle_seconds=settings.upload_idle_seconds, bytes_per_second=settings.upload_bytes_per_second)


class RequestQuota:
    """So many requests a minute for each person, or for each address before they signed in; a burst of as many."""

    def __init__(self, *, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._left: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def take(self, person: str) -> None:
        """Count a request; `TooManyAttemptsError` where there were too many."""
        with self._lock:  # requests are counted in many threads
            now = self._clock()
            if len(self._left) > _MOST_PERSONS:
                self._left = {who: entry for who, entry in self._left.items() if now - entry[1] < 60}
            left, since = self._left.get(person, (float(self._per_minute), now))
            left = min(left + (now - since) * self._per_minute / 60, self._per_minute)
            self._left[person] = (left - 1 if left >= 1 else left, now)
        if left < 1:
            wait = math.ceil((1 - left) * 60 / self._per_minute)
            raise TooManyAttemptsError("too many requests in a short time; slow down", retry_after_seconds=wait)


class BodyLimits:
    """An app whose bodies are limited in size and in time."""

    def __init__(
        self, app: ASGIApp, *, limit_of: Callable[[str], int], pace: Pace, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._app = app
        self._limit_of = limit_of
        self._pace = pace
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = self._limit_of(scope["path"])
        failure = _announced(scope, limit)
        if failure is not None:
            await error_response(scope, failure)(scope, receive, send)
            return
        waited_s, received_bytes = 0.0, 0
        complete = started = False

        async def limited() -> Message:
            nonlocal waited_s, received_bytes, complete, failure
            if complete:  # from here on the application only waits for a disconnect
                return await receive()
            if failure is not None:
                return {"type": "http.disconnect"}
            began = self._clock()
            left_s = self._pace.seconds_for(received_bytes) - waited_s
            try:
                message = await asyncio.wait_for(receive(), min(self._pace.idle_seconds, left_s))
            except TimeoutError:
                failure = _too_slow(self._pace)
                return {"type": "http.disconnect"}
            waited_s += self._clock() - began
            received_bytes += len(message.get("body", b""))
            if received_bytes > limit:
                failure = too_large(limit)
                return {"type": "http.disconnect"}
            complete = not message.get("more_body", False)
            if not complete and waited_s > self._pace.seconds_for(received_bytes):
                failure = _too_slow(self._pace)
                return {"type": "http.disconnect"}
            return message

        async def watched(message: Message) -> None:
            nonlocal started
            if failure is not None and not started:
                return  # whatever the app makes of it, the answer is given below
            started = True
            await send(message)

        try:
            await self._app(scope, limited, watched)
        except Exception:
            if failure is None or started:
                raise
        if failure is not None and not started:
            await error_response(scope, failure)(scope, receive, send)


def too_large(limit: int) -> TooLargeError:
    """The error for a body that is too large."""
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


def _announced(scope: Scope, limit: int) -> AegisError | None:
    announced = Headers(scope=scope).get("content-length")
    if announced is None:
        return None
    if not announced.isascii() or not announced.isdigit():
        return InputError("the Content-Length is not a number; send the number of bytes")
    return too_large(limit) if int(announced) > limit else None


def _too_slow(pace: Pace) -> RequestTimeoutError:
    return RequestTimeoutError(
        f"nothing arrived for {pace.idle_seconds:g} seconds, or less than {pace.bytes_per_second:g} bytes a second on "
        "average; nothing was kept, send it again over a faster line"
    )


T = TypeVar("T")


# Lanes


class Lane:
    """A few threads for one kind of work: ``at_once`` run, ``waiting`` more wait, ``share`` of them one person's."""

    def __init__(self, *, at_once: int, waiting: int, share: int) -> None:
        self._at_once, self._waiting, self._share = at_once, waiting, share
        self._loops: WeakKeyDictionary[asyncio.AbstractEventLoop, _Queue] = WeakKeyDictionary()

    async def run(self, person: str, take: Callable[[], T]) -> T:
        """Do it in a thread of this lane; `TooBusyError` where the lane is full or this person's share of it is."""
        loop = asyncio.get_running_loop()
        queue = self._loops.get(loop)
        if queue is None:
            queue = self._loops[loop] = _Queue(self._at_once)
        if len(queue.present) >= self._at_once + self._waiting or queue.of(person) >= self._share:
            raise TooBusyError("too much of this is being worked on; try again in a moment")
        async with queue.place(person):
            return await anyio.to_thread.run_sync(take, limiter=queue.limiter)


class _Queue:
    def __init__(self, at_once: int) -> None:
        self.limiter = anyio.CapacityLimiter(at_once)
        self.present: list[str] = []
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    def of(self, person: str) -> int:
        return self.present.count(person)

    @asynccontextmanager
    async def place(self, person: str) -> AsyncIterator[None]:
        self.present.append(person)
        try:
            async with self._turns[person]:  # one after the other, so that others come in between
                yield
        finally:
            self.present.remove(person)
            if person not in self.present:
                self._turns.pop(person, None)


costly_lane = Lane(at_once=2, waiting=30, share=4)
"""Previews, rankings that are drawn, documents that are parsed."""
password_lane = Lane(at_once=2, waiting=60, share=30)
"""Argon2 is slow on purpose and takes tens of megabytes each time."""
identity_lane = Lane(at_once=4, waiting=60, share=20)
"""Whoever comes back from the identity provider waits for its answers, and nobody else does."""
health_lane = Lane(at_once=1, waiting=100, share=101)
"""Whoever watches the catalog is answered whatever else goes on."""
