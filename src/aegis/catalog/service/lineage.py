"""Where a release comes from and where it went: counts → configuration → release → who holds it, and its versions."""

from __future__ import annotations

from sqlalchemy import func, or_, select

from aegis.catalog import records
from aegis.catalog.database.tables import Configuration, Download, Request, Summary, User
from aegis.catalog.service.catalog import Work
from aegis.catalog.service.paging import PageRequest
from aegis.catalog.service.permissions import Permission, may
from aegis.catalog.service.releases import list_releases, release
from aegis.catalog.service.requests import effective_state

_MOST = 50


def lineage(work: Work, *, release_id: str) -> records.Lineage:
    """The lineage of a release that the actor sees; who else holds it is for those who work on the product."""
    seen = release(work, release_id=release_id)
    counted = work.session.execute(
        select(Summary.id, Summary.rows, Summary.created_at)
        .where(Summary.product_id == seen.product_id, Summary.created_at <= seen.created_at)
        .order_by(Summary.created_at.desc())
        .limit(1)
    ).one_or_none()
    name = None
    if seen.configuration_id is not None:
        name = work.session.scalar(select(Configuration.name).where(Configuration.id == seen.configuration_id))
    versions = list_releases(work, product=seen.product_id, page=PageRequest(size=20)).items
    return records.Lineage(
        source_name=str(seen.certificate["source"]["name"]),
        source_rows=int(seen.certificate["source"]["rows"]),
        counts_at=None if counted is None else counted.created_at,
        configuration_name=name,
        holders=_holders(work, seen),
        versions=tuple(
            records.ReleaseVersion(id=each.id, file_name=each.file_name, state=each.state, created_at=each.created_at)
            for each in versions
            if each.configuration_id == seen.configuration_id
        ),
    )


def _holders(work: Work, seen: records.Release) -> tuple[records.Holder, ...]:
    taken = (
        select(func.count())
        .where(Download.release_id == seen.id, Download.user_id == Request.consumer_id)
        .correlate(Request)
        .scalar_subquery()
    )
    query = (
        select(Request, User.name, User.display_name, taken)
        .join(User, User.id == Request.consumer_id)
        .where(or_(Request.release_id == seen.id, Request.id == seen.request_id))
        .order_by(Request.created_at, Request.id)
        .limit(_MOST)
    )
    if not may(work.actor, Permission.SEE_RELEASES, seen.product_id):
        query = query.where(Request.consumer_id == work.actor.user_id)
    return tuple(
        records.Holder(
            request_id=row.id,
            name=name,
            display_name=display_name,
            state=effective_state(row, work.now),
            downloads=downloads,
            expires_at=row.expires_at,
        )
        for row, name, display_name, downloads in work.session.execute(query)
    )
