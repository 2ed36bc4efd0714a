"""A catalog of each kind with a cast of people, and a small clinic whose summary and releases are made once."""

from __future__ import annotations

import datetime
import io
import itertools
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from aegis.catalog import records
from aegis.catalog.database.connection import Database
from aegis.catalog.database.tables import Assignment, User, new_id
from aegis.catalog.records import UserRole
from aegis.catalog.service import arrivals, configurations, products, releases, requests, seen_requests, summaries
from aegis.catalog.service.catalog import Catalog, Work
from aegis.catalog.service.permissions import SYSTEM, Actor
from aegis.catalog.service.sessions import actor_of_user
from aegis.catalog.settings import Settings
from aegis.catalog.worker.loop import run_pending
from aegis.data.engine import open_dataset
from aegis.library import clinic
from aegis.library.release import release
from aegis.library.summarize import summarize
from aegis.library.tables.opening import find_hierarchies
from aegis.masking.configuration_file import load_configurations, many_to_mapping
from aegis.releases.certificate import certificate_paths

ROWS = 1_500
CHEAP = Settings(argon2_time_cost=1, argon2_memory_kib=8, heartbeat_seconds=30.0, summary_bytes=3_000_000)
_numbers = itertools.count()


class Clock:
    """A clock that stands still until it is moved, and never shows one moment twice."""

    def __init__(self) -> None:
        self.now = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)

    def __call__(self) -> datetime.datetime:
        self.now += datetime.timedelta(microseconds=1)
        return self.now

    def pass_by(self, **span: float) -> None:
        self.now += datetime.timedelta(**span)


def zipped(folder: Path) -> bytes:
    """A summary folder as a zip."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in [folder / "summary.json", *sorted((folder / "attributes").glob("*.json"))]:
            archive.writestr(path.relative_to(folder).as_posix(), path.read_bytes())
    return buffer.getvalue()


@dataclass(frozen=True, kw_only=True, repr=False)
class Parts:
    """What a provider's own machine made of the clinic."""

    columns: list[dict[str, str]]
    configurations: Mapping[str, Any]
    summary: bytes
    released: Mapping[str, tuple[bytes, bytes]]
    """By the name of the configuration: the file and its certificate."""
    folder: Path


@pytest.fixture(scope="session")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Parts:
    return _made_once(tmp_path_factory.getbasetemp() / "clinic-parts")


@cache
def _made_once(folder: Path) -> Parts:
    """For the tests of every folder that has this fixture."""
    folder.mkdir()
    table = clinic.write_clinic(folder, rows=ROWS)
    dataset = open_dataset(table)
    columns = [
        {"name": c.name, "kind": c.kind.value, "role": dataset.roles[c.name].value, "description": ""}
        for c in dataset.schema
    ]
    wanted = ("strict", "everything-hidden", "young-or-old")
    hierarchies = find_hierarchies(None, table)
    chosen = [c for c in load_configurations(folder / "configurations", hierarchies=hierarchies) if c.name in wanted]
    summarize(table, configs=chosen, out=folder / "summary")
    released = {}
    for configuration in chosen:
        if configuration.name == "young-or-old":
            continue
        out = folder / f"{configuration.name}.csv"
        release(table, config=configuration, policy=folder / "policy.yaml", out=out)
        released[configuration.name] = out.read_bytes(), certificate_paths(out)[0].read_bytes()
    return Parts(
        columns=columns,
        configurations=many_to_mapping(chosen),
        summary=zipped(folder / "summary"),
        released=released,
        folder=folder,
    )


