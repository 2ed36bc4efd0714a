"""Forms and addresses that no page of ours makes: an answer in words, never a defect."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aegis.catalog.server.pages.page import PageRoute, page_routes
from aegis.catalog.service import sessions

WRITING = [route for route in page_routes() if route.method == "POST" and route.path not in ("/sign-out", "/welcome")]
READING = [route for route in page_routes() if route.method == "GET"]
FIELDS = (
    "name", "display_name", "password", "again", "old", "new", "title", "description", "column", "kind", "role",
    "meaning", "k", "l", "suppression", "policy", "version", "more", "count", "strength", "seed", "text", "do",
    "mask.age", "set.age.width", "set.age.edges", "spec.age", "purpose", "columns", "days", "measure", "decision",
    "configuration", "reason", "active", "roles", "product", "scopes", "next",
)  # fmt: skip
TRICKY = (
    "", "0", "-1", "1e400", "NaN", "99999999999999999999", "clinic", "age", "x" * 5000, "../../etc", "<b>", "approve",
    "reject", "save", "preview", "bucketize", "generalize", "=", "[1, 2", "{a: &x [*x]}", "&a [*a, *a]", "!!python/x y",
    "k: 5", "k: {}", "masks: {}", "age: {bucketize: {width: 0}}", "configurations: []", "label", "integer", "admin",
    "\u202e\u0000", "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"), "true", "[]", "null", "0x10",
)  # fmt: skip
values = st.one_of(st.sampled_from(TRICKY), st.text(max_size=40), st.integers().map(str))
forms = st.dictionaries(st.sampled_from(FIELDS), st.lists(values, min_size=1, max_size=3), max_size=8)


@pytest.fixture(scope="module")
def known(battered_site: Any) -> dict[str, list[str]]:
    """Names that exist, and some that do not."""
    flow = battered_site.flow
    return {
        "product": [flow.product],
        "request": [flow.request_id, flow.waiting_request_id],
        "release": [flow.release_id],
        "user": [str(battered_site.admin.user_id)],
    }


def address(route: PageRoute, known: dict[str, list[str]], draw: Any) -> str:
    def one(match: re.Match[str]) -> str:
        nonsense = st.sampled_from(["nowhere", "0" * 32, "%00", "..%2f..", "\u00e4", "a b", "'--", "%F0%9F%98%80"])
        return str(draw(st.one_of(st.sampled_from(known.get(match[1], ["nowhere"])), nonsense)))

    return re.sub(r"\{(\w+)\}", one, route.path)


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(data=st.data())
def test_no_form_breaks_a_page(battered_site: Any, known: dict[str, list[str]], data: st.DataObject) -> None:
    route = data.draw(st.sampled_from(WRITING))
    form = data.draw(forms)
    name = data.draw(st.sampled_from(sorted(battered_site.sessions)))
    secret = battered_site.sessions[name]
    csrf = sessions.actor_of_session(battered_site.catalog, secret=secret).csrf
    fields = [("csrf", csrf), *((key, value) for key, several in form.items() for value in several)]
    files = None
    if route.upload and data.draw(st.booleans()):
        content = data.draw(st.one_of(st.binary(max_size=200), st.sampled_from([b"PK\x03\x04", b"{}", b"a: b"])))
        files = dict.fromkeys(("summary", "file", "certificate"), ("../x.zip", content))
    path = address(route, known, data.draw)
    with httpx.Client(base_url=battered_site.url, timeout=30, verify=False) as client:
        client.cookies.set("aegis_session", secret)
        body = {key: [value for other, value in fields if other == key] for key, _ in fields}
        answer = client.post(path, data=body, files=files)
    assert answer.status_code < 500, (path, form, answer.text[:300])


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(data=st.data())
def test_no_address_breaks_a_page(battered_site: Any, known: dict[str, list[str]], data: st.DataObject) -> None:
    path = address(data.draw(st.sampled_from(READING)), known, data.draw)
    names = st.sampled_from(["q", "cursor", "state", "mine", "job", "from", "next", "request"])
    query = data.draw(st.dictionaries(names, values, max_size=3))
    with httpx.Client(base_url=battered_site.url, timeout=30, verify=False) as client:
        client.cookies.set(
            "aegis_session", battered_site.sessions[data.draw(st.sampled_from(sorted(battered_site.sessions)))]
        )
        answer = client.get(path, params=query)
    assert answer.status_code < 500, (path, query, answer.text[:300])
