"""Finding a product, seeing one's access, talking about a request and asking again, in a real browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from aegis.catalog.service import products, seen_requests
from aegis.library.clinic import write_clinic
from aegis.library.inspect import inspect


def test_a_search_is_narrowed_down_and_widened(battered_site: Any, visitor: Any) -> None:
    site = battered_site
    with site.catalog.write(site.admin) as work:
        version = products.product(work, product="clinic").version
        products.change(work, product="clinic", version=version, tags=["made up", "clinics & wards"])
    watched = visitor(site.url, site.sessions["consumer"], javascript=False, width=390)
    watched.go("/products")
    page = watched.page
    page.get_by_role("navigation", name="Tags").get_by_role("link", name="clinics & wards").click()
    assert page.locator(".rows h2").all_inner_texts() == ["A made-up clinic"]
    assert page.locator(".facets a[aria-current]").inner_text().startswith("clinics & wards")
    page.get_by_label("Search the catalog").fill("no such column")
    page.get_by_role("button", name="Search").click()
    assert "Nothing fits" in page.locator("main").inner_text()
    watched.go("/products?q=smoker")
    assert page.locator(".rows h2").count() == 1
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_a_product_shows_my_access_and_a_request_is_changed_and_asked_again(battered_site: Any, visitor: Any) -> None:
    site = battered_site
    watched = visitor(site.url, site.sessions["consumer"], javascript=False)
    watched.go("/products/clinic")
    page = watched.page
    access = page.locator("section.panel", has=page.get_by_role("heading", name="Your access"))
    assert "consumer" in access.inner_text()
    assert access.get_by_role("link", name="its release").count() == 1
    watched.go("/requests?state=PENDING")
    page.locator(".rows a").first.click()
    page.get_by_label("Say something").fill("Is that all right? <b>Really</b>")
    page.get_by_role("button", name="Send").click()
    assert "<b>Really</b>" in page.locator(".comments").inner_text()
    page.get_by_role("link", name="Change and ask again").click()
    assert page.get_by_label("Purpose").input_value() != ""
    page.get_by_label("weight").uncheck()
    page.get_by_role("button", name="Send the request").click()
    page.wait_for_url("**/requests/*")
    assert "weight" not in page.locator(".ledger").first.inner_text()
    with site.catalog.read(site.admin) as work:
        assert len(seen_requests.list_requests(work, state="PENDING").items) == 1, "the earlier one made room"


def test_the_page_of_a_release_names_every_column(battered_site: Any, visitor: Any) -> None:
    watched = visitor(battered_site.url, battered_site.sessions["consumer"])
    watched.go("/requests?state=PROVISIONED")
    watched.page.locator(".rows a").first.click()
    watched.page.get_by_role("link", name="Go to the release").click()
    table = watched.page.get_by_role("region", name="What was done to the columns")
    assert table.locator("tbody tr").count() == 11
    assert "Held by" in watched.page.locator("main").inner_text()


def test_a_product_is_registered_without_typing_its_columns(battered_site: Any, visitor: Any, tmp_path: Path) -> None:
    table = write_clinic(tmp_path, rows=60)
    printed = tmp_path / "clinic.json"
    printed.write_text(json.dumps(inspect(table).to_json()), encoding="utf-8")
    watched = visitor(battered_site.url, battered_site.sessions["provider"], javascript=False)
    watched.go("/register")
    page = watched.page
    page.get_by_label("Inspected table or roles file").set_input_files(tmp_path / "policy.yaml")
    page.get_by_role("button", name="Fill in the columns").click()
    assert "neither what aegis inspect" in page.get_by_role("alert").inner_text()
    page.get_by_label("Inspected table or roles file").set_input_files(printed)
    page.get_by_role("button", name="Fill in the columns").click()
    assert page.locator("input[name=column]").count() == 11
    page.get_by_label("Name", exact=True).first.fill("second-clinic")
    page.get_by_role("button", name="Register", exact=True).click()
    page.wait_for_url("**/products/second-clinic")
    with battered_site.catalog.read(battered_site.admin) as work:
        made = products.product(work, product="second-clinic")
    assert len(made.columns) == 11
    assert made.label == "health"
