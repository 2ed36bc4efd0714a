"""Writes: once even if sent twice, refused when somebody was faster, and never by another site or an old token."""

from __future__ import annotations

import datetime
import uuid
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from aegis.catalog.service import notification_choices, tokens
from aegis.catalog.service.permissions import SYSTEM

if TYPE_CHECKING:
    from tests.catalog.api.conftest import Stage
else:
    Stage = Any


def _ask(stage: Stage, key: str, purpose: str = "to learn", who: str = "consumer") -> httpx.Response:
    return stage.send(
        who,
        "POST",
        f"/products/{stage.product}/requests",
        json={"purpose": purpose},
        headers={"Idempotency-Key": key},
    )


def test_the_same_key_and_content_is_done_once(stage: Stage) -> None:
    key = str(uuid.uuid4())
    first, again = _ask(stage, key), _ask(stage, key)
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert "Idempotency-Replayed" not in first.headers
    assert again.headers["Idempotency-Replayed"] == "true"


def test_the_same_key_with_another_content_is_refused(stage: Stage) -> None:
    key = str(uuid.uuid4())
    assert _ask(stage, key).status_code == 201
    other = _ask(stage, key, purpose="something else")
    assert other.status_code == 422
    assert "idempotency key" in other.json()["detail"]


def test_keys_of_two_people_do_not_meet(stage: Stage) -> None:
    key = str(uuid.uuid4())
    assert _ask(stage, key).json()["id"] != _ask(stage, key, who="other_consumer").json()["id"]


def test_a_failed_write_leaves_its_key_free(stage: Stage) -> None:
    key = str(uuid.uuid4())
    assert _ask(stage, key, purpose="x").status_code == 422
    assert _ask(stage, key).status_code == 201


@pytest.mark.parametrize("key", ["", "a b", "x" * 129, "ü"])
def test_a_key_is_printable_and_short(stage: Stage, key: str) -> None:
    sent = key.encode() if key == "ü" else key
    answer = stage.send("consumer", "POST", "/products", json={}, headers={"Idempotency-Key": sent})  # type: ignore[dict-item]
    assert answer.status_code == 422


def test_a_secret_is_shown_once_and_not_remembered(stage: Stage) -> None:
    key = {"Idempotency-Key": str(uuid.uuid4())}
    wanted = {"name": "laptop", "scopes": ["read"]}
    first = stage.send("visitor", "POST", "/tokens", cookie=True, json=wanted, headers=key).json()
    again = stage.send("visitor", "POST", "/tokens", cookie=True, json=wanted, headers=key).json()
    assert first["text"].startswith("aegis_")
    assert again == {**first, "text": ""}


def test_a_write_by_cookie_needs_the_secret_of_its_session(stage: Stage) -> None:
    person = stage.people["consumer"]
    sent: dict[str, Any] = {"json": {"purpose": "to learn"}}
    path = f"/products/{stage.product}/requests"
    cookie = {"Cookie": f"aegis_session={person.secret}"}
    for headers in (
        cookie,
        {**cookie, "X-CSRF-Token": "wrong"},
        {**cookie, "X-CSRF-Token": stage.people["visitor"].csrf},
    ):
        assert stage.send(None, "POST", path, headers=headers, **sent).status_code == 403
    assert stage.send("consumer", "POST", path, cookie=True, **sent).status_code == 201
    assert stage.send(None, "GET", "/me", headers=cookie).status_code == 200


def test_a_token_is_taken_before_a_cookie(stage: Stage) -> None:
    """Otherwise another site's form could ride on the cookie by adding nothing at all."""
    cookie = f"aegis_session={stage.people['admin'].secret}"
    answer = stage.send("visitor", "GET", "/me", headers={"Cookie": cookie})
    assert answer.json()["name"] == "visitor"
    assert stage.send(None, "GET", "/me", headers={"Cookie": cookie, "Authorization": "Bearer x"}).status_code == 401


def test_revoked_and_foreign_tokens_are_not_taken(stage: Stage) -> None:
    actor = stage.people["consumer"].actor
    with stage.catalog.write(actor) as work:
        made = tokens.create_token(work, name="short", scopes=["read"], days=1)
    headers = {"Authorization": f"Bearer {made.text}"}
    assert stage.send(None, "GET", "/me", headers=headers).status_code == 200
    with stage.catalog.write(actor) as work:
        tokens.revoke_token(work, token_id=made.token.id)
    assert stage.send(None, "GET", "/me", headers=headers).status_code == 401
    for text in ("aegis_" + "A" * 43, made.text[:-1], made.text + "x", made.text.upper()):
        assert stage.send(None, "GET", "/me", headers={"Authorization": f"Bearer {text}"}).status_code == 401


