"""The record of everything that was done."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from pydantic import Field

from aegis.catalog import records
from aegis.catalog.database.audit_chain import ACTS
from aegis.catalog.records import Page
from aegis.catalog.server.api.bodies import Id, Moment, Name, ProductRef
from aegis.catalog.server.api.calls import ApiRouter, Paged
from aegis.catalog.service import audit_log
from aegis.catalog.service.catalog import Work

router = ApiRouter(prefix="/audit", tags=["audit"])
Act = Annotated[str, Field(json_schema_extra={"enum": sorted(ACTS)})]


@router.reads("", "What happened")
def list_audit(
    work: Work,
    page: Paged,
    product: Annotated[ProductRef | None, Query(description="Only what concerns this product.")] = None,
    subject_id: Annotated[Id | None, Query(description="Only what happened to the thing with this id.")] = None,
    actor: Annotated[Name | None, Query(description="Only what this person did, by the name of their sign-in.")] = None,
    action: Annotated[Act | None, Query(description="Only acts of this kind.")] = None,
    since: Annotated[Moment | None, Query(description="Only from this moment on.")] = None,
    until: Annotated[Moment | None, Query(description="Only before this moment.")] = None,
) -> Page[records.Act]:
    """What happened, the newest first: of a product for its provider and expert, of everything for administrators."""
    chosen = audit_log.AuditFilter(actor=actor, action=action, since=since, until=until)
    return audit_log.list_audit(work, product=product, subject_id=subject_id, wanted=chosen, page=page)


@router.reads("/verification", "Is the record intact?", costly=True)
def verify(
    work: Work,
    head: Annotated[
        str | None, Query(pattern="^[0-9a-f]{64}$", description="A head that was written down earlier; it must occur.")
    ] = None,
) -> records.ChainStatus:
    """Walk the newest part of the chain of hashes, and say when the whole was last walked."""
    return audit_log.standing(work, expected_head=head)


@router.writes("/verification", "Walk the whole chain", status=202)
def walk(work: Work) -> records.ChainStatus:
    """Ask the worker to walk the chain from its first row; `wanted_at` is empty again when it is done."""
    return audit_log.want_walk(work)
