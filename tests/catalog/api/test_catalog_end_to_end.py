"""The whole flow as people do it: `aegis serve` as its own processes, a browser's forms, and the command line.

From the one-time link to a verified download, on SQLite and on PostgreSQL; then the record, a backup and its restore.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from aegis import Client
from aegis.errors import ConflictError, NotFoundError, NotPermittedError, NotSignedInError
from aegis.library.clinic import write_clinic
from aegis.library.release import release
from aegis.library.summarize import summarize

if TYPE_CHECKING:
    from tests.conftest import Answer
else:
    Answer = Any

Aegis = Callable[..., Answer]
PASSWORD = "correct horse battery"


@dataclass(frozen=True)
class Running:
    """A catalog that was started as users start it."""

    url: str
    setup_link: str
    process: subprocess.Popen[str]
    database: str
    storage: Path | str


@contextlib.contextmanager
def running(database: str, storage: Path | str, settings: Path) -> Iterator[Running]:
    settings.write_text("argon2_time_cost: 1\nargon2_memory_kib: 64\n", encoding="utf-8")
    places = {"AEGIS_DATABASE": database, "AEGIS_STORAGE": str(storage), "AEGIS_SETTINGS": str(settings)}
    environment = {**os.environ, **places}
    process = subprocess.Popen(
        [sys.executable, "-m", "aegis", "serve", "--port", "0", "--json"],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    try:
        assert process.stdout is not None
        lines = [process.stdout.readline()]
        while lines[-1] not in ("}\n", ""):
            lines.append(process.stdout.readline())
        told = json.loads("".join(lines))
        _until_well(told["url"])
        yield Running(told["url"], told["setup_link"], process, database, storage)
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        process.stdout.close()  # type: ignore[union-attr]


def _until_well(url: str) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        with contextlib.suppress(httpx.HTTPError):
            if httpx.get(f"{url}/api/v1/health", timeout=60).json() == {"status": "ok"}:
                return
        time.sleep(0.1)
    raise TimeoutError


def _csrf(page: str) -> str:
    found = re.search(r'name="csrf" value="([^"]+)"', page)
    assert found is not None, page[:400]
    return found[1]


@contextlib.contextmanager
def _accepted(url: str, link: str, **more: str) -> Iterator[httpx.Client]:
    """Choose a password on the page of a link; gives the browser, signed in."""
    with httpx.Client(base_url=url, follow_redirects=True, timeout=60, verify=False) as browser:
        page = browser.get(link)
        assert page.status_code == 200
        sent = {"csrf": _csrf(page.text), "password": PASSWORD, "again": PASSWORD, **more}
        assert browser.post(link, data=sent).status_code == 200
        assert browser.get(link).status_code == 404, "the link works twice"
        yield browser


def _api(browser: httpx.Client, method: str, path: str, content: Any) -> Any:
    csrf = _csrf(browser.get("/account").text)
    answer = browser.request(method, f"/api/v1{path}", json=content, headers={"X-CSRF-Token": csrf})
    assert answer.status_code < 300, answer.text
    return answer.json()


def _people(site: Running) -> dict[str, str]:
    """An administrator by the one-time link, three people by invitation; gives a token for each."""
    tokens = {}
    scopes = {"provider": ["read", "push"], "expert": ["read", "decide"], "consumer": ["read", "request"]}
    with _accepted(site.url, site.setup_link, name="admin", display_name="Admin") as admin:
        for name, listed in scopes.items():
            invited = _api(admin, "POST", "/users", {"name": name, "display_name": name.title()})
            _api(admin, "POST", f"/users/{invited['user']['id']}/roles", {"role": name})
            with _accepted(site.url, f"{site.url}/link/{invited['secret']}") as browser:
                tokens[name] = _api(browser, "POST", "/tokens", {"name": "laptop", "scopes": listed})["text"]
    return tokens


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_from_the_first_link_to_a_verified_download(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest, aegis: Aegis, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, storage = str(tmp_path / "catalog.sqlite"), str(tmp_path / "storage")
    if kind == "postgres":  # and, as far from a single machine as it goes, with the files in an object store
        database, storage = request.getfixturevalue("new_postgres")(), request.getfixturevalue("new_bucket")()
    home = tmp_path / "provider"
    table = write_clinic(home, rows=400)
    with running(database, storage, tmp_path / "settings.yaml") as site:
        tokens = _people(site)
        monkeypatch.setenv("AEGIS_URL", site.url)

        def as_(who: str, *arguments: object) -> Answer:
            monkeypatch.setenv("AEGIS_TOKEN", tokens[who])
            answer = aegis(*arguments)
            assert answer.status == 0, answer.err
            return answer

        # The provider registers the product, with what lies beside the data, and pushes counts.
        made = as_("provider", "push", "product", table, "--policy", home / "policy.yaml", "--publish", "--json").json
        assert (made["name"], made["state"]) == ("clinic", "published")
        summarize(table, configs=home / "configurations", out=home / "summary", race=False)
        as_("provider", "push", "configurations", home / "configurations", "--product", "clinic")
        pushed = as_("provider", "push", "summary", home / "summary", "--product", "clinic", "--json").json
        assert pushed["rows"] == 400

        # The consumer asks, the advisor ranks in the background, the expert approves.
        with Client(site.url, tokens["consumer"]) as consumer, Client(site.url, tokens["expert"]) as expert:
            asked = consumer.ask("clinic", purpose="to predict health", days=30)
            with pytest.raises(NotPermittedError):
                consumer.approve(asked.id, "0" * 32)
            job = expert.wait(expert.advise("clinic", request_id=asked.id).id, timeout_s=120)
            assert job.state == "done", job.error
            assert job.result is not None
            strict = next(each for each in expert.configurations("clinic") if each.name == "strict")
            assert expert.approve(asked.id, strict.id).state == "APPROVED"
            with pytest.raises(ConflictError):
                expert.reject(asked.id, "too late")

            # The provider releases at home and pushes; the catalog measures again; the consumer pulls and verifies.
            configuration = home / "configurations" / "strict.yaml"
            out = home / "released.csv"
            release(table, config=configuration, policy=home / "policy.yaml", out=out)
            sent = as_(
                "provider", "push", "release", out, "--product", "clinic", "--request", asked.id, "--json"
            ).json  # fmt: skip
            assert sent["state"] == "verified", sent
            assert consumer.request(asked.id).state == "PROVISIONED"
            got = as_("consumer", "pull", asked.id, "--out", tmp_path / "mine.csv", "--json").json
            assert got["verified"]
            assert (tmp_path / "mine.csv").read_bytes() == out.read_bytes()
            assert aegis("pull", asked.id, "--out", tmp_path / "mine.csv").status == 2, "it was overwritten"
            as_("consumer", "pull", "clinic", "--out", tmp_path / "again.csv")

            # Access ends.
            with Client(site.url, tokens["provider"]) as provider:
                assert provider.revoke(asked.id, "the study is over").state == "REVOKED"
                assert provider.croissant("clinic")["@type"].endswith("Dataset")
            monkeypatch.setenv("AEGIS_TOKEN", tokens["consumer"])
            assert aegis("pull", asked.id, "--out", tmp_path / "third.csv").status == 2
            assert not (tmp_path / "third.csv").exists()
            with pytest.raises(NotFoundError):
                consumer.product("nothing")
        with Client(site.url, "aegis_wrong") as nobody, pytest.raises(NotSignedInError):
            nobody.me()
        _record_and_backup(site, tmp_path, aegis)


def _record_and_backup(site: Running, folder: Path, aegis: Aegis) -> None:
    """While it runs: the record is intact, a backup is written, and a restore of it is the same catalog."""
    here = ("--database", site.database, "--storage", site.storage)
    known = aegis("audit", "verify", *here, "--json")
    assert known.status == 0
    assert known.json["intact"]
    assert known.json["rows"] > 20
    made = aegis("backup", folder / "backup.tar", *here, "--json")
    assert made.status == 0, made.err
    there = ("--database", folder / "restored.sqlite", "--storage", folder / "restored")
    assert aegis("restore", folder / "backup.tar", *there).status == 0
    again = aegis("audit", "verify", *there, "--head", known.json["head"], "--json")
    assert again.status == 0
    assert again.json["rows"] == made.json["audit_rows"]
    assert aegis("restore", folder / "backup.tar", *there).status == 2, "it was restored over a catalog"


def test_an_edit_of_the_record_is_found(tmp_path: Path, aegis: Aegis) -> None:
    import sqlite3

    from aegis.catalog.service.catalog import Catalog
    from aegis.catalog.service.people import accept_link, setup_link
    from aegis.catalog.settings import Settings

    path = tmp_path / "catalog.sqlite"
    here = ("--database", path, "--storage", tmp_path / "storage")
    quick = Settings(argon2_time_cost=1, argon2_memory_kib=64)
    with Catalog.open(str(path), tmp_path / "storage", settings=quick) as catalog:
        link = setup_link(catalog)
        assert link is not None
        accept_link(catalog, secret=link.secret, password=PASSWORD, name="admin", display_name="Admin")
    assert aegis("audit", "verify", *here).status == 0
    with sqlite3.connect(path) as connection:
        triggers = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for (name,) in triggers:  # whoever holds the file can remove these
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("UPDATE audit SET actor = 'somebody else' WHERE sequence = 1")
    connection.close()
    broken = aegis("audit", "verify", *here, "--json")
    assert broken.status == 1
    assert broken.json["first_broken"] == 1


def test_the_commands_say_what_is_missing(tmp_path: Path, aegis: Aegis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AEGIS_TOKEN", raising=False)
    assert "there is no catalog here" in aegis("audit", "verify").err
    assert not list(tmp_path.iterdir()), "a catalog was made by looking for one"
    assert "AEGIS_TOKEN" in aegis("pull", "clinic").err
    token = tmp_path / "token"
    token.write_text("aegis_x", encoding="utf-8")
    token.chmod(0o644)
    assert "others can read" in aegis("pull", "clinic", "--token-file", token).err
    token.chmod(0o600)
    unreachable = aegis("pull", "clinic", "--token-file", token, "--url", "http://catalog.example")
    assert "in the clear" in unreachable.err
    assert "in the clear" in aegis("serve", "--host", "0.0.0.0").err
    (tmp_path / "settings.yaml").write_text("release_bites: 5\n", encoding="utf-8")
    assert "names no setting" in aegis("serve", "--settings", tmp_path / "settings.yaml", "--port", "0").err


def test_a_client_tells_no_token(tmp_path: Path) -> None:
    with Client("http://127.0.0.1:1", "aegis_secret") as client:
        assert "secret" not in repr(client)
