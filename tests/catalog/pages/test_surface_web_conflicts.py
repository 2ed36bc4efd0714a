"""What goes wrong between people: stale pages, two decisions, files that are not what they claim. Nothing is lost."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import httpx
from starlette.types import ASGIApp

from aegis.catalog.server.app import create_site
from aegis.catalog.service import people, products, releases, seen_requests, sessions
from aegis.catalog.service.catalog import Catalog

Serve = Callable[[ASGIApp], AbstractContextManager[str]]
Fresh = Callable[[Path], AbstractContextManager[Catalog]]


@contextmanager
def as_person(site: Any, name: str) -> Iterator[tuple[httpx.Client, str]]:
    """A browser of somebody, with the secret of their forms."""
    secret = site.sessions[name]
    with httpx.Client(base_url=site.url, timeout=60, verify=False) as client:
        client.cookies.set("aegis_session", secret)
        yield client, sessions.actor_of_session(site.catalog, secret=secret).csrf


def asked(site: Any, purpose: str) -> str:
    """A new request of the example's consumer."""
    with as_person(site, "consumer") as (client, csrf):
        form = {"csrf": csrf, "purpose": purpose, "columns": ["age", "health"], "days": "10", "measure": ""}
        answer = client.post(f"/products/{site.flow.product}/request", data=form)
    assert answer.status_code == 303, answer.text
    return answer.headers["location"].rsplit("/", 1)[-1]


def test_a_page_that_is_too_old_changes_nothing_and_keeps_what_was_typed(battered_site: Any) -> None:
    path = f"/products/{battered_site.flow.product}/edit"
    with as_person(battered_site, "provider") as (client, csrf):
        page = client.get(path).text
        version = re.search(r'name="version" value="(\d+)"', page)
        assert version
        with battered_site.catalog.write(battered_site.admin) as work:
            products.change(
                work, product=battered_site.flow.product, version=int(version[1]), title="Changed meanwhile"
            )
        names = re.findall(r'name="column" value="([^"]+)"', page)
        form = {
            "csrf": csrf, "version": version[1], "title": "My title", "description": "typed with care", "k": "5",
            "column": names, "kind": ["text"] * len(names), "role": ["insensitive"] * len(names),
            "meaning": [""] * len(names),
        }  # fmt: skip
        answer = client.post(path, data=form)
        assert answer.status_code == 409
        assert 'role="alert"' in answer.text
        assert "typed with care" in answer.text
        assert "Changed meanwhile" in client.get(f"/products/{battered_site.flow.product}").text


def test_the_second_of_two_decisions_is_told_so(battered_site: Any) -> None:
    ident = asked(battered_site, "decided twice")
    with as_person(battered_site, "expert") as (client, csrf):
        page = client.get(f"/requests/{ident}").text
        version = re.search(r'name="version" value="(\d+)"', page)
        choice = re.search(r'<option value="([0-9a-f]{32})"', page)
        assert version
        assert choice
        form = {"csrf": csrf, "version": version[1], "configuration": choice[1], "reason": ""}
        assert client.post(f"/requests/{ident}/decide", data={**form, "decision": "approve"}).status_code == 303
        second = client.post(f"/requests/{ident}/decide", data={**form, "decision": "reject", "reason": "no"})
        assert second.status_code == 409
        assert 'role="alert"' in second.text
    with battered_site.catalog.read(battered_site.admin) as work:
        assert seen_requests.request(work, request_id=ident).state == "APPROVED"


def test_a_rejection_needs_a_reason_and_nobody_decides_their_own(battered_site: Any) -> None:
    ident = asked(battered_site, "rejected")
    with as_person(battered_site, "expert") as (client, csrf):
        form = {"csrf": csrf, "version": "1", "decision": "reject", "reason": " "}
        answer = client.post(f"/requests/{ident}/decide", data=form)
        assert answer.status_code == 422
        assert "reason" in answer.text
        assert client.post(f"/requests/{ident}/decide", data={**form, "decision": "maybe"}).status_code == 422
    with as_person(battered_site, "consumer") as (client, csrf):
        assert 'value="approve"' not in client.get(f"/requests/{ident}").text
        form = {"csrf": csrf, "version": "1", "decision": "approve", "reason": "for me"}
        assert client.post(f"/requests/{ident}/decide", data=form).status_code in (403, 404)
        withdrawn = client.post(f"/requests/{ident}/withdraw", data={"csrf": csrf, "version": "1"})
        assert withdrawn.status_code == 303
        assert "took the request back" in client.get(f"/requests/{ident}").text


