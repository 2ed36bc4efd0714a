"""Bodies that are never whole in memory: pulled from the network chunk by chunk, only as far as somebody reads.

A handler that runs in a thread pulls; so the permission is checked before the first byte is asked for, and a refused
file stays with whoever wanted to send it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO
from weakref import WeakKeyDictionary

import anyio
import anyio.from_thread
import anyio.to_thread
from fastapi import Request
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from aegis.catalog.server.api.body_limit import too_large
from aegis.errors import InputError

_HEADER_BYTES = 8192
_UPLOADS_AT_ONCE = 16
_limiters: WeakKeyDictionary[asyncio.AbstractEventLoop, anyio.CapacityLimiter] = WeakKeyDictionary()
_CHUNK_BYTES = 1 << 18
ARCHIVES = ("application/octet-stream", "application/x-tar", "application/gzip", "application/zip")


async def uploading(take: Callable[[], Response]) -> Response:
    """Take something in, in a thread of its own kind: whoever sends slowly keeps other uploads waiting, not pages."""
    limiter = _limiters.setdefault(asyncio.get_running_loop(), anyio.CapacityLimiter(_UPLOADS_AT_ONCE))
    return await anyio.to_thread.run_sync(take, limiter=limiter)


def body_of(request: Request) -> Iterator[bytes]:
    """The chunks of a body, for a handler in a thread."""
    stream = request.stream().__aiter__()

    async def following() -> bytes | None:
        return await anext(stream, None)

    while True:
        try:
            chunk = anyio.from_thread.run(following)
        except ClientDisconnect:
            raise InputError("the upload broke off; send it again") from None
        if chunk is None:
            return
        if chunk:
            yield chunk


def whole(chunks: Iterable[bytes], *, limit_bytes: int) -> bytes:
    """A small document in one piece.

    >>> whole([b"{", b"}"], limit_bytes=2)
    b'{}'
    """
    found = bytearray()
    for chunk in chunks:
        found += chunk
        if len(found) > limit_bytes:
            raise too_large(limit_bytes)
    return bytes(found)


def is_archive(request: Request) -> None:
    """Refuse what does not even say that it is an archive."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ARCHIVES:
        raise InputError(f"send the summary as an archive; its Content-Type is one of {', '.join(ARCHIVES)}")


def chunks_of(file: BinaryIO) -> Iterator[bytes]:
    """The bytes of an opened file, which is closed at the end, also if nobody wants the rest."""
    with file:
        while chunk := file.read(_CHUNK_BYTES):
            yield chunk


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The head of one part of a form."""

    name: str
    file_name: str | None


class Parts:
    """A multipart form, part after part, in the order in which it is sent."""

    def __init__(self, request: Request) -> None:
        kind, options = parse_options_header(request.headers.get("content-type", ""))
        boundary = options.get(b"boundary", b"")
        if kind != b"multipart/form-data" or not 1 <= len(boundary) <= 70:
            raise InputError("send a multipart/form-data body with a boundary")
        self._chunks = body_of(request)
        self._events: deque[Part | bytes | None] = deque()
        self._head: dict[bytes, bytes] = {}
        self._field = self._value = b""
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._begin,
                "on_header_field": self._on_field,
                "on_header_value": self._on_value,
                "on_header_end": self._on_header,
                "on_headers_finished": self._on_head,
                "on_part_data": lambda data, start, end: self._events.append(data[start:end]),
                "on_part_end": lambda: self._events.append(None),
            },
        )

    def next_part(self, *names: str) -> Part:
        """The head of the next part, which must be one of ``names``."""
        event = self._next()
        if not isinstance(event, Part) or event.name not in names:
            raise InputError(f"the form lacks its part {names[0]!r} at this place; send the parts in their order")
        return event

    def content(self) -> Iterator[bytes]:
        """The bytes of the part whose head came last."""
        while (event := self._next()) is not None:
            assert isinstance(event, bytes)
            yield event

    def _next(self) -> Part | bytes | None:
        while not self._events:
            chunk = next(self._chunks, None)
            if chunk is None:
                raise InputError("the form ends too early; send all of its parts")
            try:
                self._parser.write(chunk)
            except FormParserError:
                raise InputError("the form cannot be read; send it as multipart/form-data") from None
        return self._events.popleft()

    def _begin(self) -> None:
        self._head, self._field, self._value = {}, b"", b""

    def _on_field(self, data: bytes, start: int, end: int) -> None:
        self._field += data[start:end]
        self._bounded()

    def _on_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]
        self._bounded()

    def _bounded(self) -> None:
        if len(self._field) + len(self._value) > _HEADER_BYTES:
            raise InputError("a part of the form has a header that is too long")

    def _on_header(self) -> None:
        self._head[self._field.lower()] = self._value
        self._field = self._value = b""

    def _on_head(self) -> None:
        _, options = parse_options_header(self._head.get(b"content-disposition", b""))
        name = options.get(b"name", b"").decode(errors="replace")
        file_name = options.get(b"filename")
        self._events.append(
            Part(name=name, file_name=None if file_name is None else file_name.decode(errors="replace"))
        )
