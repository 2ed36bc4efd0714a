"""Files that nobody needs any more: refused and withdrawn releases, and what a crash left behind."""

from __future__ import annotations

import time

from sqlalchemy import select

from aegis.catalog.database.states import ReleaseState
from aegis.catalog.database.tables import Release, Summary
from aegis.catalog.service.actor import SYSTEM
from aegis.catalog.service.catalog import Catalog

_NEEDED = [ReleaseState.RECEIVED.value, ReleaseState.VERIFIED.value]
_DRAFT_SECONDS = 24 * 3600.0


def remove_unneeded(catalog: Catalog, digest: str) -> bool:
    """Remove a file unless a summary or a release still needs it; gives whether it was removed."""
    # Nobody can be between keeping a file and committing the row that names it while this lock is held.
    with catalog.store.referring(removing=True), catalog.read(SYSTEM) as work:
        for needed in (
            select(Summary.id).where(Summary.digest == digest),
            select(Release.id).where(Release.digest == digest, Release.state.in_(_NEEDED)),
        ):
            if work.session.scalar(needed.limit(1)) is not None:
                return False
        catalog.store.remove(digest)
    return True


def sweep(catalog: Catalog) -> int:
    """Remove every file and old draft that nothing refers to; gives how many."""
    removed = catalog.store.sweep_drafts(older_than_seconds=_DRAFT_SECONDS, now_seconds=time.time())
    with catalog.read(SYSTEM) as work:
        known = set(work.session.scalars(select(Summary.digest)))
        known |= set(work.session.scalars(select(Release.digest).where(Release.state.in_(_NEEDED))))
    for digest in catalog.store.digests():
        if digest not in known:  # a first look; the second is under the lock
            removed += remove_unneeded(catalog, digest)
    return removed
