"""The record of everything that was done."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.responses import Response

from aegis.catalog.server.api.asking import Paged, Read, Write
from aegis.catalog.server.api.models import given
from aegis.catalog.server.api.models.fields import Id, Moment, Name, PageOf, ProductRef
from aegis.catalog.service import audit_trail, chain_check
from aegis.catalog.service.acts import ACTS

router = APIRouter(prefix="/audit", tags=["audit"])
Act = Annotated[str, Field(json_schema_extra={"enum": sorted(ACTS)})]


@router.get("", response_model=PageOf[given.Act], summary="What happened")
def list_audit(
    asked: Read,
    page: Paged,
    product: Annotated[ProductRef | None, Query(description="Only what concerns this product.")] = None,
    subject_id: Annotated[Id | None, Query(description="Only what happened to the thing with this id.")] = None,
    actor: Annotated[Name | None, Query(description="Only what this person did, by the name of their sign-in.")] = None,
    action: Annotated[Act | None, Query(description="Only acts of this kind.")] = None,
    since: Annotated[Moment | None, Query(description="Only from this moment on.")] = None,
    until: Annotated[Moment | None, Query(description="Only before this moment.")] = None,
) -> Any:
    """What happened, the newest first: of a product for its provider and expert, of everything for administrators."""
    with asked.work() as work:
        wanted = audit_trail.Wanted(actor=actor, action=action, since=since, until=until)
        return audit_trail.list_audit(work, product=product, subject_id=subject_id, wanted=wanted, page=page)


@router.get("/verification", response_model=given.ChainStanding, summary="Is the record intact?")
def verify(
    asked: Read,
    head: Annotated[
        str | None, Query(pattern="^[0-9a-f]{64}$", description="A head that was written down earlier; it must occur.")
    ] = None,
) -> Any:
    """Walk the newest part of the chain of hashes, and say when the whole was last walked."""
    with asked.work() as work:
        return chain_check.standing(work, expected_head=head)


@router.post("/verification", response_model=given.ChainStanding, status_code=202, summary="Walk the whole chain")
def walk(asked: Write) -> Response:
    """Ask the worker to walk the chain from its first row; `wanted_at` is empty again when it is done."""
    return asked.once(given.ChainStanding, chain_check.want_walk, status=202)
