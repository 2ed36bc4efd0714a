"""The record: found by person, act, product and time; and whether it is whole, answered without walking all of it."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from sqlalchemy import text

from aegis.catalog.database.audit_chain import append, verify_chain
from aegis.catalog.database.tables import Audit
from aegis.catalog.service import audit_log
from aegis.catalog.service.audit_log import keep_up, standing, want_walk
from aegis.catalog.service.paging import PageRequest
from aegis.catalog.service.permissions import SYSTEM
from aegis.catalog.settings import Settings
from aegis.errors import InputError, NotPermittedError

Stage = Any
START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
ACTS = ("signed in", "request approved", "release pushed")


def _fill(stage: Stage, rows: int, *, first: int = 0) -> None:
    """Entries of two people, of three kinds, an hour apart."""
    with stage.catalog.database.write() as session:
        append(
            session,
            [
                Audit(
                    at=START + datetime.timedelta(hours=number),
                    actor=("ana", "ben")[number % 2],
                    actor_id=None,
                    action=ACTS[number % 3],
                    subject="request",
                    subject_id=f"{number:032x}",
                    details={},
                )
                for number in range(first, first + rows)
            ],
        )
        session.commit()


def _numbers(stage: Stage, *, size: int = 7, **wanted: Any) -> list[int]:
    """The numbers of the entries that are found, page after page."""
    found: list[int] = []
    cursor = None
    while True:
        with stage.read("admin") as work:
            page = audit_log.list_audit(work, **wanted, page=PageRequest(size=size, cursor=cursor))
        found += [int(entry.subject_id, 16) for entry in page.items]
        cursor = page.next
        if cursor is None:
            return found


@pytest.mark.parametrize("actor", [None, "ana", "nobody"])
@pytest.mark.parametrize("action", [None, "release pushed"])
@pytest.mark.parametrize(("since", "until"), [(None, None), (5, None), (None, 20), (5, 20), (20, 20)])
def test_what_is_found_is_what_fits_and_pages_lose_nothing(
    stage: Stage, actor: str | None, action: str | None, since: int | None, until: int | None
) -> None:
    _fill(stage, 40)
    hours = [None if each is None else START + datetime.timedelta(hours=each) for each in (since, until)]
    found = _numbers(stage, actor=actor, action=action, since=hours[0], until=hours[1])
    assert found == [
        n
        for n in reversed(range(40))
        if (actor is None or ("ana", "ben")[n % 2] == actor)
        and (action is None or ACTS[n % 3] == action)
        and (since is None or n >= since)
        and (until is None or n < until)
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        {"action": "something else"},
        {"actor": ""},
        {"actor": "a" * 65},
        {"actor": "a\x00"},
        {"since": datetime.datetime(2026, 1, 1)},
        {"until": datetime.datetime.max.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=-5)))},
        {"since": START, "until": START - datetime.timedelta(1)},
    ],
)
def test_a_question_that_makes_no_sense_is_refused(small_stage: Stage, wrong: dict[str, Any]) -> None:
    with small_stage.read("admin") as work, pytest.raises(InputError):
        audit_log.list_audit(work, **wrong)


def test_only_acts_that_have_a_name_are_recorded(small_stage: Stage) -> None:
    with pytest.raises(AssertionError, match=r"ACTS_OF"), small_stage.write("admin") as work:
        work.record("did something", ("user", "x"))


def _free(stage: Stage, statement: str) -> None:
    """What somebody with the keys to the database does."""
    with stage.catalog.database.write() as session:
        if stage.catalog.database.is_sqlite:
            session.execute(text("DROP TRIGGER IF EXISTS audit_is_not_changed"))
            session.execute(text("DROP TRIGGER IF EXISTS audit_is_not_removed"))
        else:
            session.execute(text("ALTER TABLE audit DISABLE TRIGGER ALL"))
        session.execute(text(statement))
        session.commit()


def _standing(stage: Stage, **more: Any) -> Any:
    with stage.read("admin") as work:
        return standing(work, **more)


def test_a_question_walks_what_is_new_and_says_when_all_of_it_was_walked(stage: Stage) -> None:
    _fill(stage, 30)
    before = _standing(stage)
    assert (before.rows, before.checked_now, before.unchecked, before.walked_at) == (30, 30, 0, None)
    assert keep_up(stage.catalog)
    _fill(stage, 4, first=30)
    found = _standing(stage)
    assert (found.rows, found.intact, found.checked_now, found.walked_rows) == (34, True, 4, 30)
    assert found.walked_at is not None
    with stage.read("admin") as work:
        assert verify_chain(work.session).head == found.head


def test_a_question_reads_no_more_rows_than_it_may(small_stage: Stage) -> None:
    _fill(small_stage, 50)
    found = _standing(small_stage, most=10)
    assert (found.checked_now, found.unchecked, found.rows, found.intact) == (10, 40, 50, True)
    _free(small_stage, "UPDATE audit SET actor = 'eve' WHERE sequence = 11")
    assert _standing(small_stage, most=10).intact
    assert _standing(small_stage, most=11).first_broken == 11


def test_an_edit_of_an_old_row_is_found_by_the_whole_walk_and_stays_found(stage: Stage) -> None:
    _fill(stage, 30)
    keep_up(stage.catalog)
    _free(stage, "UPDATE audit SET actor = 'eve' WHERE sequence = 7")
    assert _standing(stage).intact  # what was walked before is not walked again, and the answer says so
    with stage.write("admin") as work:
        assert want_walk(work).wanted_at is not None
    assert keep_up(stage.catalog)
    found = _standing(stage)
    assert (found.intact, found.first_broken, found.wanted_at) == (False, 7, None)
    _fill(stage, 3, first=30)
    keep_up(stage.catalog)
    assert _standing(stage).first_broken == 7


def test_a_whole_walk_comes_by_itself_after_a_day(small_stage: Stage) -> None:
    _fill(small_stage, 10)
    assert keep_up(small_stage.catalog)
    assert not keep_up(small_stage.catalog)
    _free(small_stage, "UPDATE audit SET actor = 'eve' WHERE sequence = 3")
    small_stage.clock.pass_by(hours=Settings().audit_walk_hours)
    assert keep_up(small_stage.catalog)
    assert _standing(small_stage).first_broken == 3


@pytest.mark.parametrize(
    ("statement", "first_broken"),
    [
        ("UPDATE audit SET actor = 'eve' WHERE sequence = 32", 32),
        ("DELETE FROM audit WHERE sequence = 33", 33),
        ("DELETE FROM audit WHERE sequence > 31", 32),
        ("UPDATE audit SET hash = previous WHERE sequence = 30", 30),
        ("DELETE FROM audit WHERE sequence = 30", 30),
    ],
)
def test_an_edit_of_what_is_new_is_found_at_once(stage: Stage, statement: str, first_broken: int) -> None:
    _fill(stage, 30)
    keep_up(stage.catalog)
    _fill(stage, 5, first=30)
    _free(stage, statement)
    found = _standing(stage)
    assert (found.intact, found.first_broken) == (False, first_broken)


def test_a_head_noted_earlier_is_looked_for_in_all_of_it(stage: Stage) -> None:
    _fill(stage, 10)
    with stage.read("admin") as work:
        noted = verify_chain(work.session).head
    _fill(stage, 10, first=10)
    keep_up(stage.catalog)
    _fill(stage, 2, first=20)
    assert _standing(stage, expected_head=noted).intact
    assert not _standing(stage, expected_head="e" * 64).intact


def test_a_walk_that_is_broken_off_is_done_again(small_stage: Stage) -> None:
    _fill(small_stage, 10)

    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        keep_up(small_stage.catalog, each_page=stop)
    assert _standing(small_stage).walked_at is None
    assert keep_up(small_stage.catalog)


def test_somebody_who_asks_during_a_walk_waits_for_another(small_stage: Stage) -> None:
    _fill(small_stage, 10)
    asked: list[Any] = []

    def ask() -> None:
        if not asked:
            with small_stage.write("admin") as work:
                asked.append(want_walk(work).wanted_at)

    keep_up(small_stage.catalog, each_page=ask)
    assert _standing(small_stage).wanted_at == asked[0]
    assert keep_up(small_stage.catalog)
    assert _standing(small_stage).wanted_at is None


def test_rows_that_arrive_during_a_walk_are_no_defect(stage: Stage) -> None:
    _fill(stage, 10)

    def more() -> None:
        _fill(stage, 1, first=10)

    with stage.catalog.read(SYSTEM) as work:
        found = verify_chain(work.session, each_page=more)
    assert (found.intact, found.rows) == (True, 10)
    with stage.catalog.read(SYSTEM) as work:
        assert verify_chain(work.session).rows == 11


def test_only_administrators_ask(small_stage: Stage) -> None:
    for act in (standing, want_walk):
        with pytest.raises(NotPermittedError), small_stage.write("provider") as work:
            act(work)
    assert audit_log.MOST_AT_ONCE >= 1_000
