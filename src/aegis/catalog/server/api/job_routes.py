"""Background jobs: the advisor, and whatever else takes longer than an answer may."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from aegis.catalog import records
from aegis.catalog.records import Page
from aegis.catalog.server.api import bodies
from aegis.catalog.server.api.bodies import IdPath, ProductPath, ProductRef
from aegis.catalog.server.api.calls import JsonRoute, Paged, Read, Write
from aegis.catalog.service import jobs
from aegis.errors import NotFoundError

router = APIRouter(tags=["jobs"], route_class=JsonRoute)


@router.post("/products/{product}/advice", response_model=records.Job, status_code=202, summary="Start the advisor")
def start(call: Write, product: ProductPath, body: bodies.AdviceRequest | None = None) -> Response:
    """Rank the configurations of the current summary in the background, perhaps for a request and its measure."""
    body = body or bodies.AdviceRequest()
    return call.once(
        records.Job,
        lambda work: jobs.start_advice(work, product=product, measure=body.measure, request_id=body.request_id),
        body=body,
        status=202,
    )


@router.get("/products/{product}/ranking", response_model=records.Job, summary="The newest ranking")
def ranking(call: Read, product: ProductPath) -> Any:
    """The newest finished advice on the product's current summary; its `result` is the ranking."""
    with call.read() as work:
        job = jobs.latest_ranking(work, product=product)
    if job is None:
        raise NotFoundError("nothing has been ranked on the current summary yet; start the advisor")
    return job


@router.get("/jobs", response_model=Page[records.Job], summary="Jobs")
def list_jobs(
    call: Read,
    page: Paged,
    product: Annotated[ProductRef | None, Query(description="Only those of this product.")] = None,
) -> Any:
    """The jobs of the products one works on, the newest first, without their results."""
    with call.read() as work:
        return jobs.list_jobs(work, product=product, page=page)


@router.get("/jobs/{job_id}", response_model=records.Job, summary="One job")
def one(call: Read, job_id: IdPath) -> Any:
    """One job, with its result when it is done."""
    with call.read() as work:
        return jobs.job(work, job_id=job_id)


@router.post("/jobs/{job_id}/cancel", response_model=records.Job, summary="Cancel a job")
def cancel(call: Write, job_id: IdPath) -> Response:
    """Stop a job that waits or runs; what it had done is thrown away."""
    return call.once(records.Job, lambda work: jobs.cancel(work, job_id=job_id))
