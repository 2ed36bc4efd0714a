"""What holds for every answer of the API: who is asked for, one shape of problems, headers, and what the log says."""

from __future__ import annotations

import logging
import re
import time
from typing import TYPE_CHECKING, Any

import pytest

from aegis.catalog.server.api.app import create_api, description
from aegis.catalog.server.errors import Problem

if TYPE_CHECKING:
    from tests.catalog.api.conftest import Stage
else:
    Stage = Any

ROUTES = sorted((method.upper(), path) for path, each in description()["paths"].items() for method in each)
CANARY = "canary-7f3a"


def test_health_answers_everybody(stage: Stage) -> None:
    answer = stage.send(None, "GET", "/health")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


@pytest.mark.parametrize(("method", "path"), [route for route in ROUTES if not route[1].endswith("/health")])
def test_nobody_gets_anything_else(stage: Stage, method: str, path: str) -> None:
    filled = re.sub(r"{\w+}", "0" * 32, path).removeprefix("/api/v1")
    wrong = {"Authorization": "Bearer aegis_wrong"}
    for headers, content in (({}, None), (wrong, None), ({}, b"{not json"), ({"Authorization": "Basic eDp5"}, None)):
        answer = stage.send(None, method, filled, headers=headers, content=content)
        assert answer.status_code == 401
        assert answer.headers["WWW-Authenticate"] == 'Bearer realm="aegis"'
        assert Problem.model_validate(answer.json()).type == "urn:aegis:problem:not-signed-in"


@pytest.mark.parametrize(
    ("method", "path", "json", "status"),
    [
        ("GET", "/dsp/2025-1/catalog/datasets/nowhere", None, 404),
        ("GET", "/dsp/2025-1/nothing", None, 404),
        ("POST", "/dsp/2025-1/catalog/request", {"@type": "CatalogRequestMessage", "filter": [1]}, 422),
    ],
)
def test_a_refusal_of_the_dataspace_protocol_is_a_problem_and_its_own_error(
    stage: Stage, method: str, path: str, json: Any, status: int
) -> None:
    answer = stage.send("visitor", method, path, json=json)
    told = answer.json()
    assert Problem.model_validate(told).status == answer.status_code == status
    assert (told["@type"], told["code"], told["reason"]) == ("CatalogError", str(status), [told["detail"]])
    assert told["@context"] == ["https://w3id.org/dspace/2025/1/context.jsonld"]


@pytest.mark.parametrize("path", ["/openapi.json", "/nothing-here", "/../../etc/passwd"])
def test_also_addresses_that_are_not_listed_ask_who_it_is(stage: Stage, path: str) -> None:
    assert stage.send(None, "GET", path).status_code in (401, 404)
    assert stage.send(None, "GET", "/openapi.json").status_code == 401


def test_the_description_is_served_to_people(stage: Stage) -> None:
    assert stage.send("visitor", "GET", "/openapi.json").json() == description()


@pytest.mark.parametrize(
    ("method", "path", "sent", "status"),
    [
        ("GET", "/nothing", {}, 404),
        ("DELETE", "/products", {}, 405),
        ("POST", "/products", {"content": b"{", "headers": {"Content-Type": "application/json"}}, 422),
        ("POST", "/products", {"content": b"\xff", "headers": {"Content-Type": "application/json"}}, 400),
        ("POST", "/products", {"content": b"[" * 100_000, "headers": {"Content-Type": "application/json"}}, 400),
        ("POST", "/products", {"content": b"a=b"}, 422),
        ("POST", "/products", {"json": {"name": CANARY}}, 422),
        ("POST", "/products", {"json": {CANARY: CANARY}}, 422),
        ("GET", "/products?page_size=0", {}, 422),
        ("GET", "/products?cursor=%00", {}, 422),
        ("GET", "/products?cursor=bm9wZQ", {}, 422),
        ("GET", "/products/%00", {}, 422),
        ("GET", "/products/no-such-product", {}, 404),
        ("GET", f"/requests/{'0' * 32}", {}, 404),
        ("POST", "/products", {"content": b"x" * (2 << 20)}, 413),
    ],
)
def test_every_problem_has_the_one_shape(
    stage: Stage, method: str, path: str, sent: dict[str, Any], status: int
) -> None:
    answer = stage.send("admin", method, path, **sent)
    assert answer.status_code == status
    assert answer.headers["Content-Type"] == "application/problem+json"
    told = Problem.model_validate(answer.json())
    assert told.status == status
    assert told.instance == f"urn:uuid:{answer.headers['X-Request-ID']}"
    assert CANARY not in answer.text, "what was sent comes back"
    if status == 405:
        assert answer.headers["Allow"] == "GET, POST"


def test_an_error_that_nobody_expected_says_nothing_of_it(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError(f"the value is {CANARY}")

    monkeypatch.setattr("aegis.catalog.service.products.read_page", broken)
    with caplog.at_level(logging.INFO):
        answer = stage.send("admin", "GET", "/products")
    assert answer.status_code == 500
    assert Problem.model_validate(answer.json()).title == "Internal Server Error"
    assert CANARY not in answer.text
    assert CANARY not in caplog.text
    assert "RuntimeError broken:" in caplog.text


def access_lines(caplog: pytest.LogCaptureFixture, number: int) -> list[str]:
    """What the access log says, once it says that much: a line is written after its answer has been sent."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        lines = [record.getMessage() for record in caplog.records if record.name == "aegis.access"]
        if len(lines) >= number:
            return lines
        time.sleep(0.01)
    raise AssertionError(f"the access log has {len(lines)} lines, not {number}")


def test_the_log_names_routes_and_not_what_was_filled_in(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="aegis.access"):
        answer = stage.send("admin", "GET", f"/products/{CANARY}?query={CANARY}", headers={"X-Secret": CANARY})
        stage.send("admin", "GET", f"/{CANARY}")
        logged = access_lines(caplog, 2)
    assert CANARY not in caplog.text
    assert any(f"{answer.headers['X-Request-ID']} GET /api/v1/products/{{product}} 404" in line for line in logged)
    assert any("GET (no route) 404" in line for line in logged)


def test_safe_headers_are_on_every_answer(stage: Stage) -> None:
    for who, path in (("admin", "/products"), (None, "/products"), ("admin", "/nothing"), (None, "/health")):
        headers = stage.send(who, "GET", path).headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] == "no-store"
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert float(re.fullmatch(r"app;dur=([\d.]+)", headers["Server-Timing"])[1]) >= 0  # type: ignore[index]


def test_a_database_that_is_gone_is_said_so(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    from sqlalchemy.exc import OperationalError

    def gone(*_: Any, **__: Any) -> None:
        raise OperationalError("select", {"value": CANARY}, Exception(CANARY))

    monkeypatch.setattr("sqlalchemy.engine.Connection.execute", gone)
    answer = stage.send(None, "GET", "/health")
    assert answer.status_code == 502
    assert CANARY not in answer.text


def test_no_route_hides_from_the_description(stage: Stage) -> None:
    """What the app answers is what it describes, and the description itself: nothing escapes the table of roles."""

    def leaves(routes: Any) -> int:
        count = 0
        for route in routes:
            inner = getattr(route, "original_router", None)
            count += leaves(inner.routes) if inner is not None else len(route.methods)
        return count

    assert leaves(create_api(stage.catalog).routes) == len(ROUTES) + 1
