"""The record of everything that was done."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.responses import Response

from aegis.catalog import records
from aegis.catalog.database.audit_chain import ACTS
from aegis.catalog.records import Page
from aegis.catalog.server.api.bodies import Id, Moment, Name, ProductRef
from aegis.catalog.server.api.calls import JsonRoute, Paged, Read, Write
from aegis.catalog.server.lanes import in_costly_lane
from aegis.catalog.service import audit_log

router = APIRouter(prefix="/audit", tags=["audit"], route_class=JsonRoute)
Act = Annotated[str, Field(json_schema_extra={"enum": sorted(ACTS)})]


@router.get("", response_model=Page[records.Act], summary="What happened")
def list_audit(
    call: Read,
    page: Paged,
    product: Annotated[ProductRef | None, Query(description="Only what concerns this product.")] = None,
    subject_id: Annotated[Id | None, Query(description="Only what happened to the thing with this id.")] = None,
    actor: Annotated[Name | None, Query(description="Only what this person did, by the name of their sign-in.")] = None,
    action: Annotated[Act | None, Query(description="Only acts of this kind.")] = None,
    since: Annotated[Moment | None, Query(description="Only from this moment on.")] = None,
    until: Annotated[Moment | None, Query(description="Only before this moment.")] = None,
) -> Any:
    """What happened, the newest first: of a product for its provider and expert, of everything for administrators."""
    with call.read() as work:
        chosen = audit_log.AuditFilter(actor=actor, action=action, since=since, until=until)
        return audit_log.list_audit(work, product=product, subject_id=subject_id, wanted=chosen, page=page)


@router.get("/verification", response_model=records.ChainStatus, summary="Is the record intact?")
@in_costly_lane
def verify(
    call: Read,
    head: Annotated[
        str | None, Query(pattern="^[0-9a-f]{64}$", description="A head that was written down earlier; it must occur.")
    ] = None,
) -> Any:
    """Walk the newest part of the chain of hashes, and say when the whole was last walked."""
    with call.read() as work:
        return audit_log.standing(work, expected_head=head)


@router.post("/verification", response_model=records.ChainStatus, status_code=202, summary="Walk the whole chain")
def walk(call: Write) -> Response:
    """Ask the worker to walk the chain from its first row; `wanted_at` is empty again when it is done."""
    return call.once(records.ChainStatus, audit_log.want_walk, status=202)
