"""Background jobs: started, watched and cancelled by people; the queue in the database that workers take them from.

A job is claimed by one worker at a time, and again when that one falls silent.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, func, or_, select
from sqlalchemy.orm import defer

from aegis.catalog import records
from aegis.catalog.database.tables import Job, Product, Release, Request, Summary, User, is_id, new_id
from aegis.catalog.records import Page, record_of
from aegis.catalog.service.catalog import Work, by_id, of_current_summary, visible_product
from aegis.catalog.service.certificates import asks_for_all
from aegis.catalog.service.paging import FIRST, PageRequest, page_of
from aegis.catalog.service.permissions import Permission, may, products_where, require
from aegis.catalog.service.requests import check_measure
from aegis.catalog.service.seen_requests import seen_request
from aegis.catalog.states import JobState, ReleaseState, RequestState, check_step
from aegis.errors import ConflictError, NotFoundError
from aegis.ranking.ranking import Ranking


def start_advice(work: Work, *, product: str, measure: str | None = None, request_id: str | None = None) -> records.Job:
    """Rank the configurations of the current summary in the background, perhaps for a request and its measure.

    For a request that asks for some of the columns, only those count. Where the same summary is being ranked by the
    same measure on the same columns already, or was, that job is the answer.
    """
    product_row = visible_product(work, product, Permission.START_ADVICE)
    row: Request | None = None
    if request_id is not None:
        row = seen_request(work, request_id, lock=True)
        if row.product_id != product_row.id:
            raise NotFoundError("there is no such request for this product; look at its list of requests")
        if row.state != RequestState.PENDING:
            raise ConflictError("the request is decided already; start the advisor without it")
        measure = row.measure if measure is None else measure
    columns = None if row is None or asks_for_all(row.columns, product_row) else sorted(row.columns)
    check_measure(measure)
    summary_id = of_current_summary(work, product_row.id, Summary.id)
    if summary_id is None:
        raise ConflictError("the product has no summary yet; its provider has to push one first")
    job_id = _same_advice(work, product_row.id, summary_id, measure, columns)
    if job_id is None:
        job_id = enqueue(
            work,
            kind=ADVISE,
            product_id=product_row.id,
            subject_id=summary_id,
            parameters={"measure": measure, "seed": 0, "columns": columns},
        )
        work.record(
            "advice started", ("job", job_id), product_id=product_row.id, measure=measure, request_id=request_id
        )
    if row is not None and row.job_id != job_id:
        row.job_id = job_id
    work.session.flush()
    return _view(work, job_id)


def job(work: Work, *, job_id: str) -> records.Job:
    """One job, with its result when it is done."""
    return _as_view(*_seen(work, _selected(), job_id))


def list_jobs(work: Work, *, product: str | None = None, page: PageRequest = FIRST) -> Page[records.Job]:
    """The jobs of the products one works on, the newest first, without their results."""
    require(work.actor, Permission.SEE_CATALOG)
    query = _selected().options(defer(Job.result, raiseload=True))
    if product is not None:
        product_row = visible_product(work, product, Permission.SEE_JOBS)
        query = query.where(Job.product_id == product_row.id)
    else:
        at_work = products_where(work.actor, Permission.SEE_JOBS)
        if at_work is not None:
            query = query.where(Job.product_id.in_(at_work))
    without_result = partial(_as_view, with_result=False)
    return page_of(work.session, query, without_result, keys=(Job.created_at, Job.id), page=page, descending=True)


def cancel(work: Work, *, job_id: str) -> records.Job:
    """Stop a job that waits or runs; what it had done is thrown away. A release that was being verified is refused."""
    locking = _selected().with_for_update(key_share=True, of=Job).execution_options(populate_existing=True)
    row, product_name, created_by = _seen(work, locking, job_id)
    is_advice = row.kind == ADVISE
    require(work.actor, Permission.START_ADVICE if is_advice else Permission.WITHDRAW_RELEASE, row.product_id)
    take_out(work, row)
    release = None if is_advice else by_id(work, Release, row.subject_id, lock=True)
    if release is not None and release.state == ReleaseState.RECEIVED:
        release.state, release.reason = ReleaseState.REFUSED, "its verification was cancelled"
        work.record("release refused", release, state=release.state, digest=release.digest)
    return _as_view(row, product_name, created_by)


def latest_ranking(work: Work, *, product: str) -> records.Job | None:
    """The newest finished advice on the product's current summary; those for some columns only are left out."""
    product_row = visible_product(work, product, Permission.SEE_JOBS)
    row = work.session.execute(
        _selected()
        .join(Summary, Summary.id == Job.subject_id)
        .where(
            Job.product_id == product_row.id,
            Job.kind == ADVISE,
            Job.state == JobState.DONE,
            Job.parameters["columns"].as_string().is_(None),
            Summary.current,
        )
        .order_by(Job.ended_at.desc())
        .limit(1)
    ).one_or_none()
    return None if row is None else _as_view(*row)


