"""How much one product and one person may keep in the catalog."""

from __future__ import annotations

from sqlalchemy import ColumnElement, func, select

from aegis.catalog.database.tables import Release, Summary
from aegis.catalog.service.catalog import Work
from aegis.catalog.states import KEPT_RELEASES
from aegis.errors import ConflictError


def room_left(work: Work, product_id: str, *, limit_bytes: int) -> int:
    """How many bytes may be pushed now for this product by this person, at most ``limit_bytes``."""
    of_product = _used(work, Summary.product_id == product_id, Release.product_id == product_id)
    person = work.actor.user_id
    of_person = _used(work, Summary.pushed_by == person, Release.pushed_by == person)
    left = min(
        limit_bytes,
        work.settings.stored_bytes_per_product - of_product,
        work.settings.stored_bytes_per_person - of_person,
    )
    if left <= 0:
        raise ConflictError(
            "the quota of this product, or yours, is used up; withdraw releases that nobody needs any more, or let an "
            "administrator raise it"
        )
    return left


def _used(work: Work, summaries: ColumnElement[bool], releases: ColumnElement[bool]) -> int:
    counted = select(func.coalesce(func.sum(Summary.bytes), 0)).where(summaries)
    released = select(func.coalesce(func.sum(Release.bytes), 0)).where(releases, Release.state.in_(KEPT_RELEASES))
    return int(work.session.scalar(select(counted.scalar_subquery() + released.scalar_subquery())) or 0)