def test_files_that_are_not_what_they_claim_are_refused_in_words(battered_site: Any) -> None:
    flow = battered_site.flow
    ident = asked(battered_site, "a wrong file")
    with as_person(battered_site, "expert") as (client, csrf):
        page = client.get(f"/requests/{ident}").text
        choice = re.search(r'<option value="([0-9a-f]{32})"', page)
        assert choice
        form = {"csrf": csrf, "version": "1", "decision": "approve", "configuration": choice[1], "reason": ""}
        assert client.post(f"/requests/{ident}/decide", data=form).status_code == 303
    with as_person(battered_site, "provider") as (client, csrf):
        true = client.get(f"/releases/{flow.release_id}/certificate.json").content
        for certificate in (true, b"{}", b"not json", true.replace(b'"classes"', b'"klasses"')):
            sent = {"file": ("clinic.csv", b"age,health\n1,good\n"), "certificate": ("c.json", certificate)}
            answer = client.post(f"/requests/{ident}/release", data={"csrf": csrf}, files=sent)
            assert answer.status_code in (409, 422), answer.status_code
            assert 'role="alert"' in answer.text
        for summary in (b"PK\x03\x04 not a zip", b"", b"\x1f\x8b"):
            answer = client.post(
                f"/products/{flow.product}/summaries", data={"csrf": csrf}, files={"summary": ("s.zip", summary)}
            )
            assert answer.status_code == 422
        answer = client.post(f"/products/{flow.product}/summaries", data={"csrf": csrf})
        assert "is missing" in answer.text
    with battered_site.catalog.read(battered_site.admin) as work:
        assert seen_requests.request(work, request_id=ident).state == "APPROVED"
        assert len(releases.list_releases(work, product=flow.product).items) == 1


def test_a_download_is_for_those_it_was_made_for_and_ends_with_the_access(battered_site: Any) -> None:
    flow = battered_site.flow
    with battered_site.catalog.write(battered_site.admin) as work:
        link = people.create_user(work, name="somebody-else", display_name="Somebody Else")
        assert link.user is not None
        people.assign(work, user_id=link.user.id, role="consumer")
    people.accept_link(battered_site.catalog, secret=link.secret, password="a password of their own")
    other = sessions.sign_in(
        battered_site.catalog, name="somebody-else", password="a password of their own", address="test"
    )
    battered_site.sessions["somebody-else"] = other.secret
    with as_person(battered_site, "somebody-else") as (client, csrf):
        for path in (f"/releases/{flow.release_id}", f"/requests/{flow.request_id}"):
            assert client.get(path).status_code == 404
        assert client.post(f"/releases/{flow.release_id}/download", data={"csrf": csrf}).status_code == 404
    with as_person(battered_site, "consumer") as (client, csrf):
        got = client.post(f"/releases/{flow.release_id}/download", data={"csrf": csrf})
        assert got.status_code == 200
        assert got.headers["content-disposition"].startswith("attachment")
        assert len(got.content) == int(got.headers["content-length"])
    with as_person(battered_site, "provider") as (client, csrf):
        page = client.get(f"/requests/{flow.request_id}").text
        version = re.search(r'name="version" value="(\d+)"', page)
        assert version
        form = {"csrf": csrf, "version": version[1], "reason": "the study ended"}
        assert client.post(f"/requests/{flow.request_id}/revoke", data=form).status_code == 303
    with as_person(battered_site, "consumer") as (client, csrf):
        assert client.post(f"/releases/{flow.release_id}/download", data={"csrf": csrf}).status_code in (403, 404, 409)
        assert "the study ended" in client.get(f"/requests/{flow.request_id}").text


def test_an_edited_record_is_shown_as_broken(tmp_path: Path, serve: Serve, fresh: Fresh) -> None:
    with fresh(tmp_path) as catalog, serve(create_site(catalog)) as url:
        link = people.setup_link(catalog)
        assert link is not None
        people.accept_link(catalog, secret=link.secret, password="an honest password", name="admin")
        session = sessions.sign_in(catalog, name="admin", password="an honest password", address="test")
        with catalog.database.engine.begin() as connection:  # whoever has the file can do this
            for (name,) in connection.exec_driver_sql("select name from sqlite_master where type = 'trigger'").all():
                connection.exec_driver_sql(f'drop trigger "{name}"')
            connection.exec_driver_sql("update audit set actor = 'nobody' where sequence = 2")
        with httpx.Client(base_url=url, timeout=60, verify=False) as client:
            client.cookies.set("aegis_session", session.secret)
            answer = client.post("/audit", data={"csrf": session.csrf})
    assert "The chain is broken at entry 2" in answer.text
    assert 'role="alert"' in answer.text


def test_a_link_works_once_and_passwords_must_agree(battered_site: Any) -> None:
    with as_person(battered_site, "admin") as (client, csrf):
        form = {"csrf": csrf, "name": "once", "display_name": "Once", "roles": ["expert"], "product": "clinic"}
        page = client.post("/people", data=form).text
        taken = client.post("/people", data=form)
        assert taken.status_code == 409
        assert 'value="once"' in taken.text
        nowhere = client.post("/people", data={**form, "name": "twice", "product": "no-such-product"})
        assert nowhere.status_code == 404
        assert "twice" not in client.get("/people").text, "half an invitation was left"
    found = re.search(r"(/link/[\w-]+)", page)
    assert found
    with httpx.Client(base_url=battered_site.url, timeout=60, verify=False) as client:
        secret = re.search(r'name="csrf" value="([^"]+)"', client.get(found[1]).text)
        assert secret
        form = {"csrf": secret[1], "password": "one long password", "again": "another long password"}
        assert client.post(found[1], data=form).status_code == 422
        assert client.post(found[1], data={**form, "password": "short", "again": "short"}).status_code == 422
        good = client.post(found[1], data={**form, "again": "one long password"})
        assert good.status_code == 303
        assert client.get(found[1]).status_code == 404
