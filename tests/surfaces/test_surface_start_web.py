"""``aegis start --web``: the same path as a page for this machine only, walked in a browser, and knocked at."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import yaml

from aegis.commands.start import Start
from aegis.library.guided.web import LOOPBACK, Site
from aegis.library.guided.web_session import Session

CHROMIUM = Path("/usr/bin/chromium")
CANARY = "C00017"


def _shop(folder: Path) -> Path:
    lines = ["customer_id,age,region,segment,outcome"]
    for i in range(160):
        age = 20 + (i * 7) % 40
        outcome = "good" if (age > 40) != (i * i // 11 % 5 == 0) else "bad"
        lines.append(f"C{i:05d},{age},{['north', 'south'][i % 2]},{'?' if i % 12 == 0 else 'abc'[i % 3]},{outcome}")
    path = folder / "mine.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    options = Start(str(_shop(tmp_path)), web=True, candidates=("masks",), generate=4)
    site = Site(Session(options))
    thread = threading.Thread(target=site.run, daemon=True)
    thread.start()
    yield site
    site.stop()
    thread.join(300)
    assert not thread.is_alive()


def _ask(
    site: Site, path: str, fields: dict[str, str] | None = None, **headers: str
) -> tuple[int, str, dict[str, str]]:
    connection = http.client.HTTPConnection(LOOPBACK, site.port, timeout=300)
    body = None if fields is None else urlencode(fields)
    connection.request("GET" if fields is None else "POST", path, body=body, headers=headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text, dict(answer.getheaders())


def _step(site: Site, step: str, **fields: str) -> None:
    status, _, headers = _ask(site, f"/{site.token}/{step}", fields)
    assert (status, headers["Location"]) == (303, f"/{site.token}/")
    site.session.wait()


def test_the_page_leads_to_a_release(site: Site, tmp_path: Path) -> None:
    session = site.session
    assert "Read ? as missing" in site.page()
    _step(site, "look", missing="yes", label="outcome")
    _step(site, "roles", **{"role-3": "sensitive"})
    assert session.project.roles is not None
    assert session.project.roles.sensitive == ("segment",)
    _step(site, "policy", purpose="internal", k="4")
    _step(site, "compare")
    assert session.problem == ""
    assert "Which one shall be released?" in site.page()
    _step(site, "choose")
    assert session.stage == "done", session.problem
    done = site.page()
    assert "nobody is singled out" in done
    status, report, _ = _ask(site, f"/{site.token}/report")
    assert status == 200
    assert CANARY not in done + report
    project = yaml.safe_load((tmp_path / "aegis.yaml").read_text(encoding="utf-8"))
    assert project["policy"]["k"] == 4
    assert project["release"]["out"] == "mine.released.csv"


def test_nobody_else_gets_in(site: Site) -> None:
    own = f"/{site.token}/"
    assert _ask(site, own)[0] == 200
    assert _ask(site, "/")[0] == 404
    assert _ask(site, "/guess/")[0] == 404
    assert _ask(site, own, Host="evil.example")[0] == 403, "a name that somebody points at this machine"
    assert _ask(site, own, Host=f"localhost:{site.port}")[0] == 403
    refused = _ask(site, f"{own}look", {"label": "outcome"}, Origin="http://evil.example")
    assert refused[0] == 403
    assert site.session.stage == "look"
    assert site.address.startswith("http://127.0.0.1:")


def test_nothing_is_loaded_from_elsewhere_and_nothing_is_kept(site: Site) -> None:
    _, page, headers = _ask(site, f"/{site.token}/")
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert headers["Cache-Control"] == "no-store"
    assert "<script" not in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page


@pytest.mark.parametrize(
    ("step", "fields", "said"),
    [
        ("look", {"label": "nothing"}, "a column that does not exist was sent"),
        ("roles", {"role-0": "king"}, "a role that does not exist was sent"),
        ("roles", {f"role-{n}": "insensitive" for n in range(4)}, "no column is quasi-identifying"),
        ("policy", {"purpose": "nobody"}, "a purpose that does not exist was sent"),
        ("policy", {"purpose": "public", "k": "-3"}, "k is a whole number from 1 up"),
    ],
)
def test_a_wrong_answer_is_said_and_the_step_stays(site: Site, step: str, fields: dict[str, str], said: str) -> None:
    for earlier, right in (("look", {"label": "outcome"}), ("roles", {})):
        if earlier == step:
            break
        _step(site, earlier, **right)
    _step(site, step, **fields)
    assert site.session.stage == step
    assert said in site.page()


def test_a_form_of_an_older_page_changes_nothing_and_a_step_can_be_taken_back(site: Site) -> None:
    _step(site, "look", label="outcome")
    _step(site, "look", label="region")
    assert site.session.label == "outcome"
    _step(site, "roles")
    _step(site, "back", to="roles")
    assert site.session.stage == "roles"
    _step(site, "back", to="look")
    assert site.session.stage == "look"
    _step(site, "end")
    assert site.session.stage == "look", "the page ends on its last step only"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if not CHROMIUM.exists():
        pytest.skip(f"there is no {CHROMIUM}: install chromium to walk the path in a browser")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox", "--disable-gpu"])
        yield running
        running.close()


@pytest.mark.parametrize("width", [1_100, 400])
def test_the_path_is_walked_in_a_browser(site: Site, browser: Any, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.set_default_timeout(180_000)  # a busy machine is no defect
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)

    def fits() -> bool:
        return int(page.evaluate("document.documentElement.scrollWidth")) <= width

    page.goto(site.address)
    assert fits()
    page.get_by_label("Which column shall be predicted?").select_option("outcome")
    page.get_by_role("button", name="Go on to roles").click()
    page.get_by_label("segment").select_option("sensitive")
    assert fits()
    page.get_by_role("button", name="These are right").click()
    page.get_by_label("internal research").check()
    assert fits()
    page.get_by_role("button", name="This must hold").click()
    page.get_by_role("button", name="Make them").click()
    page.get_by_role("heading", name="Which one shall be released?").wait_for()
    assert fits()
    page.get_by_role("button", name="Release it").click()
    page.get_by_role("heading", name="Released").wait_for()
    assert fits()
    page.get_by_role("link", name="mine.report.html").click()
    page.get_by_role("heading", name="Usefulness against risk").wait_for()
    assert fits()
    assert [text for text in complaints if "favicon" not in text and "404" not in text] == []
    page.close()
