"""Requests for access."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from aegis.catalog import records
from aegis.catalog.records import Page
from aegis.catalog.server.api import bodies
from aegis.catalog.server.api.bodies import IdPath, ProductPath, ProductRef
from aegis.catalog.server.api.calls import ApiRouter, Paged
from aegis.catalog.service import comments, requests
from aegis.catalog.service.catalog import Work
from aegis.catalog.states import RequestState

router = ApiRouter(tags=["requests"])


@router.writes("/products/{product}/requests", "Ask for access", status=201)
def ask(work: Work, product: ProductPath, question: bodies.NewAccessRequest) -> records.AccessRequest:
    """Ask for access to a published product."""
    return requests.ask(work, product=product, **question.keywords())


@router.reads("/requests", "Requests")
def list_requests(
    work: Work,
    page: Paged,
    product: Annotated[ProductRef | None, Query(description="Only those for this product.")] = None,
    state: Annotated[RequestState | None, Query(description="Only those in this state.")] = None,
    mine: Annotated[bool, Query(description="Only one's own.")] = False,
) -> Page[records.AccessRequest]:
    """One's own requests and those for products one works on, the newest first."""
    return requests.list_requests(work, product=product, state=state, mine=mine, page=page)


@router.reads("/requests/{request_id}", "One request")
def one(work: Work, request_id: IdPath) -> records.RequestWithHistory:
    """One request with its history."""
    return requests.request(work, request_id=request_id)


@router.writes("/requests/{request_id}/decision", "Decide a request")
def decide(work: Work, request_id: IdPath, decision: bodies.Decision) -> records.AccessRequest:
    """Approve with a configuration, or reject with a reason; the second of two decisions is a conflict."""
    return requests.decide(work, request_id=request_id, **decision.keywords())


@router.writes("/requests/{request_id}/revoke", "Revoke a request")
def revoke(work: Work, request_id: IdPath, why: bodies.Revocation) -> records.AccessRequest:
    """The provider ends access."""
    return requests.revoke(work, request_id=request_id, **why.keywords())


@router.writes("/requests/{request_id}/withdraw", "Take a request back")
def withdraw(work: Work, request_id: IdPath, at: bodies.AtVersion | None = None) -> records.AccessRequest:
    """The consumer takes the request back; it counts as revoked."""
    return requests.withdraw(work, request_id=request_id, version=None if at is None else at.version)


@router.writes("/requests/{request_id}/reinstate", "Undo an expiry")
def reinstate(work: Work, request_id: IdPath, body: bodies.Reinstatement) -> records.AccessRequest:
    """An administrator gives an expired request its state back, for some days; it is on the record."""
    return requests.reinstate(work, request_id=request_id, days=body.days)


@router.reads("/requests/{request_id}/comments", "Comments on a request")
def list_comments(work: Work, request_id: IdPath) -> records.Comments:
    """What was said about a request, the oldest first."""
    return records.Comments(items=comments.list_comments(work, request_id=request_id))


@router.writes("/requests/{request_id}/comments", "Comment on a request", status=201)
def comment(work: Work, request_id: IdPath, body: bodies.NewComment) -> records.Comment:
    """Say something to those who see the request; they are notified."""
    return comments.comment(work, request_id=request_id, words=body.words)
