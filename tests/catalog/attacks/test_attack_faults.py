"""A disk that is full or may not be written, quotas, a clock that jumps, a database that starts again."""

from __future__ import annotations

import asyncio
import datetime
import errno
import os
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import select, text
from sqlalchemy.exc import OperationalError

from aegis.catalog import records
from aegis.catalog.database.connection import Database
from aegis.catalog.database.storage import FolderStore
from aegis.catalog.database.tables import Request, Setting, User, new_id
from aegis.catalog.server.api.calls import ApiRouter, ReadCall, WriteCall, reading
from aegis.catalog.server.app import create_site
from aegis.catalog.server.limits import RequestQuota
from aegis.catalog.service import people, products, requests, seen_requests, sessions, summaries
from aegis.catalog.service.catalog import Catalog, Work, again_if_undone
from aegis.catalog.service.permissions import SYSTEM, Actor
from aegis.catalog.service.sessions import actor_of_user
from aegis.catalog.settings import Settings
from aegis.catalog.states import RequestState
from aegis.catalog.worker import loop
from aegis.errors import (
    BrokenOffError,
    ConflictError,
    NotPermittedError,
    StorageFullError,
    TooLargeError,
    TooManyAttemptsError,
)

CHEAP = Settings(argon2_time_cost=1, argon2_memory_kib=64)
PASSWORD = "a password of nobody"
MIB = 1 << 20


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    with Catalog.open(f"sqlite:///{tmp_path / 'c.sqlite'}", tmp_path / "storage", settings=CHEAP) as made:
        link = people.setup_link(made)
        assert link is not None
        people.accept_link(made, secret=link.secret, password=PASSWORD, name="admin", display_name="Ada")
        yield made


def fuller(monkeypatch: pytest.MonkeyPatch, free: int) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(total=10**12, used=0, free=free))


def test_a_disk_that_runs_full_refuses_before_it_is_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FolderStore(tmp_path, reserve_bytes=100 * MIB)
    fuller(monkeypatch, 99 * MIB)
    with pytest.raises(StorageFullError, match="99 MiB left"):
        store.draft([b"x"], limit_bytes=10)
    left = iter([500 * MIB, 400 * MIB, 50 * MIB])
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=next(left)))
    with pytest.raises(StorageFullError):
        store.draft((b"x" * MIB for _ in range(200)), limit_bytes=1 << 30)
    assert list((tmp_path / "drafts").iterdir()) == []


@pytest.mark.parametrize(("number", "words"), [(errno.ENOSPC, "full"), (errno.EROFS, "may not be written")])
def test_what_the_disk_refuses_is_said_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, words: str
) -> None:
    store = FolderStore(tmp_path)

    def refused(*_: Any, **__: Any) -> Any:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("tempfile.mkstemp", refused)
    with pytest.raises(StorageFullError, match=words):
        store.draft([b"x"], limit_bytes=10)
    monkeypatch.setattr(Path, "mkdir", refused)
    with pytest.raises(StorageFullError, match=words):
        FolderStore(tmp_path / "other")


