"""Every route × every role × owned or not: denied where it must be, allowed where it may be.

The routes are taken from the app itself: one that has no entry here fails the test.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import update

from aegis.catalog.database.tables import Assignment, Request
from aegis.catalog.server.api.app import description

if TYPE_CHECKING:
    from tests.catalog.api.conftest import Stage
else:
    Stage = Any

EVERYBODY = frozenset(
    {
        "admin",
        "provider",
        "expert",
        "foreign_provider",
        "foreign_expert",
        "consumer",
        "other_consumer",
        "visitor",
    }
)
ADMIN = frozenset({"admin"})
LONG_AGO = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
PROVIDER = ADMIN | {"provider"}
STAFF = PROVIDER | {"expert"}
EXPERT = ADMIN | {"expert"}
PROVIDERS = PROVIDER | {"foreign_provider"}
CONSUMERS = ADMIN | {"consumer", "other_consumer"}


@dataclass(frozen=True)
class Call:
    """What fills a route: names in its address, and what is sent."""

    names: dict[str, str] = field(default_factory=dict)
    query: dict[str, str] = field(default_factory=dict)
    json: Any = None
    files: Any = None
    content: bytes | None = None
    kind: str | None = None


@dataclass(frozen=True)
class Case:
    """Who may, and a call that is valid when it is they who make it (made anew for each person)."""

    who: frozenset[str]
    call: Callable[[Stage], Call]
    about: str = ""


def _product(stage: Stage) -> Call:
    return Call({"product": stage.product})


def _draft(stage: Stage) -> Call:
    return Call({"product": stage.new_product(publish=False)})


def _new_product(stage: Stage) -> Call:
    columns = [{"name": "a", "kind": "text", "role": "label"}]
    return Call(json={"name": f"made-{stage.new_product()}", "title": "Made", "columns": columns})


def _user(stage: Stage) -> Call:
    return Call({"user_id": str(stage.people["visitor"].actor.user_id)})


def _user_with(content: Any) -> Callable[[Stage], Call]:
    return lambda stage: Call(_user(stage).names, json=content)


def _with_role(stage: Stage) -> Call:
    from aegis.catalog.service import people

    names = {"user_id": str(stage.people["visitor"].actor.user_id)}
    role = {"role": "consumer", "product": stage.new_product()}
    with stage.catalog.write(stage.people["admin"].actor) as work:
        people.assign(work, **names, **role)
    return Call(names, json=role)


def _on(product: Callable[[Stage], Call], content: Any) -> Callable[[Stage], Call]:
    return lambda stage: Call(product(stage).names, json=content)


def _expired(stage: Stage) -> str:
    request_id = _request(stage)
    with stage.catalog.database.write() as session:
        session.execute(update(Request).where(Request.id == request_id).values(expires_at=LONG_AGO))
        session.commit()
    return request_id


def _request(stage: Stage, **more: Any) -> str:
    return stage.new_request(stage.product, **more)


def _configuration(stage: Stage) -> Call:
    return Call({"configuration_id": stage.new_configuration(stage.product)})


def _unused_configuration(stage: Stage) -> Call:
    """Of a product of its own: no approved request of another case waits for it."""
    return Call({"configuration_id": stage.new_configuration(stage.new_product())})


def _decision(stage: Stage) -> Call:
    return Call({"request_id": _request(stage)}, json={"approve": False, "reason": "not for this"})


def _own_decision(stage: Stage) -> Call:
    return Call({"request_id": _request(stage, who="admin")}, json={"approve": False, "reason": "mine"})


def _summary_archive(stage: Stage) -> Call:
    from aegis.catalog.client.client import packed

    with packed(stage.clinic.summary) as archive:
        return Call({"product": stage.product}, content=archive.read(), kind="application/gzip")


def _with_summary(stage: Stage) -> Call:
    stage.new_summary(stage.product)
    return Call({"product": stage.product})


def _draft_with_summary(stage: Stage) -> Call:
    product = stage.new_product(publish=False)
    stage.new_summary(product)
    return Call({"product": product})


def _ranked(stage: Stage) -> Call:
    from aegis.catalog.service import jobs
    from aegis.catalog.worker.loop import run_pending

    stage.new_summary(stage.product)
    with stage.catalog.write(stage.people["admin"].actor) as work:
        job = jobs.start_advice(work, product=stage.product)
    run_pending(stage.catalog)
    return Call({"product": stage.product, "job_id": job.id})


def _queued(stage: Stage) -> Call:
    from aegis.catalog.service import jobs

    stage.new_summary(stage.product)
    with stage.catalog.write(stage.people["admin"].actor) as work:
        return Call({"job_id": jobs.start_advice(work, product=stage.product).id})


def _release_form(stage: Stage) -> Call:
    request = _request(stage, approved=True)
    parts = [
        ("certificate", ("c.json", stage.clinic.certificate.read_bytes(), "application/json")),
        ("file", (stage.clinic.released.name, stage.clinic.released.read_bytes(), "text/csv")),
    ]
    return Call({"product": stage.product}, query={"request_id": request}, files=parts)


def _released(stage: Stage) -> Call:
    return Call({"release_id": stage.new_release(stage.product, request_id=_request(stage, approved=True))})


def _fulfilment(stage: Stage) -> Call:
    stage.new_configuration(stage.product)
    release = stage.new_release(stage.product)
    return Call({"request_id": _request(stage, approved=True)}, json={"release_id": release})


def _withdrawn(stage: Stage) -> Call:
    return Call(_released(stage).names, json={"reason": "a mistake"})


def _own_token(stage: Stage) -> Call:
    from aegis.catalog.service import tokens

    with stage.catalog.write(stage.people["visitor"].actor) as work:
        made = tokens.create_token(work, name="x", scopes=["read"], days=1)
    return Call({"token_id": made.token.id})


def _told_to_the_expert(stage: Stage) -> Call:
    from aegis.catalog.service import notifications

    _request(stage)
    with stage.catalog.read(stage.people["expert"].actor) as work:
        return Call({"notification_id": notifications.list_notifications(work).items[0].id})


def _session_of_the_visitor(stage: Stage) -> Call:
    from aegis.catalog.database.tables import SignIn
    from aegis.catalog.service import sessions

    visitor = stage.people["visitor"].actor
    with stage.catalog.write(visitor) as work:
        now = work.now
        later = now + datetime.timedelta(hours=1)
        hashed = f"{now.timestamp():.6f}".rjust(64, "0")
        work.session.add(
            SignIn(hash=hashed, user_id=visitor.user_id, csrf="c", created_at=now, expires_at=later, last_seen_at=later)
        )
        work.session.flush()
        return Call({"session_id": sessions.list_sessions(work)[0].id})


def _joint_verdict(stage: Stage) -> Call:
    from aegis.catalog.service import products

    with stage.catalog.read(stage.people["admin"].actor) as work:
        policy_id = products.product(work, product=stage.product).policy_id
    parts = [{"content_id": "0" * 12}, {"content_id": "1" * 12}]
    return Call(
        {"product": stage.product},
        json={"policy_id": policy_id, "verdicts": [{"parts": parts, "satisfied": True}]},
    )


def _new_key() -> dict[str, str]:
    import base64
    import secrets

    return {"name": "laptop", "public": f"aegis-ed25519 {base64.b64encode(secrets.token_bytes(32)).decode()}"}


def _own_key(stage: Stage) -> Call:
    from aegis.catalog.service import signing_keys

    with stage.catalog.write(stage.people["visitor"].actor) as work:
        return Call({"key_id": signing_keys.register(work, **_new_key()).id})


_MASK = {"column": "age", "mask": "suppress"}
_TOKEN = {"name": "t", "scopes": ["read"]}

TABLE: dict[tuple[str, str], list[Case]] = {
    ("GET", "/health"): [Case(EVERYBODY, lambda _: Call())],
    ("GET", "/me"): [Case(EVERYBODY, lambda _: Call())],
    ("GET", "/overview"): [Case(EVERYBODY, lambda _: Call())],
    ("GET", "/users"): [Case(ADMIN, lambda _: Call())],
    ("POST", "/users"): [
        Case(ADMIN, lambda stage: Call(json={"name": f"new-{stage.new_product()}", "display_name": "New"}))
    ],
    ("GET", "/users/{user_id}"): [Case(ADMIN, _user)],
    ("PATCH", "/users/{user_id}"): [Case(ADMIN, _user_with({"active": True}))],
    ("POST", "/users/{user_id}/reset"): [Case(ADMIN, _user)],
    ("POST", "/users/{user_id}/roles"): [Case(ADMIN, _user_with({"role": "consumer", "product": "nothing-here"}))],
    ("POST", "/users/{user_id}/roles/remove"): [Case(ADMIN, _with_role)],
    ("GET", "/products"): [Case(EVERYBODY, lambda _: Call())],
    ("POST", "/products"): [Case(PROVIDERS, _new_product)],
    ("GET", "/products/{product}"): [Case(EVERYBODY, _product), Case(STAFF, _draft, "draft")],
    ("PATCH", "/products/{product}"): [
        Case(PROVIDER, _on(_product, {"version": 1, "title": "Other"})),
        Case(PROVIDER, _on(_draft, {"version": 1, "title": "Other"}), "draft"),
    ],
    ("POST", "/products/{product}/publish"): [Case(PROVIDER, _draft, "draft")],
    ("POST", "/products/{product}/retire"): [Case(PROVIDER, lambda stage: Call({"product": stage.new_product()}))],
    ("GET", "/products/{product}/croissant"): [Case(EVERYBODY, _product), Case(STAFF, _draft, "draft")],
    ("GET", "/products/{product}/configurations"): [Case(EVERYBODY, _product), Case(STAFF, _draft, "draft")],
    ("POST", "/products/{product}/configurations"): [Case(STAFF, _on(_product, {"content": {"age": "suppress"}}))],
    ("POST", "/products/{product}/configurations/generate"): [Case(STAFF, _on(_with_summary, {"count": 1}))],
    ("POST", "/products/{product}/preview"): [
        Case(EVERYBODY, _on(_with_summary, _MASK)),
        Case(STAFF, _on(_draft_with_summary, _MASK)),
    ],
    ("GET", "/configurations/{configuration_id}"): [Case(EVERYBODY, _configuration)],
    ("GET", "/configurations/{configuration_id}/file"): [Case(EVERYBODY, _configuration)],
    ("POST", "/configurations/{configuration_id}/withdraw"): [Case(STAFF, _unused_configuration)],
    ("GET", "/products/{product}/summaries"): [Case(EVERYBODY, _product), Case(STAFF, _draft, "draft")],
    ("POST", "/products/{product}/summaries"): [Case(PROVIDER, _summary_archive)],
    ("GET", "/products/{product}/summary"): [Case(EVERYBODY, _with_summary)],
    ("GET", "/products/{product}/summary/file"): [Case(STAFF, _with_summary)],
    ("GET", "/products/{product}/histograms"): [Case(EVERYBODY, _with_summary), Case(STAFF, _draft, "draft")],
    ("POST", "/products/{product}/requests"): [Case(CONSUMERS, _on(_product, {"purpose": "to learn"}))],
    ("GET", "/requests"): [Case(EVERYBODY, lambda _: Call())],
    ("GET", "/requests/{request_id}"): [Case(STAFF | {"consumer"}, lambda s: Call({"request_id": _request(s)}))],
    ("POST", "/requests/{request_id}/decision"): [
        Case(EXPERT, _decision),
        Case(frozenset({"expert"}), _own_decision, "the administrator's own"),
    ],
    ("POST", "/requests/{request_id}/revoke"): [
        Case(PROVIDER, lambda s: Call({"request_id": _request(s, approved=True)}, json={"reason": "over"}))
    ],
    ("POST", "/requests/{request_id}/fulfilment"): [Case(PROVIDER, _fulfilment)],
    ("POST", "/requests/{request_id}/withdraw"): [
        Case(frozenset({"consumer"}), lambda s: Call({"request_id": _request(s)}))
    ],
    ("GET", "/requests/{request_id}/comments"): [
        Case(STAFF | {"consumer"}, lambda s: Call({"request_id": _request(s)}))
    ],
    ("POST", "/requests/{request_id}/comments"): [
        Case(STAFF | {"consumer"}, lambda s: Call({"request_id": _request(s)}, json={"words": "and why?"}))
    ],
    ("GET", "/facets"): [Case(EVERYBODY, lambda _: Call())],
    ("GET", "/releases/{release_id}/lineage"): [Case(STAFF | {"consumer"}, _released)],
    ("POST", "/requests/{request_id}/reinstate"): [
        Case(ADMIN, lambda s: Call({"request_id": _expired(s)}, json={"days": 3}))
    ],
    ("GET", "/products/{product}/releases"): [Case(EVERYBODY, _product), Case(STAFF, _draft, "draft")],
    ("POST", "/products/{product}/releases"): [Case(PROVIDER, _release_form)],
    ("GET", "/releases/{release_id}"): [Case(STAFF | {"consumer"}, _released)],
    ("GET", "/releases/{release_id}/certificate"): [Case(STAFF | {"consumer"}, _released)],
    ("GET", "/releases/{release_id}/file"): [Case(STAFF | {"consumer"}, _released)],
    ("POST", "/releases/{release_id}/withdraw"): [Case(PROVIDER, _withdrawn)],
    ("POST", "/products/{product}/advice"): [Case(STAFF, _with_summary)],
    ("GET", "/products/{product}/ranking"): [Case(STAFF, _ranked)],
    ("GET", "/jobs"): [Case(EVERYBODY, lambda _: Call())],
    ("GET", "/jobs/{job_id}"): [Case(STAFF, _ranked)],
    ("POST", "/jobs/{job_id}/cancel"): [Case(STAFF, _queued)],
    ("GET", "/products/{product}/ledger"): [Case(STAFF, _product), Case(STAFF, _draft, "draft")],
    ("POST", "/products/{product}/ledger/verdicts"): [Case(PROVIDER, _joint_verdict)],
    ("GET", "/dcat"): [Case(EVERYBODY, lambda _: Call())],
    ("GET", "/products/{product}/dcat"): [Case(EVERYBODY, _product), Case(STAFF, _draft, "draft")],
    ("GET", "/dsp/.well-known/dspace-version"): [Case(EVERYBODY, lambda _: Call())],
    ("POST", "/dsp/2025-1/catalog/request"): [Case(EVERYBODY, lambda _: Call(json={"@type": "CatalogRequestMessage"}))],
    ("GET", "/dsp/2025-1/catalog/datasets/{product}"): [Case(EVERYBODY, _product)],
    ("GET", "/keys"): [Case(EVERYBODY, lambda _: Call())],
    ("POST", "/keys"): [Case(EVERYBODY, lambda _: Call(json=_new_key()))],
    ("POST", "/keys/{key_id}/revoke"): [Case(frozenset({"visitor"}), _own_key)],
    ("GET", "/tokens"): [
        Case(EVERYBODY, lambda _: Call()),
        Case(ADMIN | {"visitor"}, lambda s: Call(query=_user(s).names), "of somebody else"),
    ],
    ("POST", "/tokens"): [Case(EVERYBODY, lambda _: Call(json=_TOKEN))],
    ("POST", "/tokens/{token_id}/revoke"): [Case(ADMIN | {"visitor"}, _own_token)],
    ("GET", "/sessions"): [Case(EVERYBODY, lambda _: Call())],
    ("POST", "/sessions/{session_id}/end"): [Case(frozenset({"visitor"}), _session_of_the_visitor)],
    ("GET", "/notifications"): [Case(EVERYBODY, lambda _: Call())],
    ("POST", "/notifications/seen"): [Case(EVERYBODY, lambda _: Call())],
    ("POST", "/notifications/{notification_id}/seen"): [Case(frozenset({"expert"}), _told_to_the_expert)],
    ("GET", "/me/notifications"): [Case(EVERYBODY, lambda _: Call())],
    ("PUT", "/me/notifications"): [Case(EVERYBODY, lambda _: Call(json={"channel": "inbox"}))],
    ("POST", "/me/notifications/code"): [Case(EVERYBODY, lambda _: Call(json={"code": "00000000"}))],
    ("GET", "/audit"): [
        Case(ADMIN, lambda _: Call()),
        Case(STAFF, lambda s: Call(query={"product": s.product}), "of a product"),
    ],
    ("GET", "/audit/verification"): [Case(ADMIN, lambda _: Call())],
    ("POST", "/audit/verification"): [Case(ADMIN, lambda _: Call())],
}


def _routes() -> set[tuple[str, str]]:
    return {
        (method.upper(), path.removeprefix("/api/v1"))
        for path, operations in description()["paths"].items()
        for method in operations
    }


def _sent(stage: Stage, who: str | None, method: str, path: str, call: Call, token: str | None = None) -> int:
    for name, value in call.names.items():
        path = path.replace(f"{{{name}}}", value)
    headers = {"Content-Type": call.kind} if call.kind else {}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    answer = stage.send(
        who,
        method,
        path,
        cookie=True,
        headers=headers,
        params=call.query,
        json=call.json,
        files=call.files,
        content=call.content,
    )
    return int(answer.status_code)


def test_every_route_has_its_entry() -> None:
    assert _routes() == set(TABLE)


@pytest.mark.parametrize(
    ("route", "case"),
    [
        pytest.param(route, case, id=f"{' '.join(route)} {case.about}")
        for route, cases in TABLE.items()
        for case in cases
    ],
)
def test_exactly_those_who_may_are_let_in(stage: Stage, route: tuple[str, str], case: Case) -> None:
    method, path = route
    denied = sorted(EVERYBODY - case.who)
    call = case.call(stage)
    for who in denied:
        assert _sent(stage, who, method, path, call) in (403, 404), f"{who} got in"
    if path != "/health":
        assert _sent(stage, None, method, path, call) == 401
    for who in sorted(case.who):
        if method != "GET" and "preview" not in path:  # what is only looked at stays as it is
            call = case.call(stage)
        status = _sent(stage, who, method, path, call)
        assert status in {200, 201, 202} | _ALSO.get(route, set()), f"{who} was answered {status}"


# A role for a product that does not exist: who may give roles gets to know that.
_ALSO = {
    ("POST", "/users/{user_id}/roles"): {404},
    ("PATCH", "/products/{product}"): {409},
    ("POST", "/me/notifications/code"): {422},  # a wrong code
}


_READING_BY_POST = {"/products/{product}/preview", "/dsp/2025-1/catalog/request"}
"""Nothing is written by these, so a token that may read may send them."""


@pytest.mark.parametrize("route", sorted(route for route in TABLE if route[0] != "GET"), ids=" ".join)
def test_a_token_that_may_only_read_writes_nothing(stage: Stage, route: tuple[str, str]) -> None:
    token = stage.token(stage.people["admin"].actor, ["read"])
    status = _sent(stage, None, *route, TABLE[route][0].call(stage), token)
    assert status in ((200,) if route[1] in _READING_BY_POST else (403, 404))


@pytest.mark.parametrize("route", sorted(route for route in TABLE if "{product}" in route[1]), ids=" ".join)
def test_a_token_of_another_product_finds_nothing(stage: Stage, route: tuple[str, str]) -> None:
    scopes = ["read", "request", "push", "decide", "admin"]
    token = stage.token(stage.people["admin"].actor, scopes, product=stage.foreign_product)
    status = _sent(stage, None, *route, TABLE[route][0].call(stage), token)
    assert status in (403, 404)


@contextmanager
def _of_groups(stage: Stage, *, days: int) -> Iterator[None]:
    """Every role but the administrator's is one that a group of the identity provider gave, for so many days more."""
    administrator = stage.people["admin"].actor.user_id
    others = update(Assignment).where(Assignment.user_id != administrator)
    until = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=days)
    with stage.catalog.database.write() as session:
        session.execute(others.values(valid_until=until))
        session.commit()
    try:
        yield
    finally:
        with stage.catalog.database.write() as session:
            session.execute(others.values(valid_until=None))
            session.commit()


_BY_ROLE = [
    pytest.param(route, case, id=f"{' '.join(route)} {case.about}")
    for route, cases in TABLE.items()
    for case in cases
    if "visitor" not in case.who and case.who - ADMIN
]


@pytest.mark.parametrize(("route", "case"), _BY_ROLE)
def test_a_role_that_a_group_gave_counts_like_any_other_until_it_lapses(
    stage: Stage, route: tuple[str, str], case: Case
) -> None:
    call = case.call(stage)
    for who in sorted(case.who - ADMIN):
        with _of_groups(stage, days=-1):
            status = _sent(stage, who, *route, call)
            theirs = who == "consumer" and route[1] != "/products/{product}/requests"  # a request stays its person's
            theirs = theirs or route[1].startswith("/notifications/")  # and so does what they were told
            assert status in (403, 404) or theirs, f"{who} got in with a role that lapsed"
    who = min(case.who - ADMIN)
    call = case.call(stage)
    with _of_groups(stage, days=1):
        status = _sent(stage, who, *route, call)
    assert status in {200, 201, 202} | _ALSO.get(route, set()), f"{who} was answered {status}"
