"""Every page that a link leads to, for every role: it is there, says nothing it must not, and is quick."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from sqlalchemy import event

from aegis.catalog.service.catalog import Catalog

PEOPLE = ("admin", "provider", "expert", "consumer")
MOST_PAGES = 160
MOST_STATEMENTS, MOST_WITH_LEDGER, MOST_WITH_PREVIEWS = 14, 18, 32
"""Of one page, whatever its lists hold; where somebody decides, earlier releases and what was judged with it is asked
for too; previews ask some more for every column."""


class Links(HTMLParser):
    """The addresses that a page links to, and its forms."""

    def __init__(self) -> None:
        super().__init__()
        self.paths: list[str] = []
        self.open: list[str] = []
        self.broken: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "a" and (href := given.get("href")):
            self.paths.append(href)
        if tag not in ("input", "meta", "link", "br", "img", "hr", "source"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Shapes of a picture close themselves."""

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open[-1] != tag:
            self.broken.append(f"</{tag}> closes {self.open[-1] if self.open else 'nothing'}")
        while self.open and self.open.pop() != tag:
            pass


class Statements:
    """How many statements were sent to the database."""

    def __init__(self, catalog: Catalog) -> None:
        self.count = 0
        event.listen(catalog.database.engine, "before_cursor_execute", self._one)

    def _one(self, *_: object) -> None:
        self.count += 1


def person_of(sessions: dict[str, str], role: str) -> str:
    """The example's person of a role; their names begin with it or are it."""
    return next(secret for name, secret in sessions.items() if role in name)


@pytest.mark.parametrize("role", PEOPLE)
def test_every_link_leads_somewhere_and_shows_nothing_private(clinic_site: Any, role: str) -> None:
    sessions = clinic_site.sessions
    waiting, seen = ["/"], set[str]()
    asked = Statements(clinic_site.catalog)
    with httpx.Client(base_url=clinic_site.url, timeout=30) as client:
        client.cookies.set("aegis_session", person_of(sessions, role))
        while waiting and len(seen) < MOST_PAGES:
            path = waiting.pop(0)
            if path in seen:
                continue
            seen.add(path)
            asked.count = 0
            answer = client.get(path, follow_redirects=True)
            most = MOST_WITH_LEDGER if path.startswith("/requests/") else MOST_STATEMENTS
            most = MOST_WITH_PREVIEWS if "/configurations/" in path else most
            assert asked.count <= most, f"{path} asks the database {asked.count} times"
            assert answer.status_code == 200, (path, answer.status_code)
            assert not re.search(r"P1\d{5}", answer.text), f"{path} shows a patient"
            if not answer.headers["content-type"].startswith("text/html"):
                continue
            links = Links()
            links.feed(answer.text)
            assert not links.broken, (path, links.broken)
            assert not links.open, (path, links.open)
            for href in links.paths:
                target = urlsplit(href)
                assert not target.netloc, f"{path} links elsewhere"
                if target.path:
                    waiting.append(target.path + (f"?{target.query}" if target.query else ""))
    assert {"/products", "/requests", "/account", f"/products/{clinic_site.flow.product}"} <= seen
    assert ("/audit" in seen) == (role == "admin")


@pytest.mark.parametrize("role", ["provider", "expert", "consumer"])
@pytest.mark.parametrize("path", ["/people", "/audit", "/welcome"])
def test_what_belongs_to_administrators_is_refused(clinic_site: Any, role: str, path: str) -> None:
    with httpx.Client(base_url=clinic_site.url) as client:
        client.cookies.set("aegis_session", person_of(clinic_site.sessions, role))
        answer = client.get(path)
    assert answer.status_code == 403
    assert "Not allowed" in answer.text


def test_a_consumer_is_offered_nothing_that_others_decide(clinic_site: Any) -> None:
    with httpx.Client(base_url=clinic_site.url) as client:
        client.cookies.set("aegis_session", person_of(clinic_site.sessions, "consumer"))
        product = client.get(f"/products/{clinic_site.flow.product}").text
        for path in ("edit", "ranking", "requests", "releases", "audit", "configurations/new"):
            assert client.get(f"/products/{clinic_site.flow.product}/{path}").status_code in (403, 404), path
    assert "Edit" not in product
    assert "/audit" not in product
