"""The record, for those who may read it."""

from __future__ import annotations

from aegis.catalog.audit import ChainVerdict
from aegis.service.catalog import Work
from aegis.service.paging import FIRST, Page, PageRequest
from aegis.service.views import AuditView


def list_audit(
    work: Work, *, product: str | None = None, subject_id: str | None = None, page: PageRequest = FIRST
) -> Page[AuditView]:
    """What happened, the newest first: of one product for its provider and expert, of everything for administrators."""
    raise NotImplementedError


def verify(work: Work, *, expected_head: str | None = None) -> ChainVerdict:
    """Walk the whole chain of the audit (administrators)."""
    raise NotImplementedError
