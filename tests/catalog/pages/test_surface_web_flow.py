"""The whole flow in a real browser, with and without its script: from the first link to a verified download."""

from __future__ import annotations

import csv
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from starlette.types import ASGIApp

from aegis.catalog.server.app import create_site
from aegis.catalog.service import people
from aegis.catalog.service.catalog import Catalog
from aegis.library.clinic import ROLES, columns
from aegis.library.release import release
from aegis.library.summarize import summarize
from aegis.library.verify import verify

PASSWORD = "a clinic that nobody visits"
KINDS = {"age": "integer", "weight": "real", "visits": "integer", "smoker": "boolean", "admitted": "date"}
CANARY = "canary-4711"
CONFIGURATIONS = """
configurations:
  decades: {age: {bucketize: {width: 20}}, weight: {bucketize: {quantiles: 2}}, zip: suppress}
  hidden: {age: suppress, weight: suppress, zip: suppress, gender: suppress}
  generations: {age: {generalize: {level: 1}}, weight: suppress, zip: suppress}
hierarchies:
  age: [AGES]
"""


@dataclass(frozen=True)
class Console:
    """An empty catalog with its console and a worker."""

    url: str
    catalog: Catalog


@pytest.fixture
def console(
    tmp_path: Path,
    serve: Callable[[ASGIApp], AbstractContextManager[str]],
    fresh: Callable[[Path], AbstractContextManager[Catalog]],
    work: Callable[[Catalog], AbstractContextManager[None]],
) -> Iterator[Console]:
    with fresh(tmp_path) as catalog, serve(create_site(catalog)) as url, work(catalog):
        yield Console(url=url, catalog=catalog)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The provider's table; a few wards in it are rare, and nobody may ever see them."""
    drawn = columns(700, seed=3)
    drawn["ward"][:3] = [f"{CANARY}{i}" for i in range(3)]
    path = tmp_path_factory.mktemp("provider") / "visits.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(drawn)
        writer.writerows(zip(*drawn.values(), strict=True))
    lines = ["label: health", "identifying: [patient]", "quasi_identifying: [age, weight, zip, gender]"]
    lines += ["sensitive: [diagnosis]", "insensitive: [visits, smoker, admitted, ward]"]
    path.with_name("visits.roles.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("javascript", [True, False], ids=["with script", "without script"])
def test_from_the_first_link_to_a_verified_download(
    console: Console, visitor: Callable[..., Any], table: Path, tmp_path: Path, javascript: bool
) -> None:
    link = people.setup_link(console.catalog)
    assert link is not None
    admin = visitor(console.url, javascript=javascript)
    admin.go(f"/link/{link.secret}")
    admin.page.get_by_label("Full name").fill("Ada Admin")
    _choose_password(admin.page)
    assert admin.page.url.endswith("/welcome")
    _tour(admin, load=javascript)

    def join(name: str, role: str) -> Any:
        admin.go("/people")
        admin.page.get_by_label("Name", exact=True).fill(name)
        admin.page.get_by_label("Full name").fill(name.capitalize())
        admin.page.get_by_label(re.compile(f"^{role}:")).check()
        admin.page.get_by_role("button", name="Make the invitation").click()
        person = visitor(console.url, javascript=javascript)
        person.page.goto(admin.page.locator("#link").inner_text())
        _choose_password(person.page)
        return person

    provider, expert, consumer = join("pia", "provider"), join("emil", "expert"), join("cora", "consumer")
    _register(provider)
    _propose(expert, table)
    _push_summary(provider, table, tmp_path)
    _look_for_rare_values(expert)
    _ask(consumer)
    _decide(expert)
    _fulfil(provider, table, tmp_path)
    _download(consumer, tmp_path)

    _see_nothing_private(admin, [provider, expert, consumer])
    admin.go("/audit")
    admin.page.get_by_role("button", name="Verify the chain").click()
    assert "The chain is whole" in admin.page.get_by_role("status").first.inner_text()
    assert "release downloaded" in admin.page.inner_text("main").lower().replace(
        "downloaded release", "release downloaded"
    )


def _choose_password(page: Any) -> None:
    page.get_by_label("New password").fill(PASSWORD)
    page.get_by_label("The same password again").fill(PASSWORD)
    page.locator("main button[type=submit]").click()


def _tour(admin: Any, *, load: bool) -> None:
    """The wizard: one press, and every stop of the tour is there."""
    page = admin.page
    if not load:  # the same answer with and without a script; once is enough
        return
    page.get_by_role("button", name="Load the clinic").click()
    assert page.get_by_role("heading", level=1).inner_text() == "The clinic is loaded"
    stops = page.locator(".steps a").evaluate_all("links => links.map(link => link.getAttribute('href'))")
    assert len(stops) == 6
    for stop in stops:
        assert admin.go(stop).status == 200, stop
        assert page.locator("h1").count() == 1


def _register(provider: Any) -> None:
    page = provider.page
    provider.go("/register")
    page.get_by_label("Name", exact=True).first.fill("visits")
    page.get_by_label("Title").fill("Visits to a clinic")
    page.get_by_label(re.compile("^Description")).fill("Made-up patients.\n\nNobody in it exists.")
    for _ in range(2):  # six rows at first, four more each time
        page.get_by_role("button", name="Add more rows").click()
    assert page.locator("input[name=column]").count() == 14
    listed = [(role, name) for role, names in ROLES.items() for name in ([names] if isinstance(names, str) else names)]
    for i, (role, name) in enumerate(listed):
        page.locator("input[name=column]").nth(i).fill(name)
        page.locator("select[name=kind]").nth(i).select_option(KINDS.get(name, "text"))
        page.locator("select[name=role]").nth(i).select_option(role)
    page.get_by_label(re.compile("^Smallest group")).fill("4")
    page.get_by_role("button", name="Register").click()
    assert "draft" in page.inner_text("h1")
    page.get_by_role("button", name="Publish").click()
    assert "published" in page.get_by_role("status").first.inner_text()


def _propose(expert: Any, table: Path) -> None:
    """A file for most of them, and one written in the editor, with a look at what it does."""
    page = expert.page
    expert.go("/products/visits/configurations/more")
    with table.open(encoding="utf-8") as file:
        ages = sorted({row["age"] for row in csv.DictReader(file)})
    rows = ", ".join(f'["{age}", {"young" if int(age) < 45 else "old"}, "*"]' for age in ages)
    page.get_by_label(re.compile("^Paste it")).fill(CONFIGURATIONS.replace("[AGES]", f"[{rows}]"))
    page.get_by_role("button", name="Propose").click()
    assert "3 configurations are proposed" in page.get_by_role("status").first.inner_text()


def _push_summary(provider: Any, table: Path, tmp_path: Path) -> None:
    page = provider.page
    provider.go("/products/visits/summaries")
    with page.expect_download() as saved:
        page.get_by_role("link", name="configurations.yaml").click()
    saved.value.save_as(tmp_path / "configurations.yaml")
    summarize(table, configs=tmp_path / "configurations.yaml", level="1d", out=tmp_path / "summary")
    archive = shutil.make_archive(str(tmp_path / "summary-archive"), "zip", tmp_path / "summary")
    page.get_by_label(re.compile("^The summary folder")).set_input_files(archive)
    page.get_by_role("button", name="Upload and check").click()
    assert "700 records passed every check" in page.get_by_role("status").first.inner_text()


def _look_for_rare_values(expert: Any) -> None:
    """The editor shows what becomes of published values, and no page shows a rare one."""
    page = expert.page
    expert.go("/products/visits/configurations/new")
    page.get_by_label("Name", exact=True).fill("written-here")
    page.locator("select[name='mask.age']").select_option("bucketize")
    page.locator("select[name='mask.ward']").select_option("star_trailing")
    page.get_by_role("button", name="Preview").click()
    assert "[40, 50)" in page.inner_text("main")
    page.locator("input[name='set.age.width']").fill("25")
    page.get_by_role("button", name="Preview").click()
    assert "[25, 50)" in page.inner_text("main")
    assert CANARY not in page.content()
    page.get_by_role("button", name="Propose it").click()
    assert page.inner_text("h2").startswith("written-here")
    for path in ("", "/configurations", "/summaries", "/ranking", "/audit"):
        expert.go(f"/products/visits{path}")
        assert CANARY not in page.content()
        assert not re.search(r"P1\d{5}", page.content())


def _see_nothing_private(admin: Any, others: list[Any]) -> None:
    """When all is done: no rare value and no patient on any page of anybody."""
    found = [person.page.url.removeprefix(person.url) for person in others]  # request and release pages
    parts = ("", "/configurations", "/summaries", "/ranking", "/requests", "/releases", "/audit", "/croissant.json")
    for path in (*found, *(f"/products/visits{part}" for part in parts), "/", "/requests", "/jobs", "/audit"):
        text = admin.page.request.get(admin.url + path).text()
        assert CANARY not in text, path
        assert not re.search(r"P1\d{5}", text), path


def _ask(consumer: Any) -> None:
    page = consumer.page
    consumer.go("/products")
    page.get_by_label("Search the catalog").fill("clinic visits nobody has")
    page.keyboard.press("Enter")
    page.get_by_text("Nothing fits").wait_for()
    consumer.go("/products?q=visits")
    page.get_by_role("link", name="Visits to a clinic").click()
    page.get_by_role("link", name="Request access").click()
    page.get_by_label("Purpose").fill("Predict health from visits.")
    page.get_by_label("ward", exact=True).uncheck()
    page.get_by_label("For how many days").fill("30")
    page.get_by_role("button", name="Send the request").click()
    assert "waits for a decision" in page.inner_text("main")
    assert "Decide" not in page.inner_text("main")


def _decide(expert: Any) -> None:
    page = expert.page
    expert.go("/requests?state=PENDING")
    page.get_by_role("link", name="Visits to a clinic").click()
    page.get_by_role("button", name="Rank for this request").click()
    page.wait_for_url("**/requests/*", timeout=30_000)
    page.get_by_role("link", name="Look at the ranking").click()
    assert page.locator("svg.chart").count() >= 2
    page.go_back()
    choice = page.locator("#configuration option", has_text="decades").get_attribute("value")
    page.locator("#configuration").select_option(choice)
    page.get_by_role("button", name="Approve").click()
    assert "approved" in page.inner_text("h1 + p").lower()


def _fulfil(provider: Any, table: Path, tmp_path: Path) -> None:
    page = provider.page
    provider.go("/requests?state=APPROVED")
    page.get_by_role("link", name="Visits to a clinic").click()
    for name in ("decades.yaml", "policy.yaml"):
        with page.expect_download() as saved:
            page.get_by_role("link", name=name).click()
        saved.value.save_as(tmp_path / name)
    made = tmp_path / "visits.csv"
    told = re.search(r"--columns (\S+)", page.inner_text("main"))  # the consumer left one column out
    assert told is not None
    columns = told[1].split(",")
    assert "ward" not in columns
    policy = tmp_path / "policy.yaml"
    release(table, config=tmp_path / "decades.yaml", policy=policy, out=str(made), columns=columns)
    page.get_by_text("Or upload the file here").click()
    page.get_by_label("The released table").set_input_files(made)
    page.get_by_label("The certificate").set_input_files(tmp_path / "visits.csv.certificate.json")
    page.get_by_role("button", name="Upload and check").click()
    page.get_by_role("button", name=re.compile("^Download")).wait_for(timeout=30_000)


def _download(consumer: Any, tmp_path: Path) -> None:
    page = consumer.page
    consumer.go("/requests?mine=1")
    page.get_by_role("link", name="Visits to a clinic").click()
    page.get_by_role("link", name="Go to the release").click()
    folder = tmp_path / "home"
    folder.mkdir()
    with page.expect_download() as saved:
        page.get_by_role("button", name=re.compile("^Download")).click()
    saved.value.save_as(folder / saved.value.suggested_filename)
    with page.expect_download() as document:
        page.get_by_role("link", name="Certificate", exact=True).click()
    document.value.save_as(folder / document.value.suggested_filename)
    assert (folder / "visits.csv").read_bytes() == (tmp_path / "visits.csv").read_bytes()
    assert verify(folder / "visits.csv", folder / "visits.csv.certificate.json").verified