def ranking_of(view: records.Job) -> Ranking:
    """The advisor's answer of a finished advice, as the library's own type."""
    if view.result is None or "ranking" not in view.result:
        raise ConflictError("the job has no ranking (yet); wait until it is done")
    # Rankings of 0.1 say beside themselves which direction is better.
    beside = {key: view.result[key] for key in ("higher_is_better",) if key in view.result}
    return Ranking.from_json({**beside, **view.result["ranking"]})


def _same_advice(
    work: Work, product_id: str, summary_id: str, measure: str | None, columns: list[str] | None
) -> str | None:
    states = [JobState.QUEUED, JobState.RUNNING, JobState.DONE]
    earlier = work.session.execute(
        select(Job.id, Job.parameters)
        .where(Job.product_id == product_id, Job.kind == ADVISE, Job.subject_id == summary_id, Job.state.in_(states))
        .order_by(Job.created_at.desc())
        .limit(100)
    )
    scope = (measure, columns)
    same = (job_id for job_id, parameters in earlier if (parameters.get("measure"), parameters.get("columns")) == scope)
    return next(same, None)


def _seen(work: Work, query: Select[*tuple[Any, ...]], job_id: str) -> Any:
    """What the query finds of a job that the actor may know of."""
    require(work.actor, Permission.SEE_CATALOG)
    found = work.session.execute(query.where(Job.id == job_id)).one_or_none() if is_id(job_id) else None
    if found is None or not may(work.actor, Permission.SEE_JOBS, found[0].product_id):
        raise NotFoundError("there is no such job; look at the list of jobs")
    return found


def _selected() -> Select[*tuple[Any, ...]]:
    return (
        select(Job, Product.name, User.name)
        .join(Product, Product.id == Job.product_id)
        .join(User, User.id == Job.created_by)
    )


def _view(work: Work, job_id: str) -> records.Job:
    return _as_view(*work.session.execute(_selected().where(Job.id == job_id)).one())


def _as_view(row: Job, product_name: str, created_by: str, *, with_result: bool = True) -> records.Job:
    return record_of(
        records.Job, row, product_name=product_name, created_by=created_by, result=row.result if with_result else None
    )


# The queue in the database

ADVISE, VERIFY_RELEASE = "advise", "verify_release"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """A job that this worker now works on; ``exhausted`` means that it was tried too often and only has to fail."""

    id: str
    kind: str
    product_id: str
    subject_id: str | None
    parameters: Mapping[str, Any]
    attempt: int
    exhausted: bool


def enqueue(
    work: Work,
    *,
    kind: str,
    product_id: str,
    subject_id: str | None,
    parameters: Mapping[str, Any] = MappingProxyType({}),
    job_id: str | None = None,
) -> str:
    """Add a job and give its id; it runs after this transaction."""
    waiting = work.session.scalar(
        select(func.count()).where(Job.product_id == product_id, Job.state == JobState.QUEUED)
    )
    if (waiting or 0) >= work.settings.jobs_queued_per_product:
        raise ConflictError("too many jobs of this product wait already; try again when some are done")
    job = Job(
        id=job_id or new_id(),
        kind=kind,
        product_id=product_id,
        subject_id=subject_id,
        state=JobState.QUEUED,
        parameters=dict(parameters),
        progress=0.0,
        stage="waiting for a worker",
        attempts=0,
        created_by=work.user_id,
        created_at=work.now,
    )
    return work.add(job).id


