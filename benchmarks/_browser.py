"""A browser of a few lines for load tests: small, so that it does not measure itself."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from urllib.parse import urlsplit

from _catalog_machine import Person


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, and how long it took."""

    status: int
    headers: dict[str, str]
    body: bytes
    milliseconds: float


class Browser:
    """One keep-alive connection that sends one request after the other: small, so that it does not measure itself."""

    def __init__(self, url: str, person: Person) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        assert parts.port is not None
        self._host, self._port = parts.hostname, parts.port
        self._head = f"Host: {parts.netloc}\r\nCookie: {person.cookie}\r\nAccept-Encoding: identity\r\n"
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(self, method: str, path: str, body: bytes = b"") -> Answer:
        """Ask and read the whole answer; a connection that the server closed while idle is opened again."""
        began = time.perf_counter()
        kind = "Content-Type: application/x-www-form-urlencoded\r\n" if body else ""
        head = f"{method} {path} HTTP/1.1\r\n{self._head}{kind}Content-Length: {len(body)}\r\n\r\n"
        for attempt in (1, 2):
            fresh = self._streams is None
            if self._streams is None:
                self._streams = await asyncio.open_connection(self._host, self._port, limit=1 << 20)
            reader, writer = self._streams
            try:
                writer.write(head.encode() + body)
                status, headers, content = await _read(reader)
            except (asyncio.IncompleteReadError, ConnectionError):
                self.close()
                if fresh or attempt == 2:
                    raise
                continue
            if headers.get("connection") == "close":
                self.close()
            return Answer(status, headers, content, 1000 * (time.perf_counter() - began))
        raise AssertionError("the loop above returns or raises")

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


async def _read(reader: asyncio.StreamReader) -> tuple[int, dict[str, str], bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    if "content-length" in headers:
        return int(head[0].split()[1]), headers, await reader.readexactly(int(headers["content-length"]))
    content = b""
    while size := int(await reader.readline(), 16):
        content += (await reader.readexactly(size + 2))[:-2]
    await reader.readline()
    return int(head[0].split()[1]), headers, content
