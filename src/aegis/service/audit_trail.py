"""The record, for those who may read it."""

from __future__ import annotations

from sqlalchemy import select

from aegis.catalog.audit import ChainVerdict, verify_chain
from aegis.catalog.tables import Audit
from aegis.errors import InputError
from aegis.service.catalog import Work
from aegis.service.paging import FIRST, Page, PageRequest, page_of
from aegis.service.permissions import Permission, require
from aegis.service.views import AuditView
from aegis.service.visible import visible_product
from aegis.service.words import is_id


def list_audit(
    work: Work, *, product: str | None = None, subject_id: str | None = None, page: PageRequest = FIRST
) -> Page[AuditView]:
    """What happened, the newest first: of one product for its provider and expert, of everything for administrators."""
    query = select(Audit)
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


def verify(work: Work, *, expected_head: str | None = None) -> ChainVerdict:
    """Walk the whole chain of the audit (administrators)."""
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
