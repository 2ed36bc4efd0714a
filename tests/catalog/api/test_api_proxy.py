"""Behind a proxy only what the nearest one wrote is believed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from aegis.catalog.server.app import TrustedProxy


def _seen(headers: list[tuple[bytes, bytes]]) -> tuple[Any, str]:
    seen: dict[str, Any] = {}

    async def app(scope: Any, _receive: Any, _send: Any) -> None:
        seen.update(scope)

    async def nothing(*_: Any) -> Any:
        return None

    scope = {"type": "http", "scheme": "http", "client": ("10.0.0.1", 4000), "headers": headers}
    asyncio.run(TrustedProxy(app)(scope, nothing, nothing))
    return seen["client"][0], seen["scheme"]


@pytest.mark.parametrize(
    ("headers", "address", "scheme"),
    [
        ([], "10.0.0.1", "http"),
        ([(b"x-forwarded-for", b"192.0.2.7"), (b"x-forwarded-proto", b"https")], "192.0.2.7", "https"),
        ([(b"x-forwarded-for", b"1.1.1.1, 192.0.2.7")], "192.0.2.7", "http"),
        ([(b"x-forwarded-for", b"1.1.1.1"), (b"x-forwarded-for", b"192.0.2.7")], "192.0.2.7", "http"),
        ([(b"x-forwarded-for", b"1.1.1.1, not an address")], "10.0.0.1", "http"),
        ([(b"x-forwarded-proto", b"javascript")], "10.0.0.1", "http"),
        ([(b"x-forwarded-for", b"2001:db8::1")], "2001:db8::1", "http"),
    ],
)
def test_the_last_entry_counts(headers: list[tuple[bytes, bytes]], address: str, scheme: str) -> None:
    assert _seen(headers) == (address, scheme)
