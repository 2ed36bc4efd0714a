"""`aegis serve` with a certificate of its own: HTTPS only, secure cookies, and mistakes said before it listens."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from aegis import Client

PASSWORD = "correct horse battery"


@dataclass(frozen=True)
class Pair:
    certificate: Path
    key: Path


def _made(folder: Path, name: str, *more: str) -> Pair:
    """A self-signed certificate for this machine, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make a certificate with")
    pair = Pair(folder / f"{name}.pem", folder / f"{name}.key")
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-days", "2"),
            *("-keyout", str(pair.key), "-out", str(pair.certificate), "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", *(more or ("-nodes",))),
        ],
        check=True,
        capture_output=True,
    )
    return pair


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    return _made(tmp_path_factory.mktemp("tls"), "server")


@contextlib.contextmanager
def _serving(folder: Path, pair: Pair) -> Iterator[dict[str, Any]]:
    command = [sys.executable, "-m", "aegis", "serve", "--port", "0", "--json", "--no-worker"]
    command += ["--tls-certificate", str(pair.certificate), "--tls-key", str(pair.key)]
    places = {"AEGIS_DATABASE": str(folder / "catalog.sqlite"), "AEGIS_STORAGE": str(folder / "storage")}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **places})
    try:
        assert process.stdout is not None
        lines = [process.stdout.readline()]
        while lines[-1] not in ("}\n", ""):
            lines.append(process.stdout.readline())
        told = json.loads("".join(lines))
        _until_well(told["url"], pair)
        yield told
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        process.stdout.close()  # type: ignore[union-attr]


def _until_well(url: str, pair: Pair) -> None:
    deadline = time.monotonic() + 120
    context = ssl.create_default_context(cafile=str(pair.certificate))
    while time.monotonic() < deadline:
        with contextlib.suppress(httpx.HTTPError):
            if httpx.get(f"{url}/api/v1/health", timeout=60, verify=context).json() == {"status": "ok"}:
                return
        time.sleep(0.1)
    raise TimeoutError


def test_everything_goes_over_https_with_secure_cookies(
    tmp_path: Path, pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = ssl.create_default_context(cafile=str(pair.certificate))
    with _serving(tmp_path, pair) as told:
        url, link = told["url"], told["setup_link"]
        assert url.startswith("https://127.0.0.1:")
        assert link.startswith(url)
        with pytest.raises(httpx.HTTPError):
            httpx.get(url.replace("https://", "http://") + "/api/v1/health", timeout=60)
        with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
            httpx.get(f"{url}/api/v1/health", timeout=60, verify=ssl.create_default_context())
        with httpx.Client(base_url=url, timeout=60, verify=context) as browser:
            page = browser.get(link)
            assert page.headers["strict-transport-security"]
            csrf = re.search(r'name="csrf" value="([^"]+)"', page.text)
            assert csrf is not None
            sent = {"csrf": csrf[1], "password": PASSWORD, "again": PASSWORD, "name": "admin", "display_name": "A"}
            answers = [page, browser.post(link, data=sent)]
            cookies = [each for answer in answers for each in answer.headers.get_list("set-cookie")]
            assert any(each.startswith("aegis_session=") for each in cookies)
            assert all("secure" in each.lower() and "httponly" in each.lower() for each in cookies)
            csrf = re.search(r'name="csrf" value="([^"]+)"', browser.get("/account").text)
            assert csrf is not None
            wanted = {"name": "laptop", "scopes": ["read"]}
            made = browser.post("/api/v1/tokens", json=wanted, headers={"X-CSRF-Token": csrf[1]}).json()
        monkeypatch.setenv("SSL_CERT_FILE", str(pair.certificate))  # how aegis push and pull trust a private authority
        with Client(url, made["text"]) as catalog:
            assert list(catalog.products()) == []


def test_what_cannot_be_used_is_said_before_anything_listens(tmp_path: Path, pair: Pair, aegis: Any) -> None:
    other = _made(tmp_path, "other")
    locked = _made(tmp_path, "locked", "-passout", "pass:secret")
    (tmp_path / "text.pem").write_text("no certificate", encoding="utf-8")
    wrong = {
        "go together": (pair.certificate, None),
        "there is no file": (tmp_path / "nothing.pem", pair.key),
        "that it was made for": (pair.certificate, other.key),
        "cannot be used": (tmp_path / "text.pem", pair.key),
        "has a password": (locked.certificate, locked.key),
    }
    for said, (certificate, key) in wrong.items():
        given = ["--tls-certificate", certificate, *([] if key is None else ["--tls-key", key])]
        answer = aegis("serve", "--port", "0", "--database", tmp_path / "c.sqlite", *given)
        assert answer.status == 2, said
        assert said in " ".join(answer.err.split()), answer.err
        assert not (tmp_path / "c.sqlite").exists()
