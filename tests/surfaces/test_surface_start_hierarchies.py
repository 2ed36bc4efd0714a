"""Hierarchies on the page of ``aegis start --web``: looked at with the sizes of groups, changed, and used."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from aegis.commands.start import Start
from aegis.data.hierarchy import Hierarchy, read_hierarchies
from aegis.errors import HierarchyError
from aegis.library.guided.hierarchy_drafts import HierarchyDraft, edited
from aegis.library.guided.web import Site
from aegis.library.guided.web_session import Session
from aegis.library.tables.opening import find_hierarchies

CHROMIUM = Path("/usr/bin/chromium")
RARE = "03999"


def _people(folder: Path) -> Path:
    lines = ["age,zip,outcome"]
    for i in range(200):
        zip_code = RARE if i == 199 else f"0{2 + i % 2}1{i % 5}0"
        lines.append(f"{20 + i % 40},{zip_code},{'uv'[(i * i // 7) % 2]}")
    path = folder / "people.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def session(tmp_path: Path) -> Session:
    options = Start(str(_people(tmp_path)), web=True, candidates=("search",), quasi=("age", "zip"), seconds=600.0)
    session = Session(options)
    session.take("look", {"label": ["outcome"]})
    session.take("roles", {})
    session.take("policy", {"purpose": ["internal"]})
    assert session.stage == "compare", session.problem
    return session


def _draft(session: Session, column: str) -> HierarchyDraft:
    return next(draft for draft in session.hierarchy_drafts() if draft.column == column)


def test_levels_are_made_from_the_kind_of_values_and_counted(session: Session) -> None:
    age, zip_code = session.hierarchy_drafts()
    assert (age.source, zip_code.source) == ("made from integer values", "made from text values")
    assert len(age.levels) >= 2
    assert [level.preview.groups for level in age.levels] == sorted(
        (level.preview.groups for level in age.levels), reverse=True
    )
    first = age.levels[0]
    assert sum(group.rows for group in first.groups) == 200
    shown = {group.label for level in zip_code.levels for group in level.groups}
    assert not any(RARE[:4] in label for label in shown), "a group of one row is counted and not named"
    assert any(level.unshown for level in zip_code.levels)
    assert "/hierarchies" not in session.project.source


def test_what_is_changed_is_kept_where_every_search_looks(session: Session, tmp_path: Path) -> None:
    before = _draft(session, "age")
    first, second = before.levels[0].groups[:2]
    position = before.levels[0].position
    fields: dict[str, list[str]] = {
        "column": ["age"],
        "do": ["keep"],
        "keep": [str(position)],
        f"label-{position}-{first.place}": ["the young"],
        f"label-{position}-{second.place}": ["the young"],
    }
    session.take("hierarchies", fields)
    assert session.problem == ""
    after = _draft(session, "age")
    assert after.source == "from its file"
    assert len(after.levels) == 1
    assert after.levels[0].preview.groups == before.levels[0].preview.groups - 1, "two groups of one name are one"
    (young,) = [group for group in after.levels[0].groups if group.label == "the young"]
    assert young.rows == first.rows + second.rows
    found = find_hierarchies(None, session.project.source)
    assert found["age"].levels == 3
    assert "the young" in found["age"].groups(1)
    session.take("hierarchies", {"column": ["age"], "do": ["forget"]})
    assert _draft(session, "age").source == "made from integer values"
    assert read_hierarchies(tmp_path / "hierarchies") == {}


def test_a_search_goes_by_the_hierarchy_that_was_changed(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    draft = _draft(session, "age")
    position = draft.levels[0].position
    names = {f"label-{position}-{group.place}": [f"group {group.place}"] for group in draft.levels[0].groups}
    session.take("hierarchies", {"column": ["age"], "keep": [str(position)], **names})
    searching: Any = import_module("aegis.library.advising.searched_kind")
    used: list[Hierarchy] = []
    original = searching.search_classes

    def search_classes(table: Any, **options: Any) -> Any:
        used.append(options["hierarchies"]["age"])
        return original(table, **options)

    monkeypatch.setattr(searching, "search_classes", search_classes)
    session.take("compare", {})
    session.wait()
    assert session.problem == ""
    assert session.stage == "choose"
    assert "group 0" in used[0].groups(1)
    session.take("hierarchies", {"column": ["age"], "do": ["forget"]})
    assert session.stage == "compare", "candidates of another hierarchy are made anew"


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"column": ["outcome"]}, "a column that has no hierarchy was sent"),
        ({"column": ["age"], "keep": ["1"], "label-1-0": ["  "]}, "has no name; give one"),
    ],
)
def test_a_change_that_cannot_be_is_said(session: Session, fields: dict[str, list[str]], sentence: str) -> None:
    session.take("hierarchies", fields)
    assert sentence in session.problem
    assert find_hierarchies(None, session.project.source) == {}


def test_groups_that_are_joined_must_stay_together_above(session: Session) -> None:
    draft = _draft(session, "age")
    low, high = draft.levels[0], draft.levels[-1]
    ends = (low.groups[0], low.groups[-1])
    names = {(low.position, group.place): "both ends" for group in ends}
    with pytest.raises(HierarchyError, match="fall apart again"):
        edited(draft, kept={low.position, high.position}, names=names)


@pytest.fixture
def site(session: Session) -> Iterator[Site]:
    site = Site(session)
    thread = threading.Thread(target=site.run, daemon=True)
    thread.start()
    yield site
    site.stop()
    thread.join(60)


def test_the_page_is_there_when_candidates_are_next(site: Site) -> None:
    with urlopen(f"{site.address}hierarchies") as answer:
        page = answer.read().decode()
    assert "Groups that values fall into" in page
    assert RARE not in page
    assert "Look at the groups that values fall into" in site.page()
    with urlopen(f"{site.address}hierarchies", data=urlencode({"column": "nobody"}).encode()) as answer:
        assert answer.url.endswith("/hierarchies")
        assert "a column that has no hierarchy was sent" in answer.read().decode()
    site.session.take("back", {"to": ["roles"]})
    with pytest.raises(HTTPError, match="404"):
        urlopen(f"{site.address}hierarchies")


@pytest.mark.parametrize("width", [1_100, 400])
def test_hierarchies_are_changed_in_a_browser(site: Site, width: int) -> None:
    if not CHROMIUM.exists():
        pytest.skip(f"there is no {CHROMIUM}: install chromium to change hierarchies in a browser")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.set_default_timeout(180_000)  # a busy machine is no defect
        page.goto(site.address)
        page.get_by_role("link", name="Look at the groups").click()
        field = page.get_by_label("age, level 1, group 1", exact=True)
        field.fill("the young")
        page.get_by_role("button", name="Keep these for age").click()
        page.get_by_text("From its file").wait_for()
        assert page.get_by_label("age, level 1, group 1", exact=True).input_value() == "the young"
        assert int(page.evaluate("document.documentElement.scrollWidth")) <= width
        page.get_by_role("link", name="Back to the candidates").click()
        page.get_by_role("button", name="Make them").wait_for()
        browser.close()
    assert "the young" in find_hierarchies(None, site.session.project.source)["age"].groups(1)
