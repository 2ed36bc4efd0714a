"""The database: migrated once by whoever comes first, refused when it is newer, and never half-written."""

from __future__ import annotations

import datetime
import os
import signal
import subprocess
import sys
import threading
import warnings

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import inspect, select, text

from aegis.catalog.database.connection import Database, parse_url
from aegis.catalog.database.tables import Setting, Table, User, new_id
from aegis.errors import EngineError, InputError

NOW = datetime.datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=datetime.UTC)


def test_the_migrations_make_exactly_the_tables_that_the_code_knows(database: Database) -> None:
    with database.engine.connect() as connection, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SQLite cannot reflect an index over an expression
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        different = compare_metadata(context, Table.metadata)
        found = set(inspect(connection).get_table_names())
    assert different == []
    assert found == set(Table.metadata.tables) | {"alembic_version"}


def test_a_database_is_opened_again_as_it_was(url: str) -> None:
    first = Database.open(url)
    with first.write() as session:
        session.add(Setting(key="a", value={"b": [1, 2.5, "ü"]}))
        session.commit()
    first.close()
    second = Database.open(url)
    with second.read() as session:
        assert session.get_one(Setting, "a").value == {"b": [1, 2.5, "ü"]}
    second.close()


def test_several_processes_may_open_an_empty_database_at_once(url: str) -> None:
    problems: list[BaseException] = []

    def start() -> None:
        try:
            Database.open(url).close()
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


def test_a_newer_database_is_refused(url: str) -> None:
    first = Database.open(url)
    with first.write() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '9999'"))
        session.commit()
    first.close()
    with pytest.raises(InputError, match="newer Aegis"):
        Database.open(url)


def test_moments_come_back_as_they_went_in(database: Database) -> None:
    elsewhere = NOW.astimezone(datetime.timezone(datetime.timedelta(hours=5)))
    with database.write() as session:
        session.add(_user(created_at=elsewhere))
        session.commit()
    with database.read() as session:
        found = session.scalars(select(User)).one().created_at
    assert found == NOW
    assert found.utcoffset() == datetime.timedelta(0)


def test_what_is_not_committed_did_not_happen(database: Database) -> None:
    with database.write() as session:
        session.add(_user())
        session.flush()
    with database.read() as session:
        assert session.scalars(select(User)).all() == []


def test_foreign_keys_are_enforced(database: Database) -> None:
    with database.engine.connect() as connection, pytest.raises(Exception, match=r"(?i)foreign key"):
        connection.execute(
            text("INSERT INTO sign_ins VALUES ('h', 'nobody', 'c', '2026-01-01', '2026-01-01', '2026-01-01')")
        )


_WRITER = """
import sys
from aegis.catalog.database.connection import Database
from aegis.catalog.database.tables import Setting
database = Database.open(sys.argv[1])
for number in range(100_000):
    with database.write() as session:
        session.add(Setting(key=str(number), value={}))
        session.commit()
    print(number, flush=True)
"""


def test_every_acknowledged_write_survives_the_death_of_its_process(url: str) -> None:
    writer = subprocess.Popen([sys.executable, "-c", _WRITER, url], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    for _ in range(20):
        writer.stdout.readline()
    os.kill(writer.pid, signal.SIGKILL)
    told = [int(line) for line in writer.stdout.read().split()]
    writer.stdout.close()
    writer.wait()
    acknowledged = max([*told, 19])
    database = Database.open(url)
    with database.read() as session:
        kept = {int(key) for key in session.scalars(select(Setting.key))}
    database.close()
    assert kept >= set(range(acknowledged + 1))
    assert kept <= set(range(acknowledged + 2))


@pytest.mark.parametrize("address", ["mysql://x/y", "sqlite://", "sqlite:///:memory:", "sqlite:///"])
def test_addresses_that_cannot_be_a_catalog_are_refused(address: str) -> None:
    with pytest.raises(InputError):
        parse_url(address)


def test_a_database_that_is_not_there_is_one_sentence_without_the_password() -> None:
    with pytest.raises(EngineError) as caught:
        Database.open("postgresql://somebody:hunter2@127.0.0.1:1/nothing")
    assert "hunter2" not in str(caught.value)


def _user(created_at: datetime.datetime = NOW) -> User:
    return User(id=new_id(), name="ana", display_name="Ana", password_hash=None, active=True, created_at=created_at)
