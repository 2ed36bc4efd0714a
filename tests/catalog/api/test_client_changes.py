"""What the client sends where a product is changed: what was given, and nothing else."""

from __future__ import annotations

import json

import httpx
import pytest

import aegis


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"title": "A clinic"}, {"title": "A clinic"}),
        ({"tags": ("health", "city"), "policy": {"k": 5}}, {"tags": ["health", "city"], "policy": {"k": 5}}),
        ({}, {}),
    ],
)
def test_a_change_holds_what_is_given(given: dict[str, object], sent: dict[str, object]) -> None:
    bodies = []

    def refuse(request: httpx.Request) -> httpx.Response:
        bodies.append(json.loads(request.content))
        return httpx.Response(409, json={"type": "urn:aegis:problem:conflict", "detail": "somebody was faster"})

    client = aegis.Client("http://127.0.0.1", "token", connection=httpx.MockTransport(refuse))
    with pytest.raises(aegis.errors.ConflictError):
        client.change_product("clinic", version=3, **given)  # type: ignore[arg-type]
    assert bodies == [{"version": 3, **sent}]
