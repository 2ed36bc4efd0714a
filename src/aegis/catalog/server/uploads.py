"""Bodies that are never whole in memory: pulled from the network chunk by chunk, only as far as somebody reads.

A handler that runs in a thread pulls; so the permission is checked before the first byte is asked for, and a refused
file stays with whoever wanted to send it. Forms of the console and of the API are read by the same parser.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO
from urllib.parse import parse_qsl, quote
from weakref import WeakKeyDictionary

import anyio
import anyio.from_thread
import anyio.to_thread
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse

from aegis.catalog.server.limits import FORM_BYTES, too_large
from aegis.errors import InputError

_HEADER_BYTES = 8192
_UPLOADS_AT_ONCE = 16
_CHUNK_BYTES = 1 << 18
_FIELD_BYTES = 1_000_000
_MOST_FIELDS = 3000
SIGNATURE_BYTES = 4_096
_limiters: WeakKeyDictionary[asyncio.AbstractEventLoop, anyio.CapacityLimiter] = WeakKeyDictionary()


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
    received = bytearray()
    for chunk in chunks:
        received += chunk
        if len(received) > limit_bytes:
            raise too_large(limit_bytes)
    return bytes(received)


def whole_number(text: str, *, what: str) -> int:
    """What was typed, as a whole number."""
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise InputError(f"{what} must be a whole number; write digits only")
    return int(text)


def sent_file(stream: BinaryIO, *, name: str, size_bytes: int, headers: Mapping[str, str] | None = None) -> Response:
    """An opened file as a response that a browser saves, chunk by chunk; whoever sends it closes it in the end."""

    def chunks() -> Iterator[bytes]:
        with stream:
            while chunk := stream.read(_CHUNK_BYTES):
                yield chunk

    sent = {"Content-Length": str(size_bytes), "Content-Disposition": attachment(name), **(headers or {})}
    return StreamingResponse(chunks(), media_type="application/octet-stream", headers=sent)


def sent_text(text: str, *, name: str, media_type: str) -> Response:
    """A text as a response that a browser saves."""
    return Response(text, media_type=media_type, headers={"Content-Disposition": attachment(name)})


def attachment(name: str) -> str:
    """The header that makes a browser save a response as a file of this name.

    >>> attachment("clinic.csv")
    "attachment; filename*=UTF-8''clinic.csv"
    """
    return f"attachment; filename*=UTF-8''{quote(name, safe='')}"


def clean_name(name: str) -> str:
    """A file's own name, without folders and control characters.

    >>> clean_name("C:\\\\data\\\\clinic.csv"), clean_name("../../x.parquet")
    ('clinic.csv', 'x.parquet')
    """
    last = name.replace("\\", "/").rsplit("/", 1)[-1]
    return "".join(c for c in last if c.isprintable())[:200] or "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The head of one part of a multipart form."""

    name: str
    file_name: str | None


class Multipart:
    """A multipart form, part after part, in the order in which it is sent."""

    def __init__(self, content_type: str, chunks: Iterator[bytes]) -> None:
        kind, options = parse_options_header(content_type)
        boundary = options.get(b"boundary", b"")
        if kind != b"multipart/form-data" or not 1 <= len(boundary) <= 70:
            raise InputError("send a multipart/form-data body with a boundary")
        self._chunks = chunks
        self._events: deque[Part | bytes | None] = deque()
        self._head: dict[bytes, bytes] = {}
        self._field = self._value = b""
        self._ended = self._in_part = False
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
                "on_end": self._end,
            },
        )

    def next_part(self) -> Part | None:
        """The head of the next part; None at the end of the form."""
        if self._in_part:
            for _ in self.content():
                pass  # nobody wanted the rest of the part before
        event = self._next()
        if event is None:
            return None
        assert isinstance(event, Part)
        self._in_part = True
        return event

    def expect(self, name: str) -> Part:
        """The head of the next part, which must be this one."""
        part = self.next_part()
        if part is None or part.name != name:
            raise InputError(f"the form lacks its part {name!r} at this place; send the parts in their order")
        return part

    def content(self) -> Iterator[bytes]:
        """The bytes of the part whose head came last."""
        while (event := self._next()) is not None:
            assert isinstance(event, bytes)
            yield event
        self._in_part = False

    def _next(self) -> Part | bytes | None:
        while not self._events:
            if self._ended:
                return None
            chunk = next(self._chunks, None)
            if chunk is None:
                raise InputError("the form ends too early; send all of its parts")
            try:
                self._parser.write(chunk)
            except FormParserError:
                raise InputError("the form cannot be read; send it as multipart/form-data") from None
        return self._events.popleft()

    def _end(self) -> None:
        self._ended = True

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """A file of a form; its bytes are read once, while they arrive."""

    name: str
    stream: Iterator[bytes]


