"""The advisor's answer, and the jobs that it and other long work run as."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import JSONResponse, Response

from aegis.catalog import records
from aegis.catalog.server.limits import costly_lane
from aegis.catalog.server.pages.page import PageContext, PageRoutes
from aegis.catalog.server.pages.product_pages import head, product_of
from aegis.catalog.service import jobs
from aegis.catalog.service.permissions import Permission
from aegis.catalog.states import JobState
from aegis.errors import NotFoundError
from aegis.measures.measure import MEASURES
from aegis.ranking.ranking import Ranking
from aegis.report.charts.curves import Point, scatter
from aegis.report.figures import figure
from aegis.report.page import picture
from aegis.report.ranking_report import heat_of, intervals_chart, ranking_text, table_rows, value_name
from aegis.report.ranking_words import headline

routes = PageRoutes()

ROWS_LISTED = 300
KINDS = {"advise": "ranking", "verify_release": "check of a release"}


def measure_choices() -> list[tuple[str, str]]:
    """The measures, the choice of the advisor first and those of whole configurations before the others."""
    ordered = sorted(MEASURES, key=lambda name: not MEASURES[name].of_whole_configurations)
    named = [(name, name.replace("-", " ")) for name in ordered]
    return [("", "the best there is for these counts"), *named]


@routes.get("/products/{product}/ranking", lane=costly_lane)
def show_ranking(context: PageContext) -> Response:
    with context.read() as work:
        product = product_of(context, work, Permission.SEE_JOBS)
        if "job" in context.query:
            job: records.Job | None = jobs.job(work, job_id=context.query["job"])
            if job is None or job.product_id != product.id or job.kind != "advise":
                raise NotFoundError("this product has no such ranking")
        else:
            job = jobs.latest_ranking(work, product=product.id)
    if job is not None and job.state is not JobState.DONE:
        return context.redirect(f"/jobs/{job.id}")
    drawn: dict[str, Any] = {"ranking": None}
    if job is not None:
        drawn = _drawn(jobs.ranking_of(job), job.result or {})
    return context.render("ranking.html", **head(context, product), job=job, measures=measure_choices(), **drawn)


def _drawn(ranking: Ranking, result: Mapping[str, Any]) -> dict[str, Any]:
    """The pictures and tables of a ranking."""
    bits = {risk["id"]: risk["identifying_bits"] for risk in result.get("risk") or ()}
    return {
        "ranking": ranking,
        "headline": headline(ranking),
        "words": ranking_text(ranking),
        "intervals": picture(intervals_chart(ranking)),
        "rows": table_rows(ranking)[:ROWS_LISTED],
        "ranked": len(ranking.ranking),
        "value_name": value_name(ranking),
        "heat": heat_of(ranking),
        "scatter": _scatter(ranking, bits) if bits else None,
        "bits_to_single_out": figure(result.get("bits_to_single_out"), 3),
        "rejected": dict(ranking.rejected),
    }


def _scatter(ranking: Ranking, bits: Mapping[str, float]) -> Any:
    """How useful each configuration is against what it leaves to tell records apart by."""
    points = [
        Point(
            label=place.configuration,
            x=bits[place.id],
            y=place.performance if place.performance is not None else place.utility or 0.0,
            chosen=place.configuration == ranking.best.configuration,
        )
        for place in ranking.ranking
        if place.id in bits
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


@routes.post("/products/{product}/ranking", refused="/products/{product}/ranking")
def start(context: PageContext) -> Response:
    measure = context.form.text("measure") or None
    with context.write() as work:
        job = jobs.start_advice(work, product=context.parameters["product"], measure=measure)
    return context.redirect(f"/jobs/{job.id}")


@routes.get("/jobs")
def show_jobs(context: PageContext) -> Response:
    with context.read() as work:
        page = jobs.list_jobs(work, page=context.page_request)
    return context.render("jobs.html", title="Jobs", jobs=page.items, paging=context.paging(page), kinds=KINDS)


@routes.get("/jobs/{job}")
def show_job(context: PageContext) -> Response:
    with context.read() as work:
        job = jobs.job(work, job_id=context.parameters["job"])
    if job.state is JobState.DONE and job.kind == "advise":
        back = context.query.get("request", "")
        if back.isalnum():
            return context.redirect(f"/requests/{back}")
        return context.redirect(f"/products/{job.product_name}/ranking?job={job.id}")
    if job.state is JobState.DONE and job.kind == "verify_release" and job.subject_id:
        return context.redirect(f"/releases/{job.subject_id}")
    here = context.path + (f"?request={context.query['request']}" if context.query.get("request", "").isalnum() else "")
    return context.render(
        "job.html",
        title=KINDS.get(job.kind, job.kind).capitalize(),
        job=job,
        ended=job.ended,
        words=progress_words(job),
        here=here,
    )


@routes.get("/jobs/{job}/progress")
def send_progress(context: PageContext) -> Response:
    """The state of a job, for the script of its page."""
    with context.read() as work:
        job = jobs.job(work, job_id=context.parameters["job"])
    return JSONResponse({"progress": job.progress, "words": progress_words(job), "ended": job.ended})


@routes.post("/jobs/{job}/cancel", refused="/jobs/{job}")
def cancel(context: PageContext) -> Response:
    with context.write() as work:
        job = jobs.cancel(work, job_id=context.parameters["job"])
    return context.redirect(f"/products/{job.product_name}/ranking", "The job is cancelled.")


def progress_words(job: records.Job) -> str:
    """What a job is at."""
    if job.state is JobState.QUEUED:
        return "Waits for a worker."
    if job.state is JobState.RUNNING:
        return f"{job.stage.capitalize() or 'Running'}, {100 * job.progress:.0f} %."
    if job.state is JobState.FAILED:
        return "It failed."
    return "It was cancelled." if job.state is JobState.CANCELLED else "Done."