def any_waiting(work: Work, *, job_id: str | None = None) -> bool:
    """Whether `claim` would find a job."""
    return work.session.scalar(select(Job.id).where(_claimable(work, job_id)).limit(1)) is not None


def claim(work: Work, *, worker: str, job_id: str | None = None) -> Claimed | None:
    """The next job that waits, or whose worker has been silent for too long; None if there is none.

    With ``job_id`` only this one.
    """
    job = work.session.scalar(
        select(Job)
        .where(_claimable(work, job_id))
        .order_by(Job.created_at, Job.id)
        .limit(1)
        .with_for_update(skip_locked=True)
        .execution_options(populate_existing=True)
    )
    if job is None:
        return None
    check_step(job.state, JobState.RUNNING, what="the job")
    exhausted = job.attempts >= work.settings.job_attempts
    job.state, job.worker, job.heartbeat_at = JobState.RUNNING, worker, work.now
    job.started_at = job.started_at or work.now
    job.attempts += 0 if exhausted else 1
    job.progress, job.stage = 0.0, "starting"
    return record_of(Claimed, job, parameters=dict(job.parameters), attempt=job.attempts, exhausted=exhausted)


def heartbeat(work: Work, *, job_id: str, worker: str, progress: float, stage: str) -> bool:
    """Say that the work goes on; False if the job is not this worker's any more."""
    job = _owned(work, job_id, worker)
    if job is None:
        return False
    job.heartbeat_at, job.progress, job.stage = work.now, min(max(progress, 0.0), 1.0), stage
    return True


def finish(work: Work, *, job_id: str, worker: str, result: Mapping[str, Any]) -> bool:
    """Write the result and the state together; False, and nothing written, if the job is not this worker's any more."""
    job = _owned(work, job_id, worker)
    if job is None:
        return False
    check_step(job.state, JobState.DONE, what="the job")
    job.state, job.result, job.progress, job.stage = JobState.DONE, dict(result), 1.0, "done"
    job.ended_at = work.now
    work.record("job done", job, kind=job.kind, attempts=job.attempts)
    return True


def fail(work: Work, *, job_id: str, worker: str, error: str) -> bool:
    """Give up, with a sentence."""
    job = _owned(work, job_id, worker)
    if job is None:
        return False
    check_step(job.state, JobState.FAILED, what="the job")
    job.state, job.error, job.stage, job.ended_at = JobState.FAILED, error, "failed", work.now
    work.record("job failed", job, kind=job.kind, attempts=job.attempts)
    return True


def take_out(work: Work, job: Job) -> None:
    """Take a job out of the queue, or away from its worker; it is locked."""
    check_step(job.state, JobState.CANCELLED, what="the job")
    job.state, job.stage, job.ended_at = JobState.CANCELLED, "cancelled", work.now
    work.record("job cancelled", job, kind=job.kind)


def release_claim(work: Work, *, job_id: str, worker: str) -> bool:
    """Let another worker take the job at once: this one was told to stop. The attempt does not count."""
    job = _owned(work, job_id, worker)
    if job is None:
        return False
    job.heartbeat_at = work.now - 2 * _silence(work)
    job.attempts = max(job.attempts - 1, 0)
    job.stage = "waiting for a worker"
    return True


def _claimable(work: Work, job_id: str | None) -> ColumnElement[bool]:
    silent = and_(Job.state == JobState.RUNNING, Job.heartbeat_at < work.now - _silence(work))
    waiting = or_(Job.state == JobState.QUEUED, silent)
    return waiting if job_id is None else and_(Job.id == job_id, waiting)


def _silence(work: Work) -> datetime.timedelta:
    return datetime.timedelta(seconds=work.settings.heartbeat_seconds)


def _owned(work: Work, job_id: str, worker: str) -> Job | None:
    job = work.session.get(Job, job_id, with_for_update=True, populate_existing=True)
    if job is None or job.state != JobState.RUNNING or job.worker != worker:
        return None
    return job
