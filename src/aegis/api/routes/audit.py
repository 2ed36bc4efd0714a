"""The record of everything that was done."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from aegis.api.asking import Paged, Read
from aegis.api.models import given
from aegis.api.models.fields import Id, PageOf, ProductRef
from aegis.service import audit_trail

router = APIRouter(prefix="/audit", tags=["audit"])


@router.get("", response_model=PageOf[given.Act], summary="What happened")
def list_audit(
    asked: Read,
    page: Paged,
    product: Annotated[ProductRef | None, Query(description="Only what concerns this product.")] = None,
    subject_id: Annotated[Id | None, Query(description="Only what happened to the thing with this id.")] = None,
) -> Any:
    """What happened, the newest first: of a product for its provider and expert, of everything for administrators."""
    with asked.work() as work:
        return audit_trail.list_audit(work, product=product, subject_id=subject_id, page=page)


@router.get("/verification", response_model=given.ChainVerdict, summary="Is the record intact?")
def verify(
    asked: Read,
    head: Annotated[
        str | None, Query(pattern="^[0-9a-f]{64}$", description="A head that was written down earlier; it must occur.")
    ] = None,
) -> Any:
    """Walk the whole chain of hashes."""
    with asked.work() as work:
        return audit_trail.verify(work, expected_head=head)