def asked(catalog: Catalog, path: str) -> httpx.Response:
    import asyncio

    async def get() -> httpx.Response:
        transport = httpx.ASGITransport(create_site(catalog), raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.get(path)

    return asyncio.run(get())


def test_health_says_that_the_disk_is_full(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(catalog, "/api/v1/health").status_code == 200
    fuller(monkeypatch, 1)
    answer = asked(catalog, "/api/v1/health")
    assert answer.status_code == 507
    assert answer.json()["type"] == "urn:aegis:problem:storage-full"


def test_a_database_that_may_not_be_written_is_a_sentence(catalog: Catalog) -> None:
    admin = sessions.sign_in(catalog, name="admin", password=PASSWORD, address="x").actor

    def register() -> None:
        with catalog.write(admin) as work:
            work.session.connection().exec_driver_sql("PRAGMA query_only=ON")
            columns = [{"name": "age", "kind": "integer", "role": "insensitive"}]
            products.register(work, name="x", title="x", columns=columns)

    with pytest.raises(StorageFullError, match="may not be written"):
        register()


@pytest.mark.parametrize("quota", ["stored_bytes_per_product", "stored_bytes_per_person"])
def test_a_product_and_a_person_have_a_quota(battered_site: Any, quota: str) -> None:
    site = battered_site
    provider = sessions.actor_of_session(site.catalog, secret=site.sessions["provider"]).actor
    sent: list[bytes] = []

    def stream() -> Iterator[bytes]:
        for _ in range(20):
            sent.append(b"x")
            yield b"x" * MIB

    def push(most: int) -> None:
        settings = replace(site.catalog.settings, **{quota: most})
        small = Catalog(database=site.catalog.database, store=site.catalog.store, settings=settings)
        with summaries.incoming(small, provider, product="clinic", stream=stream()):
            raise AssertionError("it was taken")

    with pytest.raises(ConflictError, match="quota"):
        push(1)
    assert sent == [], "not a byte was asked for"
    with pytest.raises(TooLargeError):
        push(10_000_000)
    assert len(sent) <= 10, "the rest stays with whoever sends it"


def test_requests_have_a_quota_and_get_it_back() -> None:
    now = [0.0]
    quota = RequestQuota(per_minute=60, clock=lambda: now[0])
    for _ in range(60):
        quota.take("ana")
    with pytest.raises(TooManyAttemptsError) as caught:
        quota.take("ana")
    assert caught.value.retry_after_seconds == 1
    quota.take("ben")
    now[0] += 2
    quota.take("ana")


class Clock:
    def __init__(self) -> None:
        self.ahead = datetime.timedelta()

    def __call__(self) -> datetime.datetime:
        return datetime.datetime.now(datetime.UTC) + self.ahead


def test_a_clock_that_jumps_ends_nothing_for_good_and_an_administrator_can_undo_it(tmp_path: Path) -> None:
    clock = Clock()
    with Catalog.open(
        f"sqlite:///{tmp_path / 'c.sqlite'}", tmp_path / "storage", settings=CHEAP, clock=clock
    ) as catalog:
        link = people.setup_link(catalog)
        assert link is not None
        people.accept_link(catalog, secret=link.secret, password=PASSWORD, name="admin", display_name="Ada")
        admin = sessions.sign_in(catalog, name="admin", password=PASSWORD, address="x").actor
        with catalog.write(admin) as work:
            columns = [
                {"name": "age", "kind": "integer", "role": "quasi_identifying"},
                {"name": "health", "kind": "text", "role": "label"},
            ]
            products.register(work, name="p", title="P", columns=columns, policy={"k": 2})
            products.publish(work, product="p")
            made = requests.ask(work, product="p", purpose="to see")
            invited = people.create_user(work, name="second", display_name="Bea").user
            assert invited is not None
            people.assign(work, user_id=invited.id, role="admin")
        second = sessions.actor_of_user(catalog, user_id=invited.id)  # nobody prolongs their own request
        stop = threading.Event()
        worker = threading.Thread(target=loop.run_worker, args=(catalog, stop), kwargs={"poll_seconds": 0.02})
        worker.start()
        time.sleep(0.3)
        clock.ahead = datetime.timedelta(days=800)
        time.sleep(0.5)
        with catalog.read(admin) as work:
            assert seen_requests.request(work, request_id=made.id).state is RequestState.EXPIRED, (
                "as long as it is so late"
            )
        clock.ahead = datetime.timedelta()
        with catalog.read(admin) as work:
            assert seen_requests.request(work, request_id=made.id).state is RequestState.PENDING
        stop.set()
        worker.join(10)
        clock.ahead = datetime.timedelta(days=800)
        loop.run_pending(catalog)  # a worker that was started when it was late already
        clock.ahead = datetime.timedelta()
        with catalog.read(admin) as work:
            assert seen_requests.request(work, request_id=made.id).state is RequestState.EXPIRED
        with catalog.write(second) as work:
            again = requests.reinstate(work, request_id=made.id, days=10)
        assert again.state is RequestState.PENDING
        with catalog.read(admin) as work:
            history = seen_requests.request(work, request_id=made.id).history
        assert "request reinstated" in [act.action for act in history]
        with pytest.raises(ConflictError), catalog.write(second) as work:
            requests.reinstate(work, request_id=made.id, days=10)


def test_only_an_administrator_undoes_an_expiry(battered_site: Any) -> None:
    provider = sessions.actor_of_session(battered_site.catalog, secret=battered_site.sessions["provider"]).actor
    with pytest.raises(NotPermittedError), battered_site.catalog.write(provider) as work:
        requests.reinstate(work, request_id=battered_site.flow.request_id, days=10)


def test_a_database_that_starts_again_is_waited_for(new_postgres: Any) -> None:
    database = Database.open(new_postgres(), wait_seconds=5.0)
    real, failures = database.engine.dialect.connect, iter([True, True, False])

    def away(*args: Any, **kwargs: Any) -> Any:
        if next(failures, False):
            import psycopg

            raise psycopg.OperationalError("the database system is starting up")
        return real(*args, **kwargs)

    database.engine.dispose()
    database.engine.dialect.connect = away  # type: ignore[method-assign]
    with database.read() as session:
        assert session.connection() is not None
    assert next(failures, None) is None
    database.close()


def test_a_database_that_stays_away_is_said_so_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    from sqlalchemy import create_engine

    pauses: list[float] = []
    clock = SimpleNamespace(monotonic=lambda: sum(pauses), sleep=pauses.append)  # only pauses take time
    monkeypatch.setattr("aegis.catalog.database.connection.time", clock)
    database = Database(create_engine(f"postgresql+psycopg://nobody@127.0.0.1:{port}/x"), wait_seconds=3.0)
    with pytest.raises(OperationalError), database.read():
        pass
    assert len(pauses) > 3, "it is asked again and again"
    assert 2.0 < sum(pauses) <= 3.0


def test_a_read_that_the_database_broke_off_is_tried_again(new_postgres: Any, tmp_path: Path) -> None:
    """The connection ends in the middle, as in a restart, and whoever asks gets the answer all the same."""
    with Catalog.open(new_postgres(), tmp_path / "store", settings=CHEAP) as catalog:
        router, tries = ApiRouter(), []

        def look(work: Work) -> records.Health:
            tries.append(new_id())
            if len(tries) == 1:
                work.session.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))
            return records.Health()

        router.reads("/x", "Anything", look)
        app = FastAPI()
        app.include_router(router)
        app.dependency_overrides[reading] = lambda: ReadCall(catalog=catalog, actor=SYSTEM)

        async def get() -> Any:
            async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client:
                return (await client.get("/x")).json()

        assert asyncio.run(get()) == {"status": "ok"}
        assert len(tries) == 2


