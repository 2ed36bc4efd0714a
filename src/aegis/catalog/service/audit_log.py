"""The audit log: the record for those who may read it, and whether its chain of hashes is whole.

The worker walks the whole chain once a day and whenever somebody asks for it, and in between what was added since.
How far it came is noted: so many rows, the last of which has this hash. A request then walks the rows after that only.
An edit *before* the note is found by the next whole walk, not by a request: the answer says when that was.
`aegis audit verify` needs no note and believes none.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import select

from aegis.catalog import records
from aegis.catalog.database.audit_chain import ACTS, ChainVerdict, Checkpoint, verify_chain
from aegis.catalog.database.tables import Audit, Setting, is_id
from aegis.catalog.records import Page, read, record_of, write
from aegis.catalog.service.catalog import Catalog, Work, visible_product
from aegis.catalog.service.checks import checked_text
from aegis.catalog.service.paging import FIRST, PageRequest, page_of
from aegis.catalog.service.permissions import SYSTEM, Permission, require
from aegis.errors import InputError

_LONGEST_NAME = 64


def list_audit(
    work: Work,
    *,
    product: str | None = None,
    subject_id: str | None = None,
    actor: str | None = None,
    action: str | None = None,
    since: datetime.datetime | None = None,
    until: datetime.datetime | None = None,
    page: PageRequest = FIRST,
) -> Page[records.Act]:
    """What happened, the newest first: of a product for its provider and expert, of everything for administrators.

    ``since`` counts, ``until`` does not any more.
    """
    query = select(Audit)
    if product is None:
        require(work.actor, Permission.SEE_AUDIT)
    else:
        product_row = visible_product(work, product, Permission.SEE_PRODUCT_AUDIT)
        query = query.where(Audit.product_id == product_row.id)
    if subject_id is not None:
        if not is_id(subject_id):
            raise InputError("the subject is named by its id: 32 hexadecimal digits")
        query = query.where(Audit.subject_id == subject_id)
    if actor is not None:
        checked_text(actor, what="the name of a person", least=1, most=_LONGEST_NAME)
        query = query.where(Audit.actor == actor)
    if action is not None:
        if action not in ACTS:
            raise InputError("there is no such act; choose one that the record knows, such as 'request approved'")
        query = query.where(Audit.action == action)
    for moment in (since, until):
        if moment is not None and not _is_usable(moment):
            raise InputError("a moment needs a time zone; write it like 2026-03-01T12:00:00Z")
    if since is not None and until is not None and since > until:
        raise InputError("the time ends before it begins; exchange the two moments")
    if since is not None:
        query = query.where(Audit.at >= since)
    if until is not None:
        query = query.where(Audit.at < until)
    return page_of(work.session, query, audit_view, keys=(Audit.sequence,), page=page, descending=True)


def _is_usable(moment: datetime.datetime) -> bool:
    try:
        return moment.tzinfo is not None and moment.astimezone(datetime.UTC) is not None
    except OverflowError:  # the first and the last day of all years, seen from elsewhere
        return False


def verify(work: Work, *, expected_head: str | None = None) -> ChainVerdict:
    """Walk the whole chain of the audit (administrators); the longer the record, the longer it takes."""
    require(work.actor, Permission.SEE_AUDIT)
    return verify_chain(work.session, expected_head=expected_head)


def audit_view(row: Any) -> records.Act:
    return record_of(records.Act, row)


MOST_AT_ONCE = 2_000
"""How many rows a request walks; about 50 milliseconds."""
_KEY = "audit_check"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Note:
    """What was found so far, as it is kept."""

    rows: int = 0
    hash: str = Checkpoint().hash
    checked_at: datetime.datetime | None = None
    walked_at: datetime.datetime | None = None
    walked_rows: int = 0
    first_broken: int | None = None
    reason: str | None = None
    wanted_at: datetime.datetime | None = None

    @property
    def checkpoint(self) -> Checkpoint:
        return Checkpoint(rows=self.rows, hash=self.hash)


def standing(work: Work, *, expected_head: str | None = None, most: int = MOST_AT_ONCE) -> records.ChainStatus:
    """Walk the newest part of the chain of hashes, and say when the whole was last walked (administrators)."""
    require(work.actor, Permission.SEE_AUDIT)
    note = _note(work)
    if note.first_broken is None:
        verdict = verify_chain(work.session, expected_head=expected_head, since=note.checkpoint, most=most)
    else:
        # Another walk may find it mended from a backup; until then it stays broken.
        verdict = ChainVerdict(rows=note.rows, intact=False, first_broken=note.first_broken, head=note.hash)
        verdict = replace(verdict, reason=note.reason)
    return records.ChainStatus(
        rows=verdict.rows + verdict.behind,
        intact=verdict.intact,
        first_broken=verdict.first_broken,
        reason=verdict.reason,
        head=verdict.head,
        checked_now=max(verdict.rows - note.rows, 0),
        unchecked=verdict.behind,
        walked_at=note.walked_at,
        walked_rows=note.walked_rows,
        wanted_at=note.wanted_at,
    )


def want_walk(work: Work) -> records.ChainStatus:
    """Ask the worker to walk the chain from its first row; ``wanted_at`` is empty again when it is done."""
    require(work.actor, Permission.SEE_AUDIT)
    _keep(work, replace(_note(work, lock=True), wanted_at=work.now))
    return standing(work)


def keep_up(catalog: Catalog, *, each_page: Callable[[], None] = lambda: None) -> bool:
    """Walk what is due: everything where it is asked for or a day has passed, else what is new. Done by the worker.

    Gives whether the whole chain was walked. A walk that is broken off by ``each_page`` leaves the note as it was.
    """
    with catalog.read(SYSTEM) as work:
        note = _note(work)
        day = datetime.timedelta(hours=work.settings.audit_walk_hours)
        whole = note.wanted_at is not None or note.walked_at is None or work.now - note.walked_at >= day
        start = Checkpoint() if whole else note.checkpoint
        if note.first_broken is not None and not whole:
            return False
        verdict = verify_chain(work.session, since=start, each_page=each_page)
        began = work.now
    if not whole and verdict.intact and verdict.rows == note.rows:
        return False
    with catalog.write(SYSTEM) as work:
        now = _note(work, lock=True)
        if not whole and now.checkpoint != note.checkpoint:
            return False  # another worker was faster
        _keep(work, _after(now, verdict, whole=whole, began=began, asked=note.wanted_at))
    return whole


def _after(
    now: _Note, verdict: ChainVerdict, *, whole: bool, began: datetime.datetime, asked: datetime.datetime | None
) -> _Note:
    note = replace(now, checked_at=began, first_broken=verdict.first_broken, reason=verdict.reason)
    if verdict.intact:
        note = replace(note, rows=verdict.rows, hash=verdict.head)
    if whole:
        note = replace(note, walked_at=began, walked_rows=verdict.rows)
        if note.wanted_at == asked:  # whoever asked later waits for another one
            note = replace(note, wanted_at=None)
    return note


def _note(work: Work, *, lock: bool = False) -> _Note:
    row = work.session.get(Setting, _KEY, with_for_update=lock or None, populate_existing=True)
    return _Note() if row is None else read(_Note, row.value)


def _keep(work: Work, note: _Note) -> None:
    values = write(_Note, note)
    row = work.session.get(Setting, _KEY)
    if row is None:
        work.session.add(Setting(key=_KEY, value=values))
    else:
        row.value = values
    work.session.flush()
