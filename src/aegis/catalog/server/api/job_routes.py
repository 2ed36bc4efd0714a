"""Background jobs: the advisor, and whatever else takes longer than an answer may."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from aegis.catalog import records
from aegis.catalog.records import Page
from aegis.catalog.server.api import bodies
from aegis.catalog.server.api.bodies import IdPath, ProductPath, ProductRef
from aegis.catalog.server.api.calls import ApiRouter, Paged
from aegis.catalog.service import jobs
from aegis.catalog.service.catalog import Work
from aegis.errors import NotFoundError

router = ApiRouter(tags=["jobs"])


@router.writes("/products/{product}/advice", "Start the advisor", status=202)
def start(work: Work, product: ProductPath, body: bodies.AdviceRequest | None = None) -> records.Job:
    """Rank the configurations of the current summary in the background, perhaps for a request and its measure."""
    return jobs.start_advice(work, product=product, **(body or bodies.AdviceRequest()).keywords())


@router.reads("/products/{product}/ranking", "The newest ranking")
def ranking(work: Work, product: ProductPath) -> records.Job:
    """The newest finished advice on the product's current summary; its `result` is the ranking."""
    job = jobs.latest_ranking(work, product=product)
    if job is None:
        raise NotFoundError("nothing has been ranked on the current summary yet; start the advisor")
    return job


@router.reads("/jobs", "Jobs")
def list_jobs(
    work: Work,
    page: Paged,
    product: Annotated[ProductRef | None, Query(description="Only those of this product.")] = None,
) -> Page[records.Job]:
    """The jobs of the products one works on, the newest first, without their results."""
    return jobs.list_jobs(work, product=product, page=page)


@router.reads("/jobs/{job_id}", "One job")
def one(work: Work, job_id: IdPath) -> records.Job:
    """One job, with its result when it is done."""
    return jobs.job(work, job_id=job_id)


@router.writes("/jobs/{job_id}/cancel", "Cancel a job")
def cancel(work: Work, job_id: IdPath) -> records.Job:
    """Stop a job that waits or runs; what it had done is thrown away."""
    return jobs.cancel(work, job_id=job_id)
