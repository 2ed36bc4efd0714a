"""The walk-through of `aegis serve --data`: one organisation, one command, from a table to a verified download."""

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
from pathlib import Path
from typing import Any

import httpx
import pytest

from aegis import Client
from aegis.library.clinic import write_clinic

PASSWORD = "correct horse battery"
TIMEOUT_S = 180.0


@contextlib.contextmanager
def _serving(folder: Path, *more: str) -> Iterator[dict[str, Any]]:
    command = [sys.executable, "-m", "aegis", "serve", "--port", "0", "--json", *more]
    settings = folder / "settings.yaml"
    settings.write_text("argon2_time_cost: 1\nargon2_memory_kib: 64\n", encoding="utf-8")
    places = {
        "AEGIS_DATABASE": str(folder / "catalog.sqlite"),
        "AEGIS_STORAGE": str(folder / "storage"),
        "AEGIS_SETTINGS": str(settings),
    }
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **places})
    try:
        assert process.stdout is not None
        lines = [process.stdout.readline()]
        while lines[-1] not in ("}\n", ""):
            lines.append(process.stdout.readline())
        told = json.loads("".join(lines))
        _until(lambda: _is_well(told["url"]))
        yield told
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        process.stdout.close()  # type: ignore[union-attr]


def _is_well(url: str) -> bool:
    with contextlib.suppress(httpx.HTTPError):
        return bool(httpx.get(f"{url}/api/v1/health", timeout=60).json() == {"status": "ok"})
    return False


def _until(reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not reached():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.2)


def _csrf(page: str) -> str:
    found = re.search(r'name="csrf" value="([^"]+)"', page)
    assert found is not None
    return found[1]


def _token(url: str, link: str, scopes: list[str], **more: str) -> str:
    """Choose a password on the page of a link, and make a token."""
    with httpx.Client(base_url=url, follow_redirects=True, timeout=60) as browser:
        sent = {"csrf": _csrf(browser.get(link).text), "password": PASSWORD, "again": PASSWORD, **more}
        assert browser.post(link, data=sent).status_code == 200
        csrf = _csrf(browser.get("/account").text)
        wanted = {"name": "laptop", "scopes": scopes}
        return str(browser.post("/api/v1/tokens", json=wanted, headers={"X-CSRF-Token": csrf}).json()["text"])


def test_from_a_table_to_a_verified_download_without_a_push(
    tmp_path: Path, aegis: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = tmp_path / "tables"
    table = write_clinic(tables, rows=400)
    with _serving(tmp_path, "--data", str(tables), "--owner", "ada") as told:
        url = told["url"]
        monkeypatch.setenv("AEGIS_URL", url)
        everything = ["read", "push", "decide", "admin"]
        admin = _token(url, told["setup_link"], everything, name="ada", display_name="Ada")
        monkeypatch.setenv("AEGIS_TOKEN", admin)
        said = {"Authorization": f"Bearer {admin}"}
        with httpx.Client(base_url=f"{url}/api/v1", headers=said, timeout=60) as api:
            invited = api.post("/users", json={"name": "carla", "display_name": "Carla"}).json()
            api.post(f"/users/{invited['user']['id']}/roles", json={"role": "consumer"})
        consumer = _token(url, f"{url}/link/{invited['secret']}", ["read", "request"])

        # What the owner does: say what the table is, and how it may be masked.
        assert aegis("push", "product", table, "--policy", tables / "policy.yaml", "--publish").status == 0
        strict = tables / "configurations" / "strict.yaml"
        assert aegis("push", "configurations", strict, "--product", "clinic").status == 0

        # What the machine does: it counts, and once somebody has approved, it releases.
        with Client(url, admin) as catalog, Client(url, consumer) as asking:
            _until(lambda: catalog.product("clinic").summary_id is not None)
            asked = asking.ask("clinic", purpose="to predict health", columns=["age", "gender", "health"], days=5)
            chosen = next(each for each in catalog.configurations("clinic") if each.name == "strict")
            catalog.approve(asked.id, chosen.id)
            _until(lambda: asking.request(asked.id).state == "PROVISIONED")
        monkeypatch.setenv("AEGIS_TOKEN", consumer)
        pulled = aegis("pull", asked.id, "--out", tmp_path / "home.csv", "--json")
        assert pulled.status == 0, pulled.err
        assert pulled.json["verified"]
        assert (tmp_path / "home.csv").read_text(encoding="utf-8").startswith("age,gender,health\n")


def test_a_folder_without_an_owner_is_refused_at_once(tmp_path: Path, aegis: Any) -> None:
    database = ["--database", tmp_path / "c.sqlite", "--storage", tmp_path / "s"]
    for given in (["--data", tmp_path], ["--owner", "ada"], ["--data", tmp_path / "nothing", "--owner", "ada"]):
        answer = aegis("serve", "--port", "0", *database, *given)
        assert answer.status == 2, given
        assert not (tmp_path / "c.sqlite").exists()
