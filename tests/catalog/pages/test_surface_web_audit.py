"""The page of the record: looked through by product, person, act and day, without a script; and products to choose."""

from __future__ import annotations

import datetime
import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from aegis.catalog.database.audit_chain import append
from aegis.catalog.database.tables import Audit
from aegis.catalog.server.pages.audit_pages import FilterForm
from aegis.catalog.service import products
from aegis.catalog.service.audit_log import keep_up

ROW = re.compile(r"<td>(?P<who>[^<]*)</td><td>(?P<what>[^<]*?) ?<", re.S)


def _browser(site: Any, who: str) -> httpx.Client:
    return httpx.Client(base_url=site.url, cookies={"aegis_session": site.sessions[who]}, timeout=60, verify=False)


def _rows(page: str) -> list[tuple[str, str]]:
    body = page.partition("<tbody>")[2].partition("</tbody>")[0]
    return [(found["who"], found["what"].strip()) for found in ROW.finditer(body)]


def test_the_record_is_looked_through_by_what_is_filled_in(clinic_site: Any) -> None:
    with _browser(clinic_site, "admin") as browser:
        everything = _rows(browser.get("/audit").text)
        assert len({who for who, _ in everything}) > 1
        by_expert = _rows(browser.get("/audit", params={"actor": "expert"}).text)
        assert {who for who, _ in by_expert} == {"expert"}
        approved = _rows(browser.get("/audit", params={"action": "request approved", "product": "clinic"}).text)
        assert approved == [("expert", "request approved")]
        today = datetime.datetime.now(datetime.UTC).date()
        later = (today + datetime.timedelta(days=2)).isoformat()
        assert "Nothing on the record fits." in browser.get("/audit", params={"since": later}).text
        assert _rows(browser.get("/audit", params={"until": later}).text) == everything
        same = {"product": "", "actor": "", "action": "", "since": "", "until": ""}
        assert _rows(browser.get("/audit", params=same).text) == everything


def test_how_much_a_summary_tells_is_said_in_words(clinic_site: Any) -> None:
    with _browser(clinic_site, "admin") as browser:
        page = browser.get("/audit", params={"action": "summary pushed"}).text
    assert "it tells each column with the label" in page
    assert "level 2d" not in page


def test_pages_keep_what_is_filled_in_and_lose_nothing(battered_site: Any) -> None:
    with battered_site.catalog.database.write() as session:
        at = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
        entries = [
            Audit(
                at=at,
                actor="ana",
                actor_id=None,
                action="signed in",
                subject="user",
                subject_id=f"{n:032x}",
                details={},
            )
            for n in range(45)
        ]
        append(session, entries)
        session.commit()
    path, seen = "/audit?actor=ana&action=signed+in", 0
    with _browser(battered_site, "admin") as browser:
        for _ in range(3):
            page = browser.get(path).text
            rows = _rows(page)
            assert set(rows) == {("ana", "signed in")}
            seen += len(rows)
            following = re.search(r'href="(/audit\?[^"]*cursor=[^"]*)"', page)
            if following is None:
                break
            path = following[1].replace("&amp;", "&")
            assert parse_qs(urlsplit(path).query)["actor"] == ["ana"]
    assert seen == 45


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"action": "something else"}, 422),
        ({"since": "tomorrow"}, 422),
        ({"since": "0001-01-01"}, 422),
        ({"since": "2026-02-02", "until": "2026-01-01"}, 422),
        ({"product": "no-such-product"}, 404),
        ({"actor": "x" * 500}, 422),
    ],
)
def test_a_field_that_makes_no_sense_is_said_on_the_page(clinic_site: Any, query: dict[str, str], status: int) -> None:
    with _browser(clinic_site, "admin") as browser:
        answer = browser.get("/audit", params=query)
    assert answer.status_code == status
    assert 'role="alert"' in answer.text
    assert 'name="since"' in answer.text  # the form is still there to mend it


def test_the_last_day_counts_to_its_end() -> None:
    wanted = FilterForm(since="2026-03-01", until="2026-03-01").wanted()
    assert wanted["until"] - wanted["since"] == datetime.timedelta(days=1)


def test_the_record_of_a_product_is_looked_through_as_well(clinic_site: Any) -> None:
    with _browser(clinic_site, "provider") as browser:
        page = browser.get("/products/clinic/audit", params={"action": "release verified"}).text
        assert _rows(page) == [("system", "release verified")]
        assert 'name="product"' not in page
        assert browser.get("/products/clinic/audit", params={"action": "nothing"}).status_code == 422


def test_products_are_chosen_and_not_guessed(battered_site: Any) -> None:
    site = battered_site
    with site.catalog.write(site.admin) as work:
        columns = [{"name": "age", "kind": "integer", "role": "quasi_identifying"}]
        products.register(work, name="secret-draft", title="A secret draft", columns=columns, policy={"k": 2})
        user = str(site.admin.user_id)
    with _browser(site, "admin") as browser:
        for path in ("/tokens", "/people", f"/people/{user}", "/audit"):
            page = browser.get(path).text
            chosen = re.search(r'<select id="product" name="product"[^>]*>(.*?)</select>', page, re.S)
            assert chosen is not None, path
            assert re.findall(r'value="([^"]*)"', chosen[1]) == ["", "clinic", "secret-draft"]
    with _browser(site, "consumer") as browser:  # what is not published is not offered either
        page = browser.get("/tokens").text
    assert 'value="clinic"' in page
    assert "secret" not in page


def test_where_there_are_too_many_products_a_name_is_typed_with_suggestions(
    battered_site: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aegis.catalog.service.products.MOST", 0)
    with _browser(battered_site, "admin") as browser:
        page = browser.get("/tokens").text
    assert 'list="products"' in page
    assert "Begin to type its name" in page


def test_the_page_says_what_was_walked_and_when(battered_site: Any) -> None:
    site = battered_site
    with _browser(site, "admin") as browser:
        csrf = re.search(r'name="csrf" value="([^"]+)"', browser.get("/audit").text)
        assert csrf is not None
        keep_up(site.catalog)
        assert "The whole chain was last walked" in browser.get("/audit").text
        told = browser.post("/audit", data={"csrf": csrf[1]}).text
        assert "The chain is whole as far as it was walked now" in told
        assert "Another walk waits for the worker" in browser.get("/audit").text
        keep_up(site.catalog)
        assert "Another walk waits" not in browser.get("/audit").text
