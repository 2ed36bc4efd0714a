"""The record, for those who may read it."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from sqlalchemy import Select, select

from aegis.catalog.database.audit import ChainVerdict, verify_chain
from aegis.catalog.database.tables import Audit
from aegis.catalog.service.acts import ACTS
from aegis.catalog.service.catalog import Work
from aegis.catalog.service.paging import FIRST, Page, PageRequest, page_of
from aegis.catalog.service.permissions import Permission, require
from aegis.catalog.service.views import AuditView
from aegis.catalog.service.visible import visible_product
from aegis.catalog.service.words import checked_text, is_id
from aegis.errors import InputError

_LONGEST_NAME = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which part of the record: by whom, what, and from ``since`` on up to but not including ``until``."""

    actor: str | None = None
    action: str | None = None
    since: datetime.datetime | None = None
    until: datetime.datetime | None = None

    def __post_init__(self) -> None:
        if self.actor is not None:
            checked_text(self.actor, what="the name of a person", least=1, most=_LONGEST_NAME)
        if self.action is not None and self.action not in ACTS:
            raise InputError("there is no such act; choose one that the record knows, such as 'request approved'")
        for moment in (self.since, self.until):
            if moment is not None and not _is_usable(moment):
                raise InputError("a moment needs a time zone; write it like 2026-03-01T12:00:00Z")
        if self.since is not None and self.until is not None and self.since > self.until:
            raise InputError("the time ends before it begins; exchange the two moments")


def _is_usable(moment: datetime.datetime) -> bool:
    try:
        return moment.tzinfo is not None and moment.astimezone(datetime.UTC) is not None
    except OverflowError:  # the first and the last day of all years, seen from elsewhere
        return False


EVERYTHING = Wanted()


def list_audit(
    work: Work,
    *,
    product: str | None = None,
    subject_id: str | None = None,
    wanted: Wanted = EVERYTHING,
    page: PageRequest = FIRST,
) -> Page[AuditView]:
    """What happened, the newest first: of one product for its provider and expert, of everything for administrators."""
    query = _chosen(select(Audit), wanted)
    if product is None:
        require(work.actor, Permission.SEE_AUDIT)
    else:
        found = visible_product(work, product)
        require(work.actor, Permission.SEE_PRODUCT_AUDIT, found.id)
        query = query.where(Audit.product_id == found.id)
    if subject_id is not None:
        if not is_id(subject_id):
            raise InputError("the subject is named by its id: 32 hexadecimal digits")
        query = query.where(Audit.subject_id == subject_id)
    rows, cursor = page_of(work.session, query, keys=(Audit.sequence,), page=page, descending=True)
    return Page(items=tuple(audit_view(row[0]) for row in rows), next=cursor)


def _chosen(query: Select[tuple[Audit]], wanted: Wanted) -> Select[tuple[Audit]]:
    if wanted.actor is not None:
        query = query.where(Audit.actor == wanted.actor)
    if wanted.action is not None:
        query = query.where(Audit.action == wanted.action)
    if wanted.since is not None:
        query = query.where(Audit.at >= wanted.since)
    if wanted.until is not None:
        query = query.where(Audit.at < wanted.until)
    return query


def verify(work: Work, *, expected_head: str | None = None) -> ChainVerdict:
    """Walk the whole chain of the audit (administrators); the longer the record, the longer it takes."""
    require(work.actor, Permission.SEE_AUDIT)
    return verify_chain(work.session, expected_head=expected_head)


def audit_view(row: Audit) -> AuditView:
    return AuditView(
        sequence=row.sequence,
        at=row.at,
        actor=row.actor,
        action=row.action,
        subject=row.subject,
        subject_id=row.subject_id,
        product_id=row.product_id,
        details=row.details,
        previous=row.previous,
        hash=row.hash,
    )
