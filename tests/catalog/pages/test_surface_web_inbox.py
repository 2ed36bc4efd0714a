"""The inbox in a real browser: a number in the head, by keyboard to what it is about, and how one is told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from aegis.catalog.service import requests, sessions


def test_what_is_new_is_counted_opened_and_read(battered_site: Any, visitor: Any) -> None:
    site = battered_site
    watched = visitor(site.url, site.sessions["expert"], javascript=False)
    watched.go("/products")
    page = watched.page
    assert page.locator(".bell").inner_text().split() == ["Inbox", "2", "new"]
    page.locator(".bell").click()
    page.locator(".inbox button").first.press("Enter")
    page.wait_for_url("**/requests/*")
    assert page.locator(".bell .number").inner_text().startswith("1")
    watched.go("/inbox")
    assert page.locator(".inbox .new").count() == 1
    page.get_by_role("button", name="Mark everything as read").click()
    assert page.locator(".bell .number").count() == 0
    assert page.get_by_role("status").inner_text() == "Everything is marked as read."


def test_a_decision_reaches_the_consumer(battered_site: Any, visitor: Any) -> None:
    site = battered_site
    consumer = sessions.actor_of_session(site.catalog, secret=site.sessions["consumer"]).actor
    with site.catalog.write(consumer) as work:
        asked = requests.ask(work, product=site.flow.product, purpose="to look")
    expert = sessions.actor_of_session(site.catalog, secret=site.sessions["expert"]).actor
    with site.catalog.write(expert) as work:
        requests.decide(work, request_id=asked.id, approve=False, reason="no need")
    watched = visitor(site.url, site.sessions["consumer"], width=390)
    watched.go("/inbox")
    first = watched.page.locator(".inbox li").first
    assert "was rejected" in first.inner_text()
    assert "no need" not in first.inner_text()
    assert watched.page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_how_one_is_told_is_one_form(battered_site: Any, visitor: Any) -> None:
    site = battered_site
    before = site.catalog.settings
    site.catalog.settings = replace(before, webhook_networks="127.0.0.0/8")
    try:
        watched = visitor(site.url, site.sessions["consumer"])
        watched.go("/account/notifications")
        page = watched.page
        assert page.get_by_label("By mail").count() == 0, "this catalog sends none"
        page.get_by_label("By a webhook").check()
        page.get_by_label("Address of the webhook").fill("https://10.0.0.1/hook")
        page.get_by_role("button", name="Save").click()
        assert "private network" in page.get_by_role("alert").inner_text()
        page.get_by_label("Address of the webhook").fill("http://127.0.0.1:9/hook")
        page.get_by_role("button", name="Save").click()
        assert page.locator(".secret").inner_text().startswith("whsec_")
        watched.go("/account/notifications")
        assert page.locator(".secret").count() == 0
        assert page.get_by_label("By a webhook").is_checked()
    finally:
        site.catalog.settings = before
