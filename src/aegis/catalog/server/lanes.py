"""Work that takes long waits in a lane of its own, so that everything else is answered at once.

A lane has a few threads. Of one person (or one address, before they signed in) one thing runs at a time and few wait;
whoever comes on top gets a 503 and a time to come back.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar
from weakref import WeakKeyDictionary

import anyio
import anyio.to_thread

from aegis.errors import TooBusyError

T = TypeVar("T")


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


costly = Lane(at_once=2, waiting=30, share=4)
"""Previews, rankings that are drawn, documents that are parsed."""
passwords = Lane(at_once=2, waiting=60, share=30)
"""Argon2 is slow on purpose and takes tens of megabytes each time."""
identity = Lane(at_once=4, waiting=60, share=20)
"""Whoever comes back from the identity provider waits for its answers, and nobody else does."""
health = Lane(at_once=1, waiting=100, share=101)
"""Whoever watches the catalog is answered whatever else goes on."""
