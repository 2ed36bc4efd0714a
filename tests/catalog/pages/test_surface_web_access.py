"""Pages for everybody: names, headings, contrast in both themes, narrow windows, and the keyboard alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aegis.catalog.service import configurations, jobs, people
from aegis.catalog.service.permissions import SYSTEM

FOCUSABLE = """() => [...document.querySelectorAll(
  'a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]'
)].filter(element => element.checkVisibility()).length"""
CHECKS = (Path(__file__).parent / "looked_at.js").read_text(encoding="utf-8")


def paths(site: Any) -> list[str]:
    """One of every kind of page, as the administrator sees them all."""
    product = f"/products/{site.flow.product}"
    with site.catalog.read(site.admin) as work:
        one = configurations.list_configurations(work, product=site.flow.product)
        generalizing = next(c for c in one if c.content.get("hierarchies"))
        person = people.list_users(work).items[-1]
    return [
        "/", "/welcome", "/products", "/products?q=nothing-like-it", product, f"{product}/edit", "/register",
        f"{product}/configurations", f"{product}/configurations/{generalizing.id}", f"{product}/configurations/more",
        f"{product}/configurations/new?from={generalizing.id}", f"{product}/summaries", f"{product}/ranking",
        f"{product}/requests", f"{product}/releases", f"{product}/audit", "/requests", "/requests?state=REJECTED",
        f"/requests/{site.flow.request_id}", f"/requests/{site.flow.waiting_request_id}",
        f"/releases/{site.flow.release_id}", "/jobs", "/tokens", "/account", "/account/second-factor",
        "/account/keys", "/glossary",
        "/people", f"/people/{person.id}",
        "/audit", "/nowhere",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("dark", "width"), [(False, 1200), (True, 1200), (False, 400)], ids=["light", "dark", "narrow"]
)
def test_a_careful_reader_finds_no_fault(clinic_site: Any, visitor: Callable[..., Any], dark: bool, width: int) -> None:
    admin = visitor(clinic_site.url, clinic_site.sessions["admin"], dark=dark, width=width)
    nobody = visitor(clinic_site.url, dark=dark, width=width)
    faults: dict[str, list[str]] = {}
    for watched, path in [*((admin, path) for path in paths(clinic_site)), (nobody, "/sign-in"), (nobody, "/link/x")]:
        watched.go(path)
        watched.page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
        found = watched.page.evaluate(CHECKS)
        if found:
            faults[path] = found
    assert not faults, "\n".join(f"{path}: {said}" for path, listed in faults.items() for said in listed)


def test_the_checks_find_what_they_look_for(clinic_site: Any, visitor: Callable[..., Any]) -> None:
    """A check that cannot fail is none: a page with planted faults."""
    page = visitor(clinic_site.url).page
    page.set_content(
        "<html><body><h1>a</h1><h3>b</h3><input><a href='/'></a><svg></svg><p id='x' style='color:#aaa'>pale</p>"
        "<p id='x'></p><div style='width:3000px'>wide</div><table><tr><th>c</th></tr></table><nav></nav></body></html>"
    )
    said = " ".join(page.evaluate(CHECKS))
    for fault in (
        "no language", "h3 after h1", "a field without a name", "nothing to read", "picture without a title", "twice",
        "without scope", "contrast", "wider than the window", "inline style", "nav without a name",
    ):  # fmt: skip
        assert fault in said, fault


def test_everything_is_reached_by_keyboard_and_seen_when_it_is(clinic_site: Any, visitor: Callable[..., Any]) -> None:
    admin = visitor(clinic_site.url, clinic_site.sessions["admin"])
    page = admin.page
    for path in (
        "/products",
        f"/products/{clinic_site.flow.product}",
        f"/requests/{clinic_site.flow.waiting_request_id}",
    ):
        admin.go(path)
        wanted = page.evaluate(FOCUSABLE)
        reached, order = set(), []
        for _ in range(wanted + 3):
            page.keyboard.press("Tab")
            at = page.evaluate(
                """() => {
                  const e = document.activeElement;
                  if (e === document.body) return null;
                  window.seen ??= new Map();
                  if (!window.seen.has(e)) window.seen.set(e, window.seen.size);
                  const s = getComputedStyle(e);
                  const ringed = s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2;
                  return { number: window.seen.get(e), ringed, html: e.outerHTML.slice(0, 90) };
                }"""
            )
            if at is None:
                continue
            assert at["ringed"], f"{path}: no ring around {at['html']}"
            reached.add(at["number"])
            order.append(at["html"])
        assert len(reached) >= wanted, (path, wanted, len(reached))
        assert 'class="skip"' in order[0]
    admin.go("/products")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"


def test_progress_is_seen_live_and_without_a_script_by_loading_again(
    clinic_site: Any, visitor: Callable[..., Any]
) -> None:
    catalog, session = clinic_site.catalog, clinic_site.sessions["admin"]
    live, plain = visitor(clinic_site.url, session), visitor(clinic_site.url, session, javascript=False)
    live.go(f"/products/{clinic_site.flow.product}/ranking")
    live.page.get_by_label("By which measure").select_option("mutual-information")
    live.page.get_by_role("button", name="Start the advisor").click()
    live.page.get_by_text("Waits for a worker.").wait_for()
    job_id = live.page.url.rsplit("/", 1)[-1]
    plain.go(f"/jobs/{job_id}")
    assert plain.page.locator("meta[http-equiv=refresh]").count() == 1
    with catalog.write(SYSTEM) as work:
        assert jobs.claim(work, worker="by hand") is not None
        jobs.heartbeat(work, job_id=job_id, worker="by hand", progress=0.5, stage="counting sheep")
    live.page.evaluate("window.stayed = true")
    live.page.get_by_text("Counting sheep, 50 %.").wait_for()
    assert live.page.evaluate("window.stayed"), "the page was loaded again"
    assert live.page.locator("progress").evaluate("bar => bar.value") == 0.5
    assert live.page.locator("[aria-live=polite]").count() == 1
    plain.page.get_by_text("Counting sheep, 50 %.").wait_for()
    with catalog.write(SYSTEM) as work:
        assert jobs.fail(work, job_id=job_id, worker="by hand", error="the sheep ran away; count them again")
    for watched in (live, plain):
        watched.page.get_by_text("the sheep ran away").wait_for()
        assert watched.page.locator("progress, meta[http-equiv=refresh]").count() == 0
