"""Releases as people see them, and who may see which."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Select, func, select

from aegis.catalog.database.states import ReleaseState
from aegis.catalog.database.tables import Download, Product, Release, Request, User
from aegis.catalog.service.catalog import Work
from aegis.catalog.service.paging import FIRST, Page, PageRequest, page_of
from aegis.catalog.service.permissions import Permission, may, require
from aegis.catalog.service.present_policy import present_policy
from aegis.catalog.service.views import ReleaseView
from aegis.catalog.service.visible import by_id, visible_product
from aegis.errors import NotFoundError


def release(work: Work, *, release_id: str) -> ReleaseView:
    """One release."""
    return release_view(work, seen_release(work, release_id).id)


def list_releases(work: Work, *, product: str, page: PageRequest = FIRST) -> Page[ReleaseView]:
    """The releases of a product that the actor may see, the newest first."""
    found = visible_product(work, product)
    query = _selected().where(Release.product_id == found.id)
    if not may(work.actor, Permission.SEE_RELEASES, found.id):
        of_mine = select(Request.release_id).where(Request.consumer_id == work.actor.user_id)
        query = query.where(Release.id.in_(of_mine))
    rows, cursor = page_of(work.session, query, keys=(Release.created_at, Release.id), page=page, descending=True)
    return Page(items=tuple(_as_view(*row) for row in rows), next=cursor)


def seen_release(work: Work, release_id: str) -> Release:
    require(work.actor, Permission.SEE_CATALOG)
    row = by_id(work, Release, release_id)
    if row is None or not _sees(work, row):
        raise NotFoundError("there is no such release; look at the product's list")
    return row


def _sees(work: Work, row: Release) -> bool:
    if work.actor.token_product not in (None, row.product_id):
        return False
    if may(work.actor, Permission.SEE_RELEASES, row.product_id):
        return True
    of_mine = select(Request.id).where(Request.consumer_id == work.actor.user_id, Request.release_id == row.id)
    return may(work.actor, Permission.DOWNLOAD, row.product_id) and work.session.scalar(of_mine) is not None


def _selected() -> Select[*tuple[Any, ...]]:
    taken = select(func.count()).where(Download.release_id == Release.id).scalar_subquery()
    return (
        select(Release, Product, User.name, taken)
        .join(Product, Product.id == Release.product_id)
        .join(User, User.id == Release.pushed_by)
    )


def release_view(work: Work, release_id: str) -> ReleaseView:
    return _as_view(*work.session.execute(_selected().where(Release.id == release_id)).one())


def _as_view(row: Release, product: Product, pushed_by: str, downloads: int) -> ReleaseView:
    return ReleaseView(
        id=row.id,
        product_id=row.product_id,
        product_name=product.name,
        configuration_id=row.configuration_id,
        request_id=row.request_id,
        digest=row.digest,
        bytes=row.bytes,
        file_name=row.file_name,
        certificate=row.certificate,
        certificate_digest=row.certificate_digest,
        state=ReleaseState(row.state),
        reason=row.reason,
        job_id=row.job_id,
        pushed_by=pushed_by,
        created_at=row.created_at,
        version=row.version,
        downloads=downloads,
        present_policy=present_policy(row.certificate, product),
    )
