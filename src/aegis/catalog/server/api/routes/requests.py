"""Requests for access."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from aegis.catalog.database.states import RequestState
from aegis.catalog.server.api.asking import Paged, Read, Write
from aegis.catalog.server.api.models import given, sent
from aegis.catalog.server.api.models.fields import IdPath, PageOf, ProductPath, ProductRef
from aegis.catalog.service import requests

router = APIRouter(tags=["requests"])


@router.post("/products/{product}/requests", response_model=given.Request, status_code=201, summary="Ask for access")
def ask(asked: Write, product: ProductPath, question: sent.Question) -> Response:
    """Ask for access to a published product."""
    return asked.once(
        given.Request,
        lambda work: requests.ask(
            work,
            product=product,
            purpose=question.purpose,
            columns=question.columns,
            days=question.days,
            measure=question.measure,
        ),
        sent=question,
        status=201,
    )


@router.get("/requests", response_model=PageOf[given.Request], summary="Requests")
def list_requests(
    asked: Read,
    page: Paged,
    product: Annotated[ProductRef | None, Query(description="Only those for this product.")] = None,
    state: Annotated[RequestState | None, Query(description="Only those in this state.")] = None,
    mine: Annotated[bool, Query(description="Only one's own.")] = False,
) -> Any:
    """One's own requests and those for products one works on, the newest first."""
    with asked.work() as work:
        return requests.list_requests(work, product=product, state=state, mine=mine, page=page)


@router.get("/requests/{request_id}", response_model=given.RequestWithHistory, summary="One request")
def one(asked: Read, request_id: IdPath) -> Any:
    """One request with its history."""
    with asked.work() as work:
        return requests.request(work, request_id=request_id)


@router.post("/requests/{request_id}/decision", response_model=given.Request, summary="Decide a request")
def decide(asked: Write, request_id: IdPath, decision: sent.Decision) -> Response:
    """Approve with a configuration, or reject with a reason; the second of two decisions is a conflict."""
    return asked.once(
        given.Request,
        lambda work: requests.decide(
            work,
            request_id=request_id,
            version=decision.version,
            approve=decision.approve,
            configuration_id=decision.configuration_id,
            reason=decision.reason,
        ),
        sent=decision,
    )


@router.post("/requests/{request_id}/revoke", response_model=given.Request, summary="Revoke a request")
def revoke(asked: Write, request_id: IdPath, why: sent.Revocation) -> Response:
    """The provider ends access."""
    return asked.once(
        given.Request,
        lambda work: requests.revoke(work, request_id=request_id, reason=why.reason, version=why.version),
        sent=why,
    )


@router.post("/requests/{request_id}/withdraw", response_model=given.Request, summary="Take a request back")
def withdraw(asked: Write, request_id: IdPath, at: sent.AtVersion | None = None) -> Response:
    """The consumer takes the request back; it counts as revoked."""
    version = None if at is None else at.version
    return asked.once(
        given.Request, lambda work: requests.withdraw(work, request_id=request_id, version=version), sent=version
    )
