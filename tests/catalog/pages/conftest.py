"""A real server on loopback with the clinic in it, and a real browser that fails on anything it complains about."""

from __future__ import annotations

import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn
from starlette.types import ASGIApp

from aegis.catalog.server.app import create_site
from aegis.catalog.service.catalog import Catalog
from aegis.catalog.service.permissions import Actor
from aegis.catalog.settings import Settings
from aegis.catalog.worker import clinic_example
from aegis.catalog.worker.loop import run_worker

if TYPE_CHECKING:
    from tests.catalog.conftest import ClinicFolder
else:
    ClinicFolder = Any

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
CHEAP = Settings(argon2_time_cost=1, argon2_memory_kib=64)
"""Passwords are checked in no time: what they cost is tested elsewhere."""


@contextmanager
def served(app: ASGIApp) -> Iterator[str]:
    """Serve an app on a free port of this machine."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off", timeout_graceful_shutdown=2))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(timeout=10)
        listening.close()


@pytest.fixture(scope="session")
def serve() -> Callable[[ASGIApp], AbstractContextManager[str]]:
    """``with serve(app) as url``."""
    return served


@contextmanager
def working(catalog: Catalog) -> Iterator[None]:
    """A worker beside it."""
    stop = threading.Event()
    thread = threading.Thread(target=run_worker, args=(catalog, stop), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(timeout=20)


@contextmanager
def opened(folder: Path) -> Iterator[Catalog]:
    """A new, empty catalog."""
    with Catalog.open(f"sqlite:///{folder / 'catalog.sqlite'}", folder / "store", settings=CHEAP) as catalog:
        yield catalog


@pytest.fixture(scope="session")
def fresh() -> Callable[[Path], AbstractContextManager[Catalog]]:
    """``with fresh(folder) as catalog``."""
    return opened


@pytest.fixture(scope="session")
def work() -> Callable[[Catalog], AbstractContextManager[None]]:
    """``with work(catalog)`` runs a worker."""
    return working


@dataclass(frozen=True)
class Clinic:
    """A console with the clinic's flow in it."""

    url: str
    catalog: Catalog
    flow: clinic_example.ClinicFlow
    sessions: dict[str, str] = field(repr=False)
    """The cookie of each person: admin, and those of the example."""
    admin: Actor


@contextmanager
def clinic_served(clinic: ClinicFolder, folder: Path) -> Iterator[Clinic]:
    """A console with the clinic's flow in it; nobody works on its jobs but the test."""
    shutil.copytree(clinic.folder, folder, dirs_exist_ok=True)
    with opened(folder) as catalog, served(create_site(catalog)) as url:
        yield Clinic(url=url, catalog=catalog, flow=clinic.flow, sessions=dict(clinic.sessions), admin=clinic.admin)


@pytest.fixture(scope="session")
def clinic_site(clinic_folder: ClinicFolder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clinic]:
    """To be looked at by many tests, and changed by none."""
    with clinic_served(clinic_folder, tmp_path_factory.mktemp("catalog")) as site:
        yield site


@pytest.fixture(scope="module")
def battered_site(clinic_folder: ClinicFolder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clinic]:
    """To be changed at will."""
    with clinic_served(clinic_folder, tmp_path_factory.mktemp("battered")) as site:
        yield site


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Debian's Chromium, driven by Playwright."""
    if not CHROMIUM.exists():
        pytest.skip(f"there is no {CHROMIUM}: install chromium to test the console in a browser")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield running
        running.close()


class Watched:
    """A page of the browser that remembers every complaint: console errors, failed loads, broken security policy."""

    def __init__(self, context: Any, url: str) -> None:
        self.url = url
        self.complaints: list[str] = []
        self.page = context.new_page()
        self.page.set_default_timeout(60_000)  # a busy machine is no defect
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.complaints.append(f"script: {error}"))
        self.page.on("requestfailed", lambda request: self._failed(request))

    def _heard(self, message: Any) -> None:
        # A status the test expects is checked by the test; everything else the browser calls an error is one.
        if message.type in ("error", "warning") and "the server responded with a status of" not in message.text:
            self.complaints.append(f"{message.type}: {message.text}")

    def _failed(self, request: Any) -> None:
        if "ERR_ABORTED" not in (request.failure or ""):  # a page that was left while it loaded, or a download
            self.complaints.append(f"failed: {request.url} {request.failure}")

    def go(self, path: str) -> Any:
        return self.page.goto(self.url + path)


@pytest.fixture
def visitor(browser: Any) -> Iterator[Any]:
    """``visitor(site url, cookie, javascript=…)`` opens a watched page; at the end none may have complained."""
    contexts: list[Any] = []
    watched: list[Watched] = []

    def open_page(
        url: str, session: str | None = None, *, javascript: bool = True, dark: bool = False, width: int = 1200
    ) -> Watched:
        context = browser.new_context(
            java_script_enabled=javascript,
            color_scheme="dark" if dark else "light",
            viewport={"width": width, "height": 900},
            accept_downloads=True,
        )
        if session is not None:
            context.add_cookies([{"name": "aegis_session", "value": session, "url": url}])
        contexts.append(context)
        watched.append(Watched(context, url))
        return watched[-1]

    yield open_page
    for context in contexts:
        context.close()
    complaints = [said for one in watched for said in one.complaints]
    assert not complaints, complaints
