"""A catalog with people in every role, served by a real server in this process."""

from __future__ import annotations

import itertools
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from aegis.catalog.client.client import packed
from aegis.catalog.server.app import create_site
from aegis.catalog.service import arrivals, configurations, people, products, requests, sessions, summaries, tokens
from aegis.catalog.service.catalog import Catalog
from aegis.catalog.service.permissions import Actor
from aegis.catalog.settings import Settings
from aegis.catalog.worker.loop import run_pending
from aegis.library.clinic import POLICY, ROLES, write_clinic
from aegis.library.release import release
from aegis.library.summarize import summarize

SETTINGS = Settings(
    argon2_time_cost=1,
    argon2_memory_kib=64,
    summary_bytes=4 << 20,
    release_bytes=2 << 20,
    certificate_bytes=1 << 20,
    heartbeat_seconds=2.0,
    jobs_queued_per_product=1000,
)
KINDS = {"age": "integer", "weight": "real", "visits": "integer", "smoker": "boolean", "admitted": "date"}
COLUMNS = [
    {"name": name, "kind": KINDS.get(name, "text"), "role": role}
    for role in ("identifying", "quasi_identifying", "sensitive", "insensitive")
    for name in ROLES[role]
] + [{"name": "health", "kind": "text", "role": "label"}]

