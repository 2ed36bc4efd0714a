"""Requests for access."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from aegis.catalog import records
from aegis.catalog.records import Page
from aegis.catalog.server.api import bodies
from aegis.catalog.server.api.bodies import IdPath, ProductPath, ProductRef
from aegis.catalog.server.api.calls import JsonRoute, Paged, Read, Write
from aegis.catalog.service import comments, requests
from aegis.catalog.states import RequestState

router = APIRouter(tags=["requests"], route_class=JsonRoute)


@router.post(
    "/products/{product}/requests", response_model=records.AccessRequest, status_code=201, summary="Ask for access"
)
def ask(call: Write, product: ProductPath, question: bodies.NewAccessRequest) -> Response:
    """Ask for access to a published product."""
    return call.once(
        records.AccessRequest,
        lambda work: requests.ask(
            work,
            product=product,
            purpose=question.purpose,
            columns=question.columns,
            days=question.days,
            measure=question.measure,
        ),
        body=question,
        status=201,
    )


@router.get("/requests", response_model=Page[records.AccessRequest], summary="Requests")
def list_requests(
    call: Read,
    page: Paged,
    product: Annotated[ProductRef | None, Query(description="Only those for this product.")] = None,
    state: Annotated[RequestState | None, Query(description="Only those in this state.")] = None,
    mine: Annotated[bool, Query(description="Only one's own.")] = False,
) -> Any:
    """One's own requests and those for products one works on, the newest first."""
    with call.read() as work:
        return requests.list_requests(work, product=product, state=state, mine=mine, page=page)


@router.get("/requests/{request_id}", response_model=records.RequestWithHistory, summary="One request")
def one(call: Read, request_id: IdPath) -> Any:
    """One request with its history."""
    with call.read() as work:
        return requests.request(work, request_id=request_id)


@router.post("/requests/{request_id}/decision", response_model=records.AccessRequest, summary="Decide a request")
def decide(call: Write, request_id: IdPath, decision: bodies.Decision) -> Response:
    """Approve with a configuration, or reject with a reason; the second of two decisions is a conflict."""
    return call.once(
        records.AccessRequest,
        lambda work: requests.decide(
            work,
            request_id=request_id,
            version=decision.version,
            approve=decision.approve,
            configuration_id=decision.configuration_id,
            reason=decision.reason,
            despite_ledger=decision.despite_ledger,
        ),
        body=decision,
    )


@router.post("/requests/{request_id}/revoke", response_model=records.AccessRequest, summary="Revoke a request")
def revoke(call: Write, request_id: IdPath, why: bodies.Revocation) -> Response:
    """The provider ends access."""
    return call.once(
        records.AccessRequest,
        lambda work: requests.revoke(work, request_id=request_id, reason=why.reason, version=why.version),
        body=why,
    )


@router.post("/requests/{request_id}/withdraw", response_model=records.AccessRequest, summary="Take a request back")
def withdraw(call: Write, request_id: IdPath, at: bodies.AtVersion | None = None) -> Response:
    """The consumer takes the request back; it counts as revoked."""
    version = None if at is None else at.version
    return call.once(
        records.AccessRequest,
        lambda work: requests.withdraw(work, request_id=request_id, version=version),
        body=version,
    )


@router.post("/requests/{request_id}/reinstate", response_model=records.AccessRequest, summary="Undo an expiry")
def reinstate(call: Write, request_id: IdPath, body: bodies.Reinstatement) -> Response:
    """An administrator gives an expired request its state back, for some days; it is on the record."""
    return call.once(
        records.AccessRequest,
        lambda work: requests.reinstate(work, request_id=request_id, days=body.days),
        body=body,
    )


@router.get("/requests/{request_id}/comments", response_model=records.Comments, summary="Comments on a request")
def list_comments(call: Read, request_id: IdPath) -> Any:
    """What was said about a request, the oldest first."""
    with call.read() as work:
        return records.Comments(items=comments.list_comments(work, request_id=request_id))


@router.post(
    "/requests/{request_id}/comments", response_model=records.Comment, status_code=201, summary="Comment on a request"
)
def comment(call: Write, request_id: IdPath, body: bodies.NewComment) -> Response:
    """Say something to those who see the request; they are told."""
    return call.once(
        records.Comment,
        lambda work: comments.comment(work, request_id=request_id, words=body.words),
        body=body,
        status=201,
    )
