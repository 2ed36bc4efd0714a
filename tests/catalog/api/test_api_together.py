"""Two people, or one client twice, at the same moment: on SQLite, where writers queue, and on PostgreSQL, where not."""

from __future__ import annotations

import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import httpx

from aegis.catalog.worker.loop import run_pending

if TYPE_CHECKING:
    from tests.catalog.api.conftest import Stage
else:
    Stage = Any


def test_many_at_once_with_one_key_are_one(each_stage: Stage) -> None:
    stage, key = each_stage, {"Idempotency-Key": str(uuid.uuid4())}
    start = threading.Barrier(8)

    def ask(_: int) -> httpx.Response:
        start.wait()
        sent = {"purpose": "all together"}
        return stage.send("consumer", "POST", f"/products/{stage.product}/requests", json=sent, headers=key)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(8)))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.json()["id"] for answer in answers}) == 1


def test_of_two_experts_at_once_one_decides(each_stage: Stage) -> None:
    stage = each_stage
    configuration = stage.new_configuration(stage.product)
    for _ in range(5):
        request = stage.new_request(stage.product)
        start = threading.Barrier(2)

        def decide(who: str, request: str = request, start: threading.Barrier = start) -> int:
            start.wait()
            sent: dict[str, Any] = {"approve": False, "reason": "no"}
            if who == "expert":
                sent = {"approve": True, "configuration_id": configuration}
            return int(stage.send(who, "POST", f"/requests/{request}/decision", json=sent).status_code)

        with ThreadPoolExecutor(2) as pool:
            statuses = list(pool.map(decide, ("expert", "admin")))
        assert sorted(statuses) == [200, 409]
        history = stage.send("expert", "GET", f"/requests/{request}").json()["history"]
        assert len([act for act in history if act["action"] in ("request approved", "request rejected")]) == 1


def test_of_two_releases_at_once_one_fulfils(each_stage: Stage) -> None:
    stage = each_stage
    request = stage.new_request(stage.product, approved=True)
    start = threading.Barrier(2)

    def push(who: str) -> int:
        parts = [
            ("certificate", ("c.json", stage.clinic.certificate.read_bytes(), "application/json")),
            ("file", ("released.csv", stage.clinic.released.read_bytes(), "text/csv")),
        ]
        start.wait()
        path = f"/products/{stage.product}/releases"
        return int(stage.send(who, "POST", path, files=parts, params={"request_id": request}).status_code)

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(push, ("provider", "admin"))) == [201, 409]
    run_pending(stage.catalog)
    assert stage.send("consumer", "GET", f"/requests/{request}").json()["state"] == "PROVISIONED"


def test_many_writers_at_once_all_get_through(each_stage: Stage) -> None:
    """And the record of what they did is one chain."""
    stage = each_stage

    def ask(number: int) -> int:
        who = ("consumer", "other_consumer")[number % 2]
        sent = {"purpose": f"number {number}"}
        return int(stage.send(who, "POST", f"/products/{stage.product}/requests", json=sent).status_code)

    with ThreadPoolExecutor(10) as pool:
        assert set(pool.map(ask, range(60))) == {201}
    verdict = stage.send("admin", "GET", "/audit/verification").json()
    assert verdict["intact"]
