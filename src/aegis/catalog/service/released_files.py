"""The masked files of many products that somebody may have, found at once: what portals list."""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import bindparam, func, or_, select

from aegis.catalog.database.tables import Release, Request
from aegis.catalog.service.catalog import Work
from aegis.catalog.service.permissions import Permission, may, require
from aegis.catalog.states import ReleaseState

MOST_OF_PRODUCT = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedFile:
    """A verified release as a file."""

    release_id: str
    file_name: str
    bytes: int
    digest: str
    created_at: datetime.datetime


_place = func.row_number().over(partition_by=Release.product_id, order_by=(Release.created_at.desc(), Release.id))
_of_mine = select(Request.release_id).where(Request.consumer_id == bindparam("me"), Request.release_id.is_not(None))
_numbered = (
    select(
        Release.id,
        Release.product_id,
        Release.file_name,
        Release.bytes,
        Release.digest,
        Release.created_at,
        _place.label("place"),
    )
    .where(
        Release.product_id.in_(bindparam("products", expanding=True)),
        Release.state == ReleaseState.VERIFIED.value,
        or_(Release.product_id.in_(bindparam("all_of", expanding=True)), Release.id.in_(_of_mine)),
    )
    .subquery()
)
_FILES = select(_numbered).where(_numbered.c.place <= MOST_OF_PRODUCT).order_by(_numbered.c.place)


def released_files(work: Work, product_ids: Sequence[str]) -> Mapping[str, Sequence[ReleasedFile]]:
    """The verified releases of these products that the actor may see, the newest first and at most 50 of each.

    Those who work on a product see all of its, others those of their own requests; as in `releases.list_releases`.
    """
    require(work.actor, Permission.SEE_CATALOG)
    all_of = [product_id for product_id in product_ids if may(work.actor, Permission.SEE_RELEASES, product_id)]
    values = {"products": list(product_ids), "all_of": all_of, "me": work.actor.user_id}
    files: defaultdict[str, list[ReleasedFile]] = defaultdict(list)
    for row in work.session.execute(_FILES, values):
        files[row.product_id].append(
            ReleasedFile(
                release_id=row.id,
                file_name=row.file_name,
                bytes=row.bytes,
                digest=row.digest,
                created_at=row.created_at,
            )
        )
    return files
