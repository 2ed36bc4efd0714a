"""The queue of jobs in the database: claimed by one worker at a time, and again when that one falls silent."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from sqlalchemy import ColumnElement, and_, func, or_, select

from aegis.catalog.database.tables import Job, new_id
from aegis.catalog.service.catalog import Work
from aegis.catalog.states import JobState, check_step
from aegis.errors import ConflictError

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
    return Claimed(
        id=job.id,
        kind=job.kind,
        product_id=job.product_id,
        subject_id=job.subject_id,
        parameters=dict(job.parameters),
        attempt=job.attempts,
        exhausted=exhausted,
    )


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
    _note(work, job, "job done")
    return True


def fail(work: Work, *, job_id: str, worker: str, error: str) -> bool:
    """Give up, with a sentence."""
    job = _owned(work, job_id, worker)
    if job is None:
        return False
    check_step(job.state, JobState.FAILED, what="the job")
    job.state, job.error, job.stage, job.ended_at = JobState.FAILED, error, "failed", work.now
    _note(work, job, "job failed")
    return True


def cancel(work: Work, job: Job) -> None:
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


def _note(work: Work, job: Job, action: str) -> None:
    work.record(action, job, kind=job.kind, attempts=job.attempts)