@dataclass(kw_only=True, repr=False)
class Stage:
    """A catalog with people in it, and short words for what they do."""

    catalog: Catalog
    clock: Clock
    url: str
    parts: Parts
    _people: dict[str, str] = field(default_factory=dict)

    def actor(self, name: str) -> Actor:
        return actor_of_user(self.catalog, user_id=self._people[name])

    def user_id(self, name: str) -> str:
        return self._people[name]

    def person(self, name: str, *roles: UserRole, product_id: str | None = None) -> Actor:
        """Somebody with roles, without the detour over an invitation."""
        with self.catalog.write(SYSTEM) as work:
            if name not in self._people:
                person = User(
                    id=new_id(), name=name, display_name=name.title(), password_hash=None, active=True,
                    created_at=work.now,
                )  # fmt: skip
                work.session.add(person)
                work.session.flush()
                self._people[name] = person.id
            for role in roles:
                work.session.add(
                    Assignment(id=new_id(), user_id=self._people[name], role=role.value, product_id=product_id)
                )
        return self.actor(name)

    @contextmanager
    def write(self, name: str) -> Iterator[Work]:
        with self.catalog.write(self.actor(name)) as work:
            yield work

    @contextmanager
    def read(self, name: str) -> Iterator[Work]:
        with self.catalog.read(self.actor(name)) as work:
            yield work

    def product(self, name: str = "clinic", *, publish: bool = True) -> records.Product:
        """A product of the provider, with an expert of its own and consumers of everything."""
        with self.write("provider") as work:
            made = products.register(
                work, name=name, title="A clinic", columns=self.parts.columns, policy=clinic.POLICY
            )
            if publish:
                made = products.publish(work, product=name)
        self.person("expert", UserRole.EXPERT, product_id=made.id)
        return made

    def configurations(self, product: str = "clinic") -> dict[str, records.Configuration]:
        with self.write("expert") as work:
            made = configurations.propose(work, product=product, content=self.parts.configurations)
        return {each.name: each for each in made}

    def summary(
        self, product: str = "clinic", *, by: str = "provider", archive: bytes | None = None
    ) -> records.Summary:
        stream = io.BytesIO(self.parts.summary if archive is None else archive)
        actor = self.actor(by)
        with (
            summaries.incoming(self.catalog, actor, product=product, stream=stream) as checked,
            self.catalog.write(actor) as work,
        ):
            return summaries.receive(work, checked)

    def ask(self, product: str = "clinic", *, by: str = "consumer", **more: Any) -> records.AccessRequest:
        with self.write(by) as work:
            return requests.ask(work, product=product, purpose="to learn", **more)

    def approve(self, request_id: str, configuration_id: str, *, by: str = "expert") -> records.AccessRequest:
        with self.write(by) as work:
            return requests.decide(work, request_id=request_id, approve=True, configuration_id=configuration_id)

    def push(
        self,
        *,
        request_id: str | None = None,
        product: str | None = None,
        name: str = "strict",
        by: str = "provider",
        file: bytes | None = None,
        certificate: bytes | None = None,
        file_name: str = "clinic.csv",
        signature: bytes | None = None,
    ) -> records.Release:
        known = self.parts.released[name]
        actor = self.actor(by)
        with (
            arrivals.incoming(
                self.catalog,
                actor,
                product=product,
                request_id=request_id,
                file=io.BytesIO(known[0] if file is None else file),
                certificate=io.BytesIO(known[1] if certificate is None else certificate),
                file_name=file_name,
                signature=signature,
            ) as checked,
            self.catalog.write(actor) as work,
        ):
            return arrivals.receive(work, checked)

    def provisioned(self) -> tuple[records.AccessRequest, records.Release]:
        """A request that went all the way."""
        made = self.configurations()
        asked = self.ask()
        self.approve(asked.id, made["strict"].id)
        pushed = self.push(request_id=asked.id)
        run_pending(self.catalog)
        with self.read("provider") as work:
            return seen_requests.request(work, request_id=asked.id), releases.release(work, release_id=pushed.id)


@pytest.fixture(scope="session")
def empty_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated file to copy."""
    path = tmp_path_factory.mktemp("empty") / "catalog.sqlite"
    Database.open(str(path)).close()
    return path


NewStage = Callable[..., Stage]


@pytest.fixture
def new_stage(tmp_path: Path, empty_sqlite: Path, parts: Parts, request: pytest.FixtureRequest) -> Iterator[NewStage]:
    """Sets stages of a kind, with settings of one's own."""
    opened: list[Catalog] = []
    dropped: list[Callable[[], None]] = []

    def make(kind: str = "sqlite", *, settings: Settings = CHEAP, storage: str | None = None) -> Stage:
        number = next(_numbers)
        if kind == "sqlite":
            url = str(tmp_path / f"catalog-{number}.sqlite")
            shutil.copy(empty_sqlite, url)
        else:
            databases = request.getfixturevalue("postgres_catalogs")
            url = databases.make()
            dropped.append(partial(databases.drop, url))
        clock = Clock()
        place = tmp_path / f"store-{number}" if storage is None else storage
        catalog = Catalog.open(url, place, settings=settings, clock=clock, pool_size=4)
        opened.append(catalog)
        stage = Stage(catalog=catalog, clock=clock, url=url, parts=parts)
        stage.person("admin", UserRole.ADMIN)
        stage.person("provider", UserRole.PROVIDER)
        stage.person("consumer", UserRole.CONSUMER)
        return stage

    yield make
    for catalog in opened:
        catalog.close()
    for drop in dropped:
        drop()


@pytest.fixture(params=["sqlite", "postgres"])
def stage(request: pytest.FixtureRequest, new_stage: NewStage) -> Stage:
    """A catalog on each kind of database."""
    return new_stage(request.param)


@pytest.fixture
def small_stage(new_stage: NewStage) -> Stage:
    """A catalog on SQLite, for what does not depend on the database."""
    return new_stage("sqlite")