# Who: a role, and whether it is for the product that is asked about.
PEOPLE = {
    "provider": ("provider", True),
    "expert": ("expert", True),
    "foreign_provider": ("provider", False),
    "foreign_expert": ("expert", False),
    "consumer": ("consumer", None),
    "other_consumer": ("consumer", None),
    "visitor": (None, None),
}
_numbers = itertools.count()


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody with a session and with a token of every scope."""

    name: str
    actor: Actor
    secret: str
    csrf: str
    token: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    @property
    def cookies(self) -> dict[str, str]:
        return {"Cookie": f"aegis_session={self.secret}", "X-CSRF-Token": self.csrf}


@dataclass(frozen=True, slots=True, kw_only=True)
class Clinic:
    """Files that a provider pushes."""

    folder: Path
    summary: Path
    released: Path
    certificate: Path

    @property
    def configuration(self) -> str:
        return (self.folder / "configurations" / "strict.yaml").read_text(encoding="utf-8")


@dataclass(slots=True, kw_only=True)
class Stage:
    """The catalog, its address, its people, and ways to put things into it."""

    catalog: Catalog
    url: str
    clinic: Clinic
    http: httpx.Client
    storage: Path
    people: dict[str, Person] = field(default_factory=dict)
    product: str = ""
    foreign_product: str = ""

    def send(
        self,
        who: str | None,
        method: str,
        path: str,
        *,
        cookie: bool = False,
        headers: dict[str, str] | None = None,
        **sent: Any,
    ) -> httpx.Response:
        """One call as somebody: with their token, or with the cookie of their session."""
        own = {} if who is None else self.people[who].cookies if cookie else self.people[who].headers
        return self.http.request(method, f"{self.url}/api/v1{path}", headers={**own, **(headers or {})}, **sent)

    def drafts(self) -> list[Path]:
        """What uploads left behind that were not entered."""
        return list((self.storage / "drafts").iterdir())

    def add(self, name: str, role: str | None = None, product: str | None = None) -> Person:
        """A new person."""
        admin = self.people["admin"].actor
        slug = name.replace("_", "-")
        with self.catalog.write(admin) as work:
            link = people.create_user(work, name=slug, display_name=name)
            assert link.user is not None
            if role is not None:
                people.assign(work, user_id=link.user.id, role=role, product=product)
        password = secrets.token_urlsafe(16)
        people.accept_link(self.catalog, secret=link.secret, password=password)
        self.people[name] = self.signed_in(slug, password)
        return self.people[name]

    def signed_in(self, name: str, password: str) -> Person:
        session = sessions.sign_in(self.catalog, name=name, password=password, address="127.0.0.1")
        return Person(
            name=name,
            actor=session.actor,
            secret=session.secret,
            csrf=session.csrf,
            token=self.token(session.actor, ["read", "request", "push", "decide", "admin"]),
        )

    def token(self, actor: Actor, scopes: list[str], *, product: str | None = None, days: int = 1) -> str:
        with self.catalog.write(actor) as work:
            return tokens.create_token(work, name="test", scopes=scopes, days=days, product=product).text

    def new_product(self, *, publish: bool = True, who: str = "provider") -> str:
        """A product of the provider, with the expert on it; gives its name."""
        name = f"clinic-{next(_numbers)}"
        with self.catalog.write(self.people["admin"].actor) as work:
            made = products.register(
                work, name=name, title="Clinic", columns=COLUMNS, label="health", policy=dict(POLICY)
            )
            if publish:
                products.publish(work, product=made.id)
            for role in ("provider", "expert"):
                person = self.people.get(role if who == "provider" else f"foreign_{role}")
                if person is not None:
                    people.assign(work, user_id=str(person.actor.user_id), role=role, product=made.id)
        return name

    def new_configuration(self, product: str) -> str:
        with self.catalog.write(self.people["admin"].actor) as work:
            return configurations.propose(work, product=product, content=self.clinic.configuration, name="strict")[0].id

    def new_summary(self, product: str) -> None:
        admin = self.people["admin"].actor
        with (
            packed(self.clinic.summary) as archive,
            summaries.incoming(self.catalog, admin, product=product, stream=archive) as checked,
            self.catalog.write(admin) as work,
        ):
            summaries.receive(work, checked)

    def new_request(self, product: str, *, who: str = "consumer", approved: bool = False) -> str:
        with self.catalog.write(self.people[who].actor) as work:
            made = requests.ask(work, product=product, purpose="to test access")
        if approved:
            with self.catalog.write(self.people["admin"].actor) as work:
                requests.decide(
                    work, request_id=made.id, approve=True, configuration_id=self.new_configuration_in(work, product)
                )
        return made.id

    def new_configuration_in(self, work: Any, product: str) -> str:
        return configurations.propose(work, product=product, content=self.clinic.configuration, name="strict")[0].id

    def new_release(self, product: str, *, request_id: str | None = None, verified: bool = True) -> str:
        admin = self.people["admin"].actor
        with (
            self.clinic.released.open("rb") as file,
            self.clinic.certificate.open("rb") as certificate,
            arrivals.incoming(
                self.catalog,
                admin,
                product=product,
                request_id=request_id,
                file=file,
                certificate=certificate,
                file_name=self.clinic.released.name,
            ) as checked,
            self.catalog.write(admin) as work,
        ):
            made = arrivals.receive(work, checked)
        if verified:
            run_pending(self.catalog)
        return made.id


@contextmanager
def serving(app: Any) -> Iterator[str]:
    """A real server of an app, in a thread."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=256)
    config = uvicorn.Config(app, log_config=None, log_level="critical", access_log=False, lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    deadline = time.monotonic() + 20
    while not server.started and time.monotonic() < deadline:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(20)
        listening.close()


@pytest.fixture(scope="session")
def serve() -> Callable[[Any], AbstractContextManager[str]]:
    """``with serve(app) as url``."""
    return serving


@pytest.fixture(scope="session")
def clinic_files(tmp_path_factory: pytest.TempPathFactory) -> Clinic:
    """What a provider makes at home: a summary, and a release with its certificate."""
    folder = tmp_path_factory.mktemp("provider")
    table = write_clinic(folder, rows=600)
    summarize(table, configs=folder / "configurations", out=folder / "summary", race=False)
    released = folder / "released.csv"
    release(
        table,
        config=folder / "configurations" / "strict.yaml",
        policy=folder / "policy.yaml",
        out=released,
    )
    return Clinic(
        folder=folder,
        summary=folder / "summary",
        released=released,
        certificate=folder / "released.csv.certificate.json",
    )


@contextmanager
def staged(database: str, storage: Path, files: Clinic, *, clock: Any = None) -> Iterator[Stage]:
    """A stage with everybody on it."""
    more = {} if clock is None else {"clock": clock}
    with (
        Catalog.open(database, storage, settings=SETTINGS, **more) as catalog,
        serving(create_site(catalog)) as url,
        httpx.Client(timeout=60, verify=False) as http,
    ):
        stage = Stage(catalog=catalog, url=url, clinic=files, http=http, storage=storage)
        link = people.setup_link(catalog)
        assert link is not None
        people.accept_link(catalog, secret=link.secret, password="a long password", name="admin", display_name="Admin")
        stage.people["admin"] = stage.signed_in("admin", "a long password")
        for name, (role, own) in PEOPLE.items():
            stage.add(name, role if own is None else None)
        stage.product = stage.new_product()
        stage.foreign_product = stage.new_product(who="foreign")
        for name in PEOPLE:  # roles were given after they signed in
            session = sessions.actor_of_session(catalog, secret=stage.people[name].secret)
            known = stage.people[name]
            stage.people[name] = Person(
                name=known.name, actor=session.actor, secret=known.secret, csrf=known.csrf, token=known.token
            )
        yield stage


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory, clinic_files: Clinic) -> Iterator[Stage]:
    """A stage on SQLite."""
    folder = tmp_path_factory.mktemp("stage")
    with staged(f"sqlite:///{folder / 'catalog.sqlite'}", folder / "storage", clinic_files) as made:
        yield made


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def each_stage(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, clinic_files: Clinic
) -> Iterator[Stage]:
    """A stage on each kind of database, for what two people do at once."""
    folder = tmp_path_factory.mktemp("stage")
    database = f"sqlite:///{folder / 'catalog.sqlite'}"
    if request.param == "postgres":
        database = request.getfixturevalue("new_postgres")()
    with staged(database, folder / "storage", clinic_files) as made:
        yield made
