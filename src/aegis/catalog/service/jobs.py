"""Background jobs as people see them: started, watched, cancelled."""

from __future__ import annotations

from functools import partial
from typing import Any

from sqlalchemy import Select, select
from sqlalchemy.orm import defer

from aegis.catalog import records
from aegis.catalog.database.tables import Job, Product, Release, Request, Summary, User, is_id
from aegis.catalog.records import Page, record_of
from aegis.catalog.service import queue
from aegis.catalog.service.catalog import Work
from aegis.catalog.service.paging import FIRST, PageRequest, page_of
from aegis.catalog.service.permissions import Permission, may, products_where, require
from aegis.catalog.service.request_terms import asks_for_all
from aegis.catalog.service.requests import check_measure, seen_request
from aegis.catalog.service.visible import by_id, of_current_summary, visible_product
from aegis.catalog.states import JobState, ReleaseState, RequestState
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
        job_id = queue.enqueue(
            work,
            kind=queue.ADVISE,
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
    is_advice = row.kind == queue.ADVISE
    require(work.actor, Permission.START_ADVICE if is_advice else Permission.WITHDRAW_RELEASE, row.product_id)
    queue.cancel(work, row)
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
            Job.kind == queue.ADVISE,
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
        .where(
            Job.product_id == product_id,
            Job.kind == queue.ADVISE,
            Job.subject_id == summary_id,
            Job.state.in_(states),
        )
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
        records.Job,
        row,
        product_name=product_name,
        created_by=created_by,
        result=row.result if with_result else None,
    )
