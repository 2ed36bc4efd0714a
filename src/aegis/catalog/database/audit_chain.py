"""The record of every act: rows that are only ever added, each with the hash of the one before.

Whoever changes, removes, inserts or reorders a row breaks the chain from there on, and whoever cuts its end leaves the
head pointing at nothing. Rewriting everything after an edit, head included, is found by comparing the head with one
that was noted elsewhere: a backup's manifest, or a sheet of paper. Details hold names, ids, states and counts, never a
value of a record, a password or a token.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from aegis.catalog.database.tables import Audit, ChainHead
from aegis.errors import EngineError
from aegis.releases.hashed_json import START, link

HEAD_ID = 1
_TOGETHER = 5_000
_COLUMNS = tuple(Audit.__table__.columns)
_SAID = ("sequence", "actor", "actor_id", "action", "subject", "subject_id", "product_id", "details")


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """How far a chain was walked: so many rows, the last of which has this hash."""

    rows: int = 0
    hash: str = START


BEGINNING = Checkpoint()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainVerdict:
    """What was found: ``first_broken`` is the sequence number where the chain first fails, ``head`` its last hash.

    ``rows`` is how far the walk came, ``behind`` how many rows after that were not looked at.
    """

    rows: int
    intact: bool
    first_broken: int | None
    head: str
    reason: str | None = None
    behind: int = 0


def append(session: Session, acts: Sequence[Audit]) -> None:
    """Add acts to the end of the chain; call it last, for it makes every other writer wait until the commit.

    Each gets its place and its hash. The head is locked here; a trigger of the database moves it with each row.
    """
    if not acts:
        return
    head = session.execute(_LOCKED_HEAD).one_or_none()
    if head is None or not isinstance(head.sequence, int):
        raise EngineError(
            "the record of the catalog has lost its end, so nothing can be added to it and nothing was changed; an "
            "administrator has to look at it: aegis audit verify"
        )
    sequence, previous = head
    for act in acts:
        sequence += 1
        act.sequence, act.previous = sequence, previous
        previous = act.hash = row_hash(act)
    session.add_all(acts)
    session.flush()


_LOCKED_HEAD = select(ChainHead.sequence, ChainHead.hash).where(ChainHead.id == HEAD_ID).with_for_update()


def row_hash(row: Any) -> str:
    """The hash of a row: over the hash before it and everything the row says."""
    at = row.at.astimezone(datetime.UTC).isoformat(timespec="microseconds")
    return link(row.previous, {"at": at, **{name: getattr(row, name) for name in _SAID}})


def verify_chain(
    session: Session,
    *,
    expected_head: str | None = None,
    since: Checkpoint = BEGINNING,
    most: int | None = None,
    each_page: Callable[[], None] = lambda: None,
) -> ChainVerdict:
    """Walk the chain, by default the whole of it. ``expected_head`` is a hash noted earlier, which must still be in it.

    ``since`` is where an earlier walk ended: that row must be as it was, and only what follows is walked, at most
    ``most`` rows of it; edits before it are not looked for. ``each_page`` is called between pages and may raise to end
    a long walk.
    """
    end = session.execute(_END).one_or_none()  # one query, so that whoever appends meanwhile breaks nothing
    if end is None or not isinstance(end.sequence, int):
        return _broken(since.rows, since.rows + 1, since.hash, "where the chain ends was changed or removed")
    last = end.sequence if most is None else min(end.sequence, since.rows + most)
    previous, rows = since.hash, since.rows
    if rows and not _unchanged(session, since):
        return _broken(rows - 1, rows, previous, "the row up to which the chain was checked before was changed")
    seen = expected_head is None or expected_head in (START, previous) or _noted(session, expected_head, since)
    while rows < last:
        page = _page(session, rows, last)
        each_page()
        if not page:
            return _broken(rows, rows + 1, previous, "a row is missing or cannot be read")
        for row in page:
            if row.sequence != rows + 1:
                return _broken(rows, rows + 1, previous, "a row is missing")
            if row.previous != previous:
                return _broken(rows, row.sequence, previous, "a row does not follow the one before it")
            if not _as_written(row):
                return _broken(rows, row.sequence, previous, "a row was changed")
            rows, previous = row.sequence, row.hash
            seen = seen or previous == expected_head
    if not isinstance(end.first or 0, int) or not isinstance(end.last or 0, int):
        return _broken(rows, rows + 1, previous, "a row stands in no place of the chain")  # SQLite lets it have a text
    if end.first is not None and end.first < 1:
        return _broken(rows, end.first, previous, "a row stands before the first")
    if (end.last or 0) != end.sequence or (rows == end.sequence and previous != end.hash):
        at = min(end.last or 0, end.sequence) + 1
        return _broken(rows, at, previous, "rows at the end are missing or were added past the chain")
    if not seen and rows == end.sequence:
        return _broken(rows, rows, previous, "the head that was noted earlier is not in the chain: it was rewritten")
    return ChainVerdict(rows=rows, intact=True, first_broken=None, head=previous, behind=end.sequence - rows)


_END = (
    select(
        ChainHead.sequence,
        ChainHead.hash,
        select(func.min(Audit.sequence)).scalar_subquery().label("first"),
        select(func.max(Audit.sequence)).scalar_subquery().label("last"),
    )
    .where(ChainHead.id == HEAD_ID)
    .execution_options(populate_existing=True)
)


def _page(session: Session, after: int, last: int, most: int = _TOGETHER) -> Sequence[Any]:
    """The next rows; where one of them cannot be read, some of those before it."""
    query = select(*_COLUMNS).where(Audit.sequence > after, Audit.sequence <= last)
    try:
        return session.execute(query.order_by(Audit.sequence).limit(most)).all()
    except (TypeError, ValueError):
        return () if most == 1 else _page(session, after, last, most // 2)


def _as_written(row: Any) -> bool:
    """Whether a row has the hash of what it says."""
    try:
        return bool(row.hash == row_hash(row))
    except (TypeError, ValueError):  # it says something that no act does
        return False


def _unchanged(session: Session, since: Checkpoint) -> bool:
    page = _page(session, since.rows - 1, since.rows)
    return len(page) == 1 and page[0].hash == since.hash and _as_written(page[0])


def _noted(session: Session, head: str, since: Checkpoint) -> bool:
    """Whether a noted head is among the rows that an earlier walk saw."""
    query = select(Audit.sequence).where(Audit.hash == head, Audit.sequence <= since.rows).limit(1)
    return session.scalar(query) is not None


def _broken(rows: int, at: int, head: str, reason: str) -> ChainVerdict:
    return ChainVerdict(rows=rows, intact=False, first_broken=at, head=head, reason=reason)


ACTS_OF: Mapping[str, tuple[str, ...]] = {
    "products": ("product registered", "product changed", "product published", "product retired"),
    "configurations": (
        "configuration proposed", "configuration generated", "configuration pushed with a summary",
        "configuration withdrawn", "configuration brought back",
    ),
    "counts": ("summary pushed", "summary set aside", "summary not made"),
    "requests": (
        "access requested", "request approved", "request rejected", "request provisioned", "request revoked",
        "request withdrawn", "request expired", "request reinstated", "request commented",
    ),
    "releases": (
        "release pushed", "release not made", "release verified", "release refused", "release downloaded",
        "release withdrawn",
    ),
    "ledger": ("ledger entry added", "maskings judged together", "maskings not judged"),
    "jobs": ("advice started", "job done", "job failed", "job cancelled"),
    "people": (
        "user created", "link made", "password chosen", "password changed", "role given", "role taken", "switched on",
        "switched off", "signed in", "signed out", "session ended", "sign-in failed", "identity linked",
        "second factor added", "second factor removed", "second factor failed", "recovery codes drawn",
        "recovery code used", "notifications chosen", "mail address confirmed",
    ),
    "tokens": ("token made", "token revoked", "signing key registered", "signing key revoked"),
}  # fmt: skip
ACTS = frozenset(act for listed in ACTS_OF.values() for act in listed)
