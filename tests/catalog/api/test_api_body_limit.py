"""Too much is refused: by what is announced, or at the byte that is too much, and never read to the end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import FastAPI, Request
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import ASGIApp, Message

from aegis.catalog.server.limits import BodyLimits, Pace

LIMIT = 1000
TEN_GB = 10 * 10**9


def _plain() -> ASGIApp:
    async def app(_scope: Any, receive: Any, send: Any) -> None:
        count = 0
        while True:
            message = await receive()
            count += len(message.get("body", b""))
            if not message.get("more_body"):
                break
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": str(count).encode()})

    return app


def _fastapi() -> ASGIApp:
    app = FastAPI()

    @app.post("/api/")
    async def take(request: Request) -> int:
        return len(await request.body())

    @app.post("/api/json")
    def take_json(body: dict[str, Any]) -> int:
        return len(body)

    return app


def _send(
    app: ASGIApp, chunks: Iterator[bytes], *, announced: str | None = None, path: str = "/api/"
) -> tuple[int, bytes, int]:
    """Status, body and how many chunks were asked for."""
    sent: list[Message] = []
    asked = 0

    async def receive() -> Message:
        nonlocal asked
        chunk = next(chunks, None)
        asked += chunk is not None
        return {"type": "http.request", "body": chunk or b"", "more_body": chunk is not None}

    async def send(message: Message) -> None:
        sent.append(message)

    headers = [(b"content-type", b"application/json")]
    if announced is not None:
        headers.append((b"content-length", announced.encode("latin-1")))
    scope = {
        "type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b"",
        "headers": headers, "http_version": "1.1", "scheme": "http", "root_path": "",
    }  # fmt: skip
    limited = BodyLimits(app, limit_of=lambda _: LIMIT, pace=Pace(idle_seconds=60, bytes_per_second=1))
    asyncio.run(limited(scope, receive, send))
    starts = [message for message in sent if message["type"] == "http.response.start"]
    assert len(starts) == 1
    return starts[0]["status"], b"".join(message.get("body", b"") for message in sent), asked


@pytest.mark.parametrize("make", [_plain, _fastapi])
def test_an_announced_ten_gigabytes_is_refused_without_reading(make: Any) -> None:
    status, body, asked = _send(make(), iter(lambda: b"x" * 500, b""), announced=str(TEN_GB))
    assert (status, asked) == (413, 0)
    assert json.loads(body)["type"] == "urn:aegis:problem:too-large"


@pytest.mark.parametrize("path", ["/api/", "/api/json"])
@pytest.mark.parametrize("make", [_plain, _fastapi])
def test_an_endless_body_is_refused_at_the_byte_that_is_too_much(make: Any, path: str) -> None:
    status, body, asked = _send(make(), iter(lambda: b"x" * 300, b""), path=path)
    assert (status, asked) == (413, 4)
    assert json.loads(body)["status"] == 413


@given(st.lists(st.integers(0, 400), max_size=8))
def test_exactly_the_bodies_within_the_limit_pass(sizes: list[int]) -> None:
    status, body, _ = _send(_plain(), iter([b"x" * size for size in sizes]))
    assert (status == 200) == (sum(sizes) <= LIMIT)
    if status == 200:
        assert int(body) == sum(sizes)


@pytest.mark.parametrize("announced", ["-1", "many", "1e3", "", "²"])
def test_a_length_that_is_no_number_is_bad_input(announced: str) -> None:
    status, _, asked = _send(_plain(), iter([b"x"]), announced=announced)
    assert (status, asked) == (422, 0)
