"""The audit: every edit is found, wherever it is made and whatever it changes."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from aegis.catalog.database.audit_chain import BEGINNING, Checkpoint, append, row_hash, verify_chain
from aegis.catalog.database.connection import Database
from aegis.catalog.database.tables import Audit, ChainHead, LedgerEntry, Product, User
from aegis.errors import EngineError
from aegis.releases.hashed_json import START

NOW = datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)
ROWS = 9


def _entry(number: int) -> Audit:
    return Audit(
        at=NOW + datetime.timedelta(microseconds=number),
        actor="ana",
        actor_id="a" * 32,
        action="request approved",
        subject="request",
        subject_id=f"{number:032x}",
        product_id="b" * 32,
        details={"state": "APPROVED", "rows": number, "ü": [1, None, 0.1]},
    )


@pytest.fixture
def filled(database: Database) -> Database:
    for number in range(0, ROWS, 3):
        with database.write() as session:
            append(session, [_entry(number + each) for each in range(3)])
            session.commit()
    return database


def _free(session: Session) -> None:
    """What somebody with the keys to the database would do first."""
    if session.get_bind().dialect.name == "sqlite":
        session.execute(text("DROP TRIGGER audit_is_not_changed"))
        session.execute(text("DROP TRIGGER audit_is_not_removed"))
    else:
        session.execute(text("ALTER TABLE audit DISABLE TRIGGER ALL"))


def test_an_untouched_chain_is_intact(filled: Database) -> None:
    with filled.read() as session:
        found = verify_chain(session)
    assert (found.rows, found.intact, found.first_broken) == (ROWS, True, None)
    assert found.head != START


def test_an_empty_chain_is_intact(database: Database) -> None:
    with database.read() as session:
        found = verify_chain(session)
    assert (found.rows, found.intact, found.head) == (0, True, START)


@pytest.mark.parametrize("statement", ["UPDATE audit SET actor = 'eve'", "DELETE FROM audit", "TRUNCATE audit"])
def test_the_database_itself_refuses_edits(filled: Database, statement: str) -> None:
    if filled.is_sqlite and statement.startswith("TRUNCATE"):
        pytest.skip("SQLite has no TRUNCATE")
    with filled.write() as session, pytest.raises(DBAPIError, match="append-only"):
        session.execute(text(statement))


_REPLACED = "SELECT sequence, at, 'eve', actor_id, action, subject, subject_id, product_id, details, previous, hash"


def test_no_row_takes_the_place_of_another(filled: Database) -> None:
    """Neither by the replacement of SQLite, which removes a row without its trigger, nor by that of PostgreSQL."""
    insert = f"INTO audit {_REPLACED} FROM audit WHERE sequence = 2"
    statement = (
        f"INSERT OR REPLACE {insert}"
        if filled.is_sqlite
        else f"INSERT {insert} ON CONFLICT (sequence) DO UPDATE SET actor = excluded.actor"
    )
    with filled.write() as session, pytest.raises(DBAPIError, match="append-only"):
        session.execute(text(statement))
    with filled.read() as session:
        assert verify_chain(session).intact


def test_no_entry_of_a_ledger_takes_the_place_of_another(database: Database) -> None:
    with database.write() as session:
        session.add(User(id="u" * 32, name="ana", display_name="Ana", active=True, created_at=NOW))
        session.flush()
        session.add(
            Product(
                id="p" * 32, name="clinic", title="Clinic", description="", columns=[], owner_id="u" * 32,
                state="draft", search_text="", created_at=NOW, changed_at=NOW,
            )
        )  # fmt: skip
        session.flush()
        session.add(
            LedgerEntry(
                product_id="p" * 32, sequence=1, at=NOW, act="released", content={}, previous=START, hash="a" * 64
            )
        )
        session.commit()
    values = "product_id, sequence, at, 'forgotten', content, previous, hash FROM ledger_entries"
    statement = (
        f"INSERT OR REPLACE INTO ledger_entries SELECT {values}"
        if database.is_sqlite
        else f"INSERT INTO ledger_entries SELECT {values} ON CONFLICT (product_id, sequence) DO UPDATE SET act = 'x'"
    )
    with database.write() as session, pytest.raises(DBAPIError, match="append-only"):
        session.execute(text(statement))


def test_a_row_that_was_added_and_undone_leaves_the_head_where_it_was(filled: Database) -> None:
    with filled.write() as session:
        append(session, [_entry(50)])
        session.rollback()
    with filled.read() as session:
        found = verify_chain(session)
        head = session.get_one(ChainHead, 1)
    assert (found.rows, found.intact, head.sequence, head.hash) == (ROWS, True, ROWS, found.head)


def test_many_who_write_at_once_make_one_chain(database: Database) -> None:
    """Whoever is undone half-way leaves no gap, and nobody gets a number that another one has."""

    def write(writer: int) -> None:
        for number in range(6):
            with database.write() as session:
                append(session, [_entry(100 * writer + number), _entry(100 * writer + number + 50)])
                if number % 3:
                    session.commit()

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(write, range(6)))
    with database.read() as session:
        found = verify_chain(session)
    assert (found.rows, found.intact, found.reason) == (6 * 4 * 2, True, None)


_EDITS: dict[str, Callable[[int], str]] = {
    "actor": lambda n: f"UPDATE audit SET actor = 'eve' WHERE sequence = {n}",
    "actor_id": lambda n: f"UPDATE audit SET actor_id = NULL WHERE sequence = {n}",
    "action": lambda n: f"UPDATE audit SET action = 'nothing' WHERE sequence = {n}",
    "subject": lambda n: f"UPDATE audit SET subject = 'product' WHERE sequence = {n}",
    "subject_id": lambda n: f"UPDATE audit SET subject_id = '{'f' * 32}' WHERE sequence = {n}",
    "product_id": lambda n: f"UPDATE audit SET product_id = NULL WHERE sequence = {n}",
    "details": lambda n: "UPDATE audit SET details = '{\"rows\": 1}' WHERE sequence = " + str(n),
    "at": lambda n: f"UPDATE audit SET at = '2020-01-01 00:00:00' WHERE sequence = {n}",
    "previous": lambda n: f"UPDATE audit SET previous = '{'e' * 64}' WHERE sequence = {n}",
    "hash": lambda n: f"UPDATE audit SET hash = '{'e' * 64}' WHERE sequence = {n}",
    "sequence": lambda n: f"UPDATE audit SET sequence = 1000 WHERE sequence = {n}",
    "removed": lambda n: f"DELETE FROM audit WHERE sequence = {n}",
}


def test_every_edit_is_found_where_it_was_made(filled: Database) -> None:
    for row in (1, 5, ROWS):
        for kind, edit in _EDITS.items():
            with filled.write() as session:  # undone at its end
                _free(session)
                session.execute(text(edit(row)))
                found = verify_chain(session)
            assert not found.intact, kind
            assert found.first_broken in (row, row + 1), kind
    with filled.read() as session:
        assert verify_chain(session).intact


@pytest.mark.parametrize("row", [0, -5, ROWS + 1])
def test_a_row_that_somebody_slips_in_is_found(filled: Database, row: int) -> None:
    with filled.write() as session:
        _free(session)
        forged = Audit(
            sequence=row, at=NOW, actor="eve", actor_id=None, action="x", subject="y", subject_id="z",
            product_id=None, details={}, previous=START,
        )  # fmt: skip
        forged.hash = row_hash(forged)
        session.add(forged)
        session.commit()
    with filled.read() as session:
        assert not verify_chain(session).intact


_UNREADABLE: dict[str, tuple[str, int]] = {  # SQLite keeps in a column what its type does not allow
    "at": ("UPDATE audit SET at = 'some day' WHERE sequence = 4", 4),
    "details": ("UPDATE audit SET details = '{' WHERE sequence = 4", 4),
    "actor": ("UPDATE audit SET actor = X'00ff' WHERE sequence = 4", 4),
    "sequence": ("UPDATE audit SET sequence = 'four' WHERE sequence = 4", 4),
    "last": (f"UPDATE audit SET details = '[' WHERE sequence = {ROWS}", ROWS),
    "another": (
        "INSERT INTO audit SELECT 'ten', at, actor, actor_id, action, subject, subject_id, product_id, details, "
        "previous, hash FROM audit WHERE sequence = 4",
        1,
    ),
}


@pytest.mark.parametrize(("edit", "row"), _UNREADABLE.values(), ids=_UNREADABLE)
def test_what_cannot_be_read_is_found_like_any_other_edit(filled: Database, edit: str, row: int) -> None:
    if not filled.is_sqlite:
        pytest.skip("PostgreSQL keeps no value that its column does not allow")
    with filled.write() as session:
        _free(session)
        session.execute(text(edit))
        session.commit()
    for since in (BEGINNING, Checkpoint(rows=row - 1, hash="e" * 64)):
        with filled.read() as session:
            found = verify_chain(session, since=since)
        assert not found.intact
        assert since is not BEGINNING or found.first_broken == row


def test_a_chain_whose_end_is_gone_is_broken_and_takes_nothing(filled: Database) -> None:
    with filled.write() as session:
        session.execute(text("DELETE FROM chain_head"))
        session.commit()
    with filled.read() as session:
        found = verify_chain(session)
    assert (found.intact, found.first_broken) == (False, 1)
    with filled.write() as session, pytest.raises(EngineError, match="audit verify"):
        append(session, [_entry(100)])


def test_a_chain_that_was_cut_and_whose_head_was_moved_too_is_found_by_a_noted_head(filled: Database) -> None:
    with filled.read() as session:
        noted = verify_chain(session).head
    with filled.write() as session:
        _free(session)
        session.execute(text(f"DELETE FROM audit WHERE sequence > {ROWS - 2}"))
        last = session.get_one(Audit, ROWS - 2)
        head = session.get_one(ChainHead, 1)
        head.sequence, head.hash = last.sequence, last.hash
        session.commit()
    with filled.read() as session:
        assert verify_chain(session).intact  # nothing inside the database can tell
        assert not verify_chain(session, expected_head=noted).intact


def test_a_head_noted_earlier_is_still_in_a_chain_that_grew(filled: Database) -> None:
    with filled.read() as session:
        noted = verify_chain(session).head
    with filled.write() as session:
        append(session, [_entry(100)])
        session.commit()
    with filled.read() as session:
        assert verify_chain(session, expected_head=noted).intact
        assert not verify_chain(session, expected_head="0" * 63 + "1").intact


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(
        st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8),
        st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8),
        max_size=4,
    )
)  # fmt: skip
def test_whatever_the_details_are_the_hash_is_the_same_when_they_are_read_back(
    database: Database, details: dict[str, object]
) -> None:
    with database.write() as session:
        append(
            session, [Audit(at=NOW, actor="ü", actor_id=None, action="a", subject="s", subject_id="i", details=details)]
        )
        session.commit()
    with database.read() as session:
        assert verify_chain(session).intact
