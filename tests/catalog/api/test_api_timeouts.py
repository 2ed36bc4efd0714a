"""A body that trickles or stalls ends with a 408, and nothing of it is left."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from starlette.types import Message

from aegis.catalog.server.app import create_site
from aegis.catalog.server.limits import BodyLimits, Pace
from aegis.catalog.service import people, products, sessions, tokens
from aegis.catalog.service.catalog import Catalog
from aegis.catalog.settings import Settings

HURRIED = Settings(argon2_time_cost=1, argon2_memory_kib=64, upload_idle_seconds=0.3)


class Sender:
    """Sends chunks, each after some seconds of a clock that only it moves; None is a chunk that never comes."""

    def __init__(self, *chunks: tuple[float, bytes | None]) -> None:
        self._chunks = iter(chunks)
        self.now = 0.0

    def clock(self) -> float:
        return self.now

    async def receive(self) -> Message:
        seconds, chunk = next(self._chunks, (0.0, b""))
        self.now += seconds
        if chunk is None:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": chunk, "more_body": chunk != b""}


def _timed(app: Any, pace: Pace, **more: Any) -> BodyLimits:
    return BodyLimits(app, limit_of=lambda _: 1 << 30, pace=pace, **more)


def _asked(sender: Sender, *, idle: float = 10.0, pace: float = 100.0) -> tuple[int, bytes, list[str]]:
    """Status, answer, and what the app got to see."""
    seen: list[str] = []
    sent: list[Message] = []

    async def app(_scope: Any, receive: Any, send: Any) -> None:
        message = await receive()
        while message["type"] == "http.request" and message["more_body"]:
            seen.append(f"{len(message['body'])} bytes")
            message = await receive()
        seen.append(message["type"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"taken"})

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/api/v1/x", "headers": []}
    timed = _timed(app, Pace(idle_seconds=idle, bytes_per_second=pace), clock=sender.clock)
    asyncio.run(timed(scope, sender.receive, send))
    return sent[0]["status"], sent[1]["body"], seen


def test_a_steady_body_is_taken_however_long_it_takes() -> None:
    status, body, seen = _asked(Sender(*[(9.0, b"x" * 1000)] * 50))  # 450 s, and 500 s are allowed for 50,000 bytes
    assert (status, body) == (200, b"taken")
    assert seen == ["1000 bytes"] * 50 + ["http.request"]


def test_a_body_that_trickles_ends_although_every_byte_is_progress() -> None:
    status, body, seen = _asked(Sender(*[(3.0, b"x")] * 1000))
    assert status == 408
    told = json.loads(body)
    assert told["type"] == "urn:aegis:problem:request-timeout"
    assert "10 seconds" in told["detail"]
    assert seen == ["1 bytes"] * 3 + ["http.disconnect"]  # the fourth came after 12 s, and 10.04 are allowed


def test_a_body_that_stalls_ends() -> None:
    status, _, seen = _asked(Sender((0.0, b"xx"), (0.0, None)), idle=0.01)
    assert status == 408
    assert seen == ["2 bytes", "http.disconnect"]


def test_the_clock_stands_still_while_the_app_works() -> None:
    sender = Sender((1.0, b"x"), (1.0, b"x"))

    async def busy(_scope: Any, receive: Any, send: Any) -> None:
        while (await receive())["more_body"]:
            sender.now += 3600
        await send({"type": "http.response.start", "status": 200, "headers": []})

    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    timed = _timed(busy, Pace(idle_seconds=10, bytes_per_second=1000), clock=sender.clock)
    asyncio.run(timed({"type": "http", "method": "POST", "path": "/api/v1/x", "headers": []}, sender.receive, send))
    assert sent[0]["status"] == 200


def test_waiting_for_a_reader_to_leave_takes_as_long_as_it_takes() -> None:
    """After the body `receive` only tells when somebody goes: a long download must not end by that."""

    async def streaming(_scope: Any, receive: Any, send: Any) -> None:
        assert not (await receive())["more_body"]
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(receive(), 0.05)  # ten times the timeout
        await send({"type": "http.response.start", "status": 200, "headers": []})

    sender = Sender((0.0, b""), (0.0, None))
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    timed = _timed(streaming, Pace(idle_seconds=0.005, bytes_per_second=1))
    asyncio.run(timed({"type": "http", "method": "GET", "path": "/api/v1/x", "headers": []}, sender.receive, send))
    assert sent[0]["status"] == 200


@pytest.fixture(scope="module")
def hurried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Catalog, str]]:
    """A catalog that waits a third of a second, and a token of its provider."""
    folder = tmp_path_factory.mktemp("hurried")
    with Catalog.open(f"sqlite:///{folder / 'c.sqlite'}", folder / "storage", settings=HURRIED) as catalog:
        link = people.setup_link(catalog)
        assert link is not None
        people.accept_link(catalog, secret=link.secret, password="a long password", name="admin", display_name="A")
        admin = sessions.sign_in(catalog, name="admin", password="a long password", address="test").actor
        with catalog.write(admin) as work:
            columns = [{"name": "age", "kind": "integer", "role": "quasi_identifying"}]
            products.register(work, name="clinic", title="Clinic", columns=columns, policy={"k": 2})
            token = tokens.create_token(work, name="t", scopes=["push"], days=1).text
        yield catalog, token


def _stalled(url: str, head: str, body: bytes) -> tuple[bytes, bytes]:
    """Send a part of a body and stop; gives the head and the body of the answer once the server hangs up."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    with socket.create_connection((parts.hostname, parts.port or 80), timeout=60) as connection:
        connection.sendall(f"{head}Host: {parts.netloc}\r\n\r\n".encode() + body)
        answer = b""
        while chunk := connection.recv(65_536):
            answer += chunk
    told, _, content = answer.partition(b"\r\n\r\n")
    return told, content


@pytest.mark.parametrize("place", ["releases", "summaries"])
def test_an_upload_that_stalls_leaves_nothing_behind(hurried: tuple[Catalog, str], place: str, serve: Any) -> None:
    catalog, token = hurried
    kind = "multipart/form-data; boundary=b" if place == "releases" else "application/zip"
    part = (
        b'--b\r\nContent-Disposition: form-data; name="certificate"\r\n\r\n{' if place == "releases" else b"PK\x03\x04"
    )
    head = (
        f"POST /api/v1/products/clinic/{place} HTTP/1.1\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: {kind}\r\nContent-Length: 100000\r\n"
    )
    with serve(create_site(catalog)) as url:
        told, content = _stalled(url, head, part)
    assert told.startswith(b"HTTP/1.1 408 ")
    assert json.loads(content)["type"] == "urn:aegis:problem:request-timeout"
    assert list((Path(catalog.store.root) / "drafts").iterdir()) == []  # type: ignore[union-attr]
    assert list(catalog.store.digests()) == []


def test_a_form_that_stalls_is_told_in_words(hurried: tuple[Catalog, str], serve: Any) -> None:
    head = "POST /sign-in HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n"
    with serve(create_site(hurried[0])) as url:
        told, content = _stalled(url, head, b"name=a")
    assert told.startswith(b"HTTP/1.1 408 ")
    assert b"default-src 'none'" in told
    assert b"Nothing arrived for 0.3 seconds" in content