def test_a_write_that_the_database_broke_off_is_done_once(new_postgres: Any, tmp_path: Path) -> None:
    """The connection ends before the commit, as in a restart: nothing happened, so it is done again."""
    with Catalog.open(new_postgres(), tmp_path / "store", settings=CHEAP) as catalog:
        for key in (None, "a-key"):
            tries: list[str] = []
            call = WriteCall(catalog=catalog, actor=_person(catalog, f"writer-{key}"), key=key, place="POST /x")

            def write(work: Work, tries: list[str] = tries) -> records.Health:
                tries.append(new_id())
                work.session.add(Setting(key=tries[-1], value={}))
                work.session.flush()
                if len(tries) == 1:
                    work.session.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))
                return records.Health()

            assert call.once(records.Health, write).status_code == 200
            assert len(tries) == 2
            with catalog.read(SYSTEM) as work:
                kept = set(work.session.scalars(select(Setting.key).where(Setting.key.in_(tries))))
            assert kept == {tries[1]}


def test_a_write_that_may_have_happened_is_repeated_only_with_a_key() -> None:
    for is_keyed in (False, True):
        tries: list[int] = []

        def act(tries: list[int] = tries) -> str:
            tries.append(1)
            if len(tries) == 1:
                raise BrokenOffError("at the last moment", undone=False)
            return "done"

        if is_keyed:
            assert again_if_undone(act, is_keyed=True, pause_s=0) == "done"
        else:
            with pytest.raises(BrokenOffError):
                again_if_undone(act, pause_s=0)
            assert len(tries) == 1


def _person(catalog: Catalog, name: str) -> Actor:
    with catalog.write(SYSTEM) as work:
        person = User(id=new_id(), name=name, display_name=name, password_hash=None, active=True, created_at=work.now)
        work.session.add(person)
    return actor_of_user(catalog, user_id=person.id)


def test_an_expiry_is_undone_on_the_page_of_the_request(battered_site: Any) -> None:
    site = battered_site
    consumer = sessions.actor_of_session(site.catalog, secret=site.sessions["consumer"]).actor
    with site.catalog.write(consumer) as work:
        made = requests.ask(work, product="clinic", purpose="to see")
        row = work.session.get_one(Request, made.id)
        row.expires_at = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    session = sessions.actor_of_session(site.catalog, secret=site.sessions["admin"])
    with httpx.Client(base_url=site.url, timeout=60) as client:
        client.cookies.set("aegis_session", site.sessions["admin"])
        assert "Undo the expiry" in client.get(f"/requests/{made.id}").text
        answer = client.post(f"/requests/{made.id}/reinstate", data={"csrf": session.csrf, "days": "10"})
        assert answer.status_code == 303
        assert "Undo the expiry" not in client.get(f"/requests/{made.id}").text
