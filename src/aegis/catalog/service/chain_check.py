"""Is the record whole? Answered at once, whatever its length, with what was checked when.

The worker walks the whole chain once a day and whenever somebody asks for it, and in between what was added since.
Where it came to is noted: so many rows, the last of which has this hash. A question then walks the rows after that
only. An edit *before* the note is found by the next whole walk, not by a question: the answer says when that was.
`aegis audit verify` needs no note and believes none.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

from aegis.catalog.database.audit import ChainVerdict, Checkpoint, verify_chain
from aegis.catalog.database.tables import Setting
from aegis.catalog.service.actor import SYSTEM
from aegis.catalog.service.catalog import Catalog, Work
from aegis.catalog.service.permissions import Permission, require
from aegis.errors import ConflictError

MOST_AT_ONCE = 2_000
"""How many rows a question walks; about 50 milliseconds."""
_KEY = "audit_check"
_MOMENTS = ("checked_at", "walked_at", "wanted_at")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainStanding:
    """The state of the record.

    ``rows`` is how many there are, ``intact`` whether nothing was found that does not fit. ``checked_now`` rows were
    walked for this answer, ``unchecked`` ones were never walked by anybody yet. ``walked_at`` is when the whole chain
    was last walked, all ``walked_rows`` of it; ``wanted_at`` since when another such walk is waited for.
    """

    rows: int
    intact: bool
    first_broken: int | None
    reason: str | None
    head: str
    checked_now: int
    unchecked: int
    walked_at: datetime.datetime | None
    walked_rows: int
    wanted_at: datetime.datetime | None


def standing(work: Work, *, expected_head: str | None = None, most: int = MOST_AT_ONCE) -> ChainStanding:
    """What is known of the chain, and what its newest rows say (administrators)."""
    require(work.actor, Permission.SEE_AUDIT)
    note = _note(work)
    if note.first_broken is None:
        found = verify_chain(work.session, expected_head=expected_head, since=note.checkpoint, most=most)
    else:
        # Another walk may find it mended from a backup; until then it stays broken.
        found = ChainVerdict(rows=note.rows, intact=False, first_broken=note.first_broken, head=note.hash)
        found = replace(found, reason=note.reason)
    return ChainStanding(
        rows=found.rows + found.behind,
        intact=found.intact,
        first_broken=found.first_broken,
        reason=found.reason,
        head=found.head,
        checked_now=max(found.rows - note.rows, 0),
        unchecked=found.behind,
        walked_at=note.walked_at,
        walked_rows=note.walked_rows,
        wanted_at=note.wanted_at,
    )


def want_walk(work: Work) -> ChainStanding:
    """Ask for a walk over the whole chain; a worker does it."""
    require(work.actor, Permission.SEE_AUDIT)
    _keep(work, replace(_note(work, lock=True), wanted_at=work.now))
    return standing(work)


def keep_up(catalog: Catalog, *, each_page: Callable[[], None] = lambda: None) -> bool:
    """Walk what is due: everything where it is asked for or a day has passed, else what is new. Done by the worker.

    Gives whether the whole chain was walked. A walk that is broken off by ``each_page`` leaves the note as it was.
    """
    with catalog.read(SYSTEM) as work:
        note = _note(work)
        whole = _is_due(note, work)
        start = Checkpoint() if whole else note.checkpoint
        if note.first_broken is not None and not whole:
            return False
        found = verify_chain(work.session, since=start, each_page=each_page)
        began = work.now
    if not whole and found.intact and found.rows == note.rows:
        return False
    with catalog.write(SYSTEM) as work:
        now = _note(work, lock=True)
        if not whole and now.checkpoint != note.checkpoint:
            return False  # another worker was faster
        _keep(work, _after(now, found, whole=whole, began=began, asked=note.wanted_at))
    return whole


def _after(
    now: _Note, found: ChainVerdict, *, whole: bool, began: datetime.datetime, asked: datetime.datetime | None
) -> _Note:
    kept = replace(now, checked_at=began, first_broken=found.first_broken, reason=found.reason)
    if found.intact:
        kept = replace(kept, rows=found.rows, hash=found.head)
    if whole:
        kept = replace(kept, walked_at=began, walked_rows=found.rows)
        if kept.wanted_at == asked:  # whoever asked later waits for another one
            kept = replace(kept, wanted_at=None)
    return kept


def _is_due(note: _Note, work: Work) -> bool:
    if note.wanted_at is not None or note.walked_at is None:
        return True
    return work.now - note.walked_at >= datetime.timedelta(hours=work.settings.audit_walk_hours)


def _note(work: Work, *, lock: bool = False) -> _Note:
    row = work.session.get(Setting, _KEY, with_for_update=lock or None, populate_existing=True)
    if row is None:
        return _Note()
    told: dict[str, Any] = dict(row.value)
    for name in _MOMENTS:
        told[name] = None if told[name] is None else datetime.datetime.fromisoformat(told[name])
    try:
        return _Note(**told)
    except TypeError:
        raise ConflictError("the note on the audit has another form; walk the chain with: aegis audit verify") from None


def _keep(work: Work, note: _Note) -> None:
    told = asdict(note)
    for name in _MOMENTS:
        told[name] = None if told[name] is None else told[name].isoformat()
    row = work.session.get(Setting, _KEY)
    if row is None:
        work.session.add(Setting(key=_KEY, value=told))
    else:
        row.value = told
    work.session.flush()
