"""Connections of a server that stands on the network itself: headers arrive in time, and one address has a share.

Without this, connections whose headers never end would take every place until their sender lets go.
"""

from __future__ import annotations

import asyncio
import resource
from collections import Counter
from typing import ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_HEADER_BYTES = 1 << 16


class LimitedConnection(HttpToolsProtocol):
    """A connection of uvicorn with a timeout for headers, and of one address at most so many; see `limited`."""

    header_seconds: ClassVar[float]
    most_of_address: ClassVar[int | None]
    open_connections: ClassVar[Counter[str]]
    _header_timer: asyncio.TimerHandle | None = None
    _header_bytes = 0
    _counted: str | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        address = self.client[0] if self.client else ""
        self.open_connections[address] += 1
        self._counted = address
        if self.most_of_address is not None and self.open_connections[address] > self.most_of_address:
            self._refuse("429 Too Many Requests", "this address has too many connections; close some")
            return
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._counted is not None:
            self.open_connections[self._counted] -= 1
            if not self.open_connections[self._counted]:
                del self.open_connections[self._counted]
            self._counted = None
        self._stop_timer()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        self._header_bytes = 0
        if self._header_timer is None:
            self._start_timer()
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        self._header_bytes += len(name) + len(value)
        if self._header_bytes > _HEADER_BYTES:
            self._refuse("431 Request Header Fields Too Large", "the headers are too long; send fewer")
            return
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._stop_timer()
        if not self.transport.is_closing():
            super().on_headers_complete()

    def _start_timer(self) -> None:
        self._header_timer = self.loop.call_later(self.header_seconds, self._too_slow)

    def _stop_timer(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def _too_slow(self) -> None:
        self._header_timer = None
        self._refuse("408 Request Timeout", "the headers did not arrive in time; send them at once")

    def _refuse(self, status: str, sentence: str) -> None:
        if self.transport.is_closing():
            return
        body = sentence.encode()
        head = f"HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {len(body)}\r\n"
        self.transport.write(f"{head}connection: close\r\n\r\n".encode() + body)
        self.transport.close()


def limited(*, header_seconds: float, most_of_address: int | None) -> type[LimitedConnection]:
    """The class of connections with these limits; ``most_of_address`` is None behind a proxy, from which all come."""
    return type(
        "LimitedConnection",
        (LimitedConnection,),
        {"header_seconds": header_seconds, "most_of_address": most_of_address, "open_connections": Counter()},
    )


def raise_file_limit() -> None:
    """Let this process hold as many connections as the system lets it: the usual 1,024 are taken quickly."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
