"""An identity provider in a process of its own, and catalogs that know it."""

from __future__ import annotations

import html
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.catalog.pages.conftest import browser, served, visitor
from tests.catalog.service.conftest import CHEAP, Parts, empty_sqlite, new_stage, small_stage, stage

from aegis.catalog.server.app import create_site
from aegis.catalog.settings import OIDC_SECRET_VARIABLE, Settings, read_group_roles
from aegis.library import clinic

__all__ = ["browser", "empty_sqlite", "new_stage", "small_stage", "stage", "visitor"]
CLIENT, SECRET = "aegis catalog", "s3cret:of the client"
PUBLIC = "http://catalog.test"
ROLES = {"stewards": "expert", "boss": "admin", "clinic-team": ["consumer", "provider of clinic"]}


@dataclass(frozen=True)
class Provider:
    """Its address, and words to tell it how to behave."""

    issuer: str

    def say(self, **told: Any) -> None:
        WIRE.post(f"{self.issuer}/control", json=told).raise_for_status()

    def vouch_for(self, subject: str = "u-1", *, groups: Any = ("stewards",), **more: Any) -> None:
        claims = {"sub": subject, "preferred_username": "Ada.Lovelace", "name": "Ada Lovelace", "groups": groups}
        self.say(claims={**claims, **more})

    def settings(self, **more: Any) -> dict[str, Any]:
        return {
            "argon2_time_cost": 1,
            "argon2_memory_kib": 8,
            "public_url": PUBLIC,
            "oidc_issuer": self.issuer,
            "oidc_client_id": CLIENT,
            "oidc_roles": read_group_roles(ROLES),
            **more,
        }


WIRE = httpx.Client(verify=False, trust_env=False, timeout=60)
"""Speaks to the provider as somebody's browser would, in the clear on this machine."""


@pytest.fixture(scope="session")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Parts:
    """Columns of a product and nothing else: nobody here counts or releases."""
    columns = [
        {"name": name, "kind": "text", "role": role, "description": ""}
        for role, names in clinic.ROLES.items()
        for name in ([names] if isinstance(names, str) else names)
    ]
    return Parts(columns=columns, configurations={}, summary=b"", released={}, folder=tmp_path_factory.mktemp("none"))


@pytest.fixture(scope="session")
def running_provider() -> Iterator[Provider]:
    script = Path(__file__).parent / "openid_server.py"
    process = subprocess.Popen([sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    yield Provider(issuer=process.stdout.readline().strip())
    process.stdin.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=10)
    process.kill()
    process.stdout.close()


@pytest.fixture
def provider(running_provider: Provider, monkeypatch: pytest.MonkeyPatch) -> Provider:
    """As it is by default: whatever a test told it before is forgotten."""
    monkeypatch.setenv(OIDC_SECRET_VARIABLE, SECRET)
    running_provider.say()
    return running_provider


class Browser(httpx.Client):
    """Sends forms with their secret, and follows redirects to the provider's process and back."""

    def form(self, path: str, fields: dict[str, str] | None = None) -> httpx.Response:
        page = self.get("/sign-in" if not self.cookies.get("aegis_session") else "/account")
        secret = re.search(r'name="csrf" value="([^"]+)"', page.text)
        assert secret is not None
        return self.post(path, data={"csrf": secret[1], **(fields or {})})

    def visit_provider(self, path: str = "/sign-in/oidc") -> httpx.Response:
        """Out, agree, and back: the answer of the catalog to the browser that returns."""
        out = self.get(path)
        assert out.status_code == 303, out.text
        return self._come_back(out.headers["location"])

    def link_provider(self) -> httpx.Response:
        """Add the organisation's account as the account's page does: its form, the link of its answer, and back."""
        page = self.form("/account/organisation")
        assert page.status_code == 200, page.text
        way_out = re.search(r'<a class="button" href="([^"]+)" rel="noreferrer">', page.text)
        assert way_out is not None
        return self._come_back(html.unescape(way_out[1]))

    def _come_back(self, address: str) -> httpx.Response:
        back = WIRE.get(address)
        assert back.status_code == 302, back.text
        return self.get(here(back.headers["location"]))

    @property
    def notice(self) -> str:
        """What the next page says on top, read off it."""
        page = self.get("/account" if self.cookies.get("aegis_session") else "/sign-in")
        said = re.search(r'<div class="said[^>]*><p>([^<]+)', page.text)
        return said[1] if said else ""


def here(address: str) -> str:
    """An address of the catalog, as the test reaches it."""
    assert address.startswith(PUBLIC)
    return address.removeprefix(PUBLIC)


NewBrowser = Callable[[Any], Browser]


@pytest.fixture
def browse() -> Iterator[NewBrowser]:
    """``browse(stage)`` is a browser without cookies."""
    with ExitStack() as stack:
        urls: dict[int, str] = {}

        def make(on: Any) -> Browser:
            if id(on) not in urls:
                urls[id(on)] = stack.enter_context(served(create_site(on.catalog)))
            return stack.enter_context(Browser(base_url=urls[id(on)], timeout=60, verify=False))

        yield make


def cheap(**more: Any) -> Settings:
    return Settings(argon2_time_cost=1, argon2_memory_kib=8, heartbeat_seconds=CHEAP.heartbeat_seconds, **more)