def test_what_has_expired_is_not_taken(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    person = stage.people["consumer"]
    request = stage.new_request(stage.product, approved=True)
    token = {"Authorization": f"Bearer {stage.token(person.actor, ['read'], days=1)}"}
    cookie = {"Cookie": f"aegis_session={person.secret}"}
    lasting = {"Authorization": f"Bearer {stage.token(stage.people['expert'].actor, ['read'], days=365)}"}
    now = stage.catalog.clock()
    for hours, statuses in ((0, (200, 200)), (13, (200, 401)), (25, (401, 401))):
        monkeypatch.setattr(stage.catalog, "clock", lambda hours=hours: now + datetime.timedelta(hours=hours))
        answered = tuple(stage.send(None, "GET", "/me", headers=each).status_code for each in (token, cookie))
        assert answered == statuses, f"after {hours} hours"
    monkeypatch.setattr(stage.catalog, "clock", lambda: now + datetime.timedelta(days=100))
    assert stage.send(None, "GET", f"/requests/{request}", headers=lasting).json()["state"] == "EXPIRED"


def test_no_token_makes_tokens(stage: Stage) -> None:
    answer = stage.send("admin", "POST", "/tokens", json={"name": "more", "scopes": ["admin"]})
    assert answer.status_code == 403


def test_somebody_who_was_switched_off_is_out_at_once(stage: Stage) -> None:
    person = stage.add("leaver", "consumer")
    path = f"/users/{person.actor.user_id}"
    assert stage.send("leaver", "GET", "/me").status_code == 200
    assert stage.send("admin", "PATCH", path, json={"active": False}).status_code == 200
    assert stage.send("leaver", "GET", "/me").status_code == 401
    assert stage.send("leaver", "GET", "/me", cookie=True).status_code == 401
    assert stage.send("admin", "PATCH", path, json={"active": True}).status_code == 200


def test_the_second_of_two_decisions_is_a_conflict(stage: Stage) -> None:
    request = stage.new_request(stage.product)
    configuration = stage.new_configuration(stage.product)
    approval = {"approve": True, "configuration_id": configuration, "version": 1}
    path = f"/requests/{request}/decision"
    assert stage.send("expert", "POST", path, json=approval).status_code == 200
    assert stage.send("expert", "POST", path, json=approval).status_code == 409
    assert stage.send("admin", "POST", path, json={"approve": False, "reason": "no"}).status_code == 409
    assert stage.send("expert", "GET", f"/requests/{request}").json()["state"] == "APPROVED"


def test_a_stale_version_changes_nothing(stage: Stage) -> None:
    product = stage.new_product()
    known = stage.send("provider", "GET", f"/products/{product}").json()
    change = {"version": known["version"], "title": "One"}
    assert stage.send("provider", "PATCH", f"/products/{product}", json=change).status_code == 200
    stale = stage.send("provider", "PATCH", f"/products/{product}", json={**change, "title": "Two"})
    assert stale.status_code == 409
    assert stage.send("provider", "GET", f"/products/{product}").json()["title"] == "One"


def test_pages_give_everything_once(stage: Stage) -> None:
    for _ in range(5):
        stage.new_request(stage.product, who="other_consumer")
    whole = stage.send("other_consumer", "GET", "/requests?mine=true&page_size=200").json()
    assert whole["next"] is None
    seen: list[str] = []
    cursor = ""
    while True:
        page = stage.send("other_consumer", "GET", f"/requests?mine=true&page_size=2&cursor={cursor}").json()
        assert 1 <= len(page["items"]) <= 2
        seen += [each["id"] for each in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert seen == [each["id"] for each in whole["items"]]
    assert len(seen) >= 5


def test_a_body_says_nothing_twice(stage: Stage) -> None:
    """Of two readers one takes the first value, one the last: what was looked at may not be what is kept."""
    twice = b'{"content": {"masks": {"age": "suppress"}, "masks": {"age": "identity"}}}'
    answer = stage.send(
        "expert",
        "POST",
        f"/products/{stage.product}/configurations",
        content=twice,
        headers={"Content-Type": "application/json"},
    )
    assert answer.status_code == 422
    assert "stands twice" in answer.text


def test_nobody_waits_for_the_name_service_that_somebody_else_asks(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with a key, by which the answer to an earlier call is looked for first."""
    written: list[str] = []

    def slowly(*_: Any, **__: Any) -> str:
        with stage.catalog.write(SYSTEM) as work:  # would wait for the lock of the one who asks
            work.record("signed out", ("user", stage.people["visitor"].actor.user_id or ""))
        written.append("meanwhile")
        return "93.184.216.34"

    monkeypatch.setattr(notification_choices, "checked_destination", slowly)
    answer = stage.send(
        "visitor",
        "PUT",
        "/me/notifications",
        cookie=True,
        json={"channel": "webhook", "webhook_url": "https://hooks.example/aegis"},
        headers={"Idempotency-Key": str(uuid.uuid4())},
    )
    assert answer.status_code == 200, answer.text
    assert answer.json()["secret"].startswith("whsec_")
    assert written == ["meanwhile"]