@dataclass(slots=True, kw_only=True)
class Form:
    """The fields of a form, of which a name may come several times, and after them its files."""

    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    _parts: Multipart | None = None
    _file: Part | None = None

    def text(self, name: str, default: str = "") -> str:
        """The field without spaces around it; the default where it was not sent."""
        return self.raw(name, default).strip()

    def raw(self, name: str, default: str = "") -> str:
        """The field as it was typed: passwords may begin with a space."""
        return self.fields[name][0] if name in self.fields else default

    def texts(self, name: str) -> tuple[str, ...]:
        """All values of a field, for boxes that are ticked."""
        return self.fields.get(name, ())

    def whole(self, name: str, *, what: str) -> int:
        """The field as a whole number."""
        return whole_number(self.text(name), what=what)

    @property
    def has_file(self) -> bool:
        """Whether a file follows the fields."""
        return self._file is not None

    def has_file_of(self, name: str) -> bool:
        """Whether the next file is that of this field."""
        return self._file is not None and self._file.name == name

    def file(self, name: str, *, what: str) -> Upload:
        """The next file, which must be that of this field; files come in the order of the page."""
        if self._file is None or self._parts is None or self._file.name != name:
            raise InputError(f"{what} is missing; choose a file")
        return Upload(name=clean_name(self._file.file_name or ""), stream=self._content(self._parts))

    def _content(self, parts: Multipart) -> Iterator[bytes]:
        yield from parts.content()
        self._file = _next_file(parts)


def read_form(content_type: str, chunks: Iterator[bytes]) -> Form:
    """The fields of a form up to its first file, which is read by whoever asks for it."""
    kind = content_type.split(";")[0].strip().lower()
    pairs: list[tuple[str, str]] = []
    parts: Multipart | None = None
    file: Part | None = None
    if kind == "application/x-www-form-urlencoded":
        text = whole(chunks, limit_bytes=FORM_BYTES).decode("latin-1")
        try:
            pairs = parse_qsl(text, keep_blank_values=True, errors="replace", max_num_fields=_MOST_FIELDS)
        except ValueError:
            raise _unreadable() from None
    elif kind == "multipart/form-data":
        parts = Multipart(content_type, chunks)
        while (part := parts.next_part()) is not None:
            if part.file_name:
                file = part
                break
            value = whole(parts.content(), limit_bytes=_FIELD_BYTES)
            if part.file_name is None:  # a file field that was left empty comes with an empty name
                pairs.append((part.name, value.decode(errors="replace")))
            if len(pairs) > _MOST_FIELDS:
                raise _unreadable()
    fields: dict[str, list[str]] = {}
    for name, text in pairs:
        if "\x00" in text or "\x00" in name:
            raise InputError("a field holds a character that no text has; type it again")
        if not name or len(text) > _FIELD_BYTES:
            raise _unreadable()
        fields.setdefault(name, []).append(text)
    return Form(fields={name: tuple(values) for name, values in fields.items()}, _parts=parts, _file=file)


def _next_file(parts: Multipart) -> Part | None:
    """The next file that was chosen; a field that was left empty comes with an empty name."""
    while (part := parts.next_part()) is not None:
        if part.file_name is None:
            raise InputError("the fields of a form come before its files; send it again from its page")
        if part.file_name:
            return part
    return None


def _unreadable() -> InputError:
    return InputError("the form cannot be read, or a field is too long; send it again from its page")
