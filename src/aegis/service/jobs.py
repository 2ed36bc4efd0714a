"""Background jobs as people see them: started, watched, cancelled."""

from __future__ import annotations

from aegis.advisor.ranking import Ranking
from aegis.service.catalog import Work
from aegis.service.paging import FIRST, Page, PageRequest
from aegis.service.views import JobView


def start_advice(work: Work, *, product: str, measure: str | None = None, request_id: str | None = None) -> JobView:
    """Rank the configurations of the current summary in the background, perhaps for a request and its measure."""
    raise NotImplementedError


def job(work: Work, *, job_id: str) -> JobView:
    """One job, with its result when it is done."""
    raise NotImplementedError


def list_jobs(work: Work, *, product: str | None = None, page: PageRequest = FIRST) -> Page[JobView]:
    """The jobs of the products one works on, the newest first, without their results."""
    raise NotImplementedError


def cancel(work: Work, *, job_id: str) -> JobView:
    """Stop a job that waits or runs; what it had done is thrown away."""
    raise NotImplementedError


def latest_ranking(work: Work, *, product: str) -> JobView | None:
    """The newest finished advice on the product's current summary."""
    raise NotImplementedError


def ranking_of(view: JobView) -> Ranking:
    """The advisor's answer of a finished advice, as the library's own type."""
    raise NotImplementedError
