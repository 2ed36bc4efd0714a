"""The advisor's answer, and the jobs that it and other long work run as."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import JSONResponse, Response

from aegis.catalog.database.states import JobState
from aegis.catalog.server.pages.paging import paging
from aegis.catalog.server.pages.product_part import head
from aegis.catalog.server.pages.routing import Door, get, post, sentence
from aegis.catalog.server.pages.visit import Visit
from aegis.catalog.service import jobs, products
from aegis.catalog.service.permissions import Permission, require
from aegis.catalog.service.views import JobView
from aegis.errors import ConflictError, InputError, NotFoundError
from aegis.measures.measure import MEASURES
from aegis.ranking.ranking import Ranking
from aegis.report.charts.scatter import Point, scatter
from aegis.report.figures import figure
from aegis.report.page import picture
from aegis.report.ranking_report import heat_of, intervals_chart, ranking_text, table_rows
from aegis.report.ranking_words import headline

ENDED = (JobState.DONE, JobState.FAILED, JobState.CANCELLED)
ROWS_LISTED = 300
KINDS = {"advise": "ranking", "verify_release": "check of a release"}


def measure_choices() -> list[tuple[str, str]]:
    """The measures, the choice of the advisor first and those of whole configurations before the others."""
    ordered = sorted(MEASURES, key=lambda name: not MEASURES[name].of_whole_configurations)
    named = [(name, name.replace("-", " ")) for name in ordered]
    return [("", "the best there is for these counts"), *named]


def show_ranking(visit: Visit) -> Response:
    with visit.read() as work:
        product = products.product(work, product=visit.names["product"])
        require(visit.actor, Permission.SEE_JOBS, product.id)
        if "job" in visit.query:
            job: JobView | None = jobs.job(work, job_id=visit.query["job"])
            if job is None or job.product_id != product.id or job.kind != "advise":
                raise NotFoundError("this product has no such ranking")
        else:
            job = jobs.latest_ranking(work, product=product.id)
    if job is not None and job.state is not JobState.DONE:
        return visit.go(f"/jobs/{job.id}")
    context: dict[str, Any] = {"ranking": None}
    if job is not None:
        context = _drawn(jobs.ranking_of(job), job.result or {})
    return visit.page("ranking.html", **head(visit, product), job=job, measures=measure_choices(), **context)


def _drawn(ranking: Ranking, result: Mapping[str, Any]) -> dict[str, Any]:
    """The pictures and tables of a ranking."""
    bits = {one["id"]: one["identifying_bits"] for one in result.get("risk") or ()}
    return {
        "ranking": ranking,
        "headline": headline(ranking),
        "words": ranking_text(ranking),
        "intervals": picture(intervals_chart(ranking)),
        "rows": table_rows(ranking)[:ROWS_LISTED],
        "ranked": len(ranking.ranking),
        "value_name": "deviation" if ranking.best.deviation is not None else ranking.measure,
        "heat": heat_of(ranking),
        "scatter": _scatter(ranking, bits) if bits else None,
        "bits_to_single_out": figure(result.get("bits_to_single_out"), 3),
        "rejected": dict(ranking.rejected),
    }


def _scatter(ranking: Ranking, bits: Mapping[str, float]) -> Any:
    """How useful each configuration is against what it leaves to tell records apart by."""
    points = [
        Point(
            label=one.configuration,
            x=bits[one.id],
            y=one.utility,
            chosen=one.configuration == ranking.best.configuration,
        )
        for one in ranking.ranking
        if one.id in bits
    ]
    return picture(
        scatter(
            points,
            title="Utility against what tells records apart",
            x_axis="bits by which the quasi-identifiers tell records apart, at most",
            y_axis=ranking.measure.replace("-", " "),
            more_x_is_better=False,
            more_y_is_better=ranking.higher_is_better,
        )
    )


def start(visit: Visit) -> Response:
    name = visit.names["product"]
    try:
        with visit.write() as work:
            job = jobs.start_advice(work, product=name, measure=visit.form.text("measure") or None)
    except (InputError, ConflictError) as error:
        return visit.go(f"/products/{name}/ranking", sentence(error), bad=True)
    return visit.go(f"/jobs/{job.id}")


def show_jobs(visit: Visit) -> Response:
    with visit.read() as work:
        page = jobs.list_jobs(work, page=visit.page_request)
    return visit.page("jobs.html", title="Jobs", jobs=page.items, paging=paging(visit, page), kinds=KINDS)


def show_job(visit: Visit) -> Response:
    with visit.read() as work:
        job = jobs.job(work, job_id=visit.names["job"])
    if job.state is JobState.DONE and job.kind == "advise":
        back = visit.query.get("request", "")
        if back.isalnum():
            return visit.go(f"/requests/{back}")
        return visit.go(f"/products/{job.product_name}/ranking?job={job.id}")
    if job.state is JobState.DONE and job.kind == "verify_release" and job.subject_id:
        return visit.go(f"/releases/{job.subject_id}")
    here = visit.path + (f"?request={visit.query['request']}" if visit.query.get("request", "").isalnum() else "")
    return visit.page(
        "job.html",
        title=KINDS.get(job.kind, job.kind).capitalize(),
        job=job,
        ended=job.state in ENDED,
        words=progress_words(job),
        here=here,
    )


def send_progress(visit: Visit) -> Response:
    """The state of a job, for the script of its page."""
    with visit.read() as work:
        job = jobs.job(work, job_id=visit.names["job"])
    return JSONResponse({"progress": job.progress, "words": progress_words(job), "ended": job.state in ENDED})


def cancel(visit: Visit) -> Response:
    try:
        with visit.write() as work:
            job = jobs.cancel(work, job_id=visit.names["job"])
    except ConflictError as error:
        return visit.go(f"/jobs/{visit.names['job']}", sentence(error), bad=True)
    return visit.go(f"/products/{job.product_name}/ranking", "The job is cancelled.")


def progress_words(job: JobView) -> str:
    """What a job is at."""
    if job.state is JobState.QUEUED:
        return "Waits for a worker."
    if job.state is JobState.RUNNING:
        return f"{job.stage.capitalize() or 'Running'}, {100 * job.progress:.0f} %."
    if job.state is JobState.FAILED:
        return "It failed."
    return "It was cancelled." if job.state is JobState.CANCELLED else "Done."


DOORS: tuple[Door, ...] = (
    get("/products/{product}/ranking", show_ranking),
    post("/products/{product}/ranking", start),
    get("/jobs", show_jobs),
    get("/jobs/{job}", show_job),
    get("/jobs/{job}/progress", send_progress),
    post("/jobs/{job}/cancel", cancel),
)
