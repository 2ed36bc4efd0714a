"""Where a release comes from and where it went: counts → configuration → release → who holds it, and its versions."""

from __future__ import annotations

from sqlalchemy import func, or_, select

from aegis.catalog import records
from aegis.catalog.database.tables import Configuration, Download, Release, Request, Summary, User
from aegis.catalog.records import record_of
from aegis.catalog.service.catalog import Work
from aegis.catalog.service.permissions import Permission, may
from aegis.catalog.service.releases import release
from aegis.catalog.service.request_steps import effective_state

_MOST = 50


def lineage(work: Work, *, release_id: str) -> records.Lineage:
    """Where a release comes from, its versions, and who holds it.

    Others than oneself are named to those who work on the product.
    """
    seen = release(work, release_id=release_id)
    counted = (
        select(func.max(Summary.created_at))
        .where(Summary.product_id == seen.product_id, Summary.created_at <= seen.created_at)
        .scalar_subquery()
    )
    masked_by = select(Configuration.name).where(Configuration.id == seen.configuration_id).scalar_subquery()
    counts_at, name = work.session.execute(select(counted, masked_by)).one()
    return records.Lineage(
        source_name=str(seen.certificate["source"]["name"]),
        source_rows=int(seen.certificate["source"]["rows"]),
        counts_at=counts_at,
        configuration_name=name,
        holders=_holders(work, seen),
        versions=_versions(work, seen),
    )


def _versions(work: Work, seen: records.Release) -> tuple[records.ReleaseVersion, ...]:
    """Releases of the same product with the same configuration that the actor may see, the newest first."""
    query = (
        select(Release.id, Release.file_name, Release.state, Release.created_at)
        .where(Release.product_id == seen.product_id, Release.configuration_id == seen.configuration_id)
        .order_by(Release.created_at.desc(), Release.id)
        .limit(_MOST)
    )
    if not may(work.actor, Permission.SEE_RELEASES, seen.product_id):
        of_mine = select(Request.release_id).where(Request.consumer_id == work.actor.user_id)
        query = query.where(Release.id.in_(of_mine))
    return tuple(record_of(records.ReleaseVersion, row) for row in work.session.execute(query))


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
