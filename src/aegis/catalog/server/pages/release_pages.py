"""A release: its certificate, the download, and how to check both at home."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from aegis.catalog.server.pages.job_pages import progress_words
from aegis.catalog.server.pages.page import PageContext, PageRoutes
from aegis.catalog.server.pages.product_pages import head, product_of
from aegis.catalog.server.uploads import sent_file, sent_text
from aegis.catalog.service import jobs, ledger, releases
from aegis.catalog.service.certificates import certificate_text
from aegis.catalog.service.permissions import Permission, may
from aegis.catalog.states import JobState, ReleaseState
from aegis.errors import NotFoundError
from aegis.report.certificate_report import certificate_parts

routes = PageRoutes()


@routes.get("/releases/{release}")
def show_release(context: PageContext) -> Response:
    with context.read() as work:
        view = releases.release(work, release_id=context.parameters["release"])
        job = None
        works_on_it = may(context.actor, Permission.SEE_JOBS, view.product_id)
        if view.state is ReleaseState.RECEIVED and view.job_id and works_on_it:
            try:
                job = jobs.job(work, job_id=view.job_id)
            except NotFoundError:
                job = None
        come_from = releases.lineage(work, release_id=view.id)
    # The certificate was checked on arrival, but an old one may lack a part that today's page shows.
    try:
        certificate = certificate_parts(view.certificate)
    except (KeyError, TypeError, ValueError):
        certificate = None
    return context.render(
        "release.html",
        title=view.file_name,
        release=view,
        certificate=certificate,
        columns=columns_of(view.certificate, certificate),
        lineage=come_from,
        job=job,
        waits=view.state is ReleaseState.RECEIVED,
        job_words=progress_words(job) if job else "It is measured again, from scratch.",
        job_failed=job is not None and job.state in (JobState.FAILED, JobState.CANCELLED),
        may_withdraw=view.state in (ReleaseState.VERIFIED, ReleaseState.RECEIVED)
        and may(context.actor, Permission.WITHDRAW_RELEASE, view.product_id),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedColumn:
    """A column of the source and what became of it."""

    name: str
    role: str
    words: str


def columns_of(content: Mapping[str, Any], parts: Mapping[str, Any] | None) -> list[ReleasedColumn]:
    """Every column of the source, in the order of the table, with what was done to it."""
    if parts is None:
        return []
    masked = dict(parts["masks"])
    roles: dict[str, str] = {}
    for role, named in content["roles"].items():
        for name in [named] if isinstance(named, str) else named or ():
            roles.setdefault(name, role)
    names = [*content["release"]["columns"], *content["release"].get("left_out", ())]
    return [
        ReleasedColumn(
            name=name, role=roles.get(name, "insensitive"), words=masked.get(name, "as it was, value for value")
        )
        for name in names
    ]


@routes.get("/products/{product}/releases")
def show_of_product(context: PageContext) -> Response:
    with context.read() as work:
        product = product_of(context, work, Permission.SEE_RELEASES)
        page = releases.list_releases(work, product=product.id, page=context.page_request)
        left = ledger.ledger(work, product=product.id)
    return context.render(
        "releases.html", **head(context, product), releases=page.items, paging=context.paging(page), left=left
    )


@routes.post("/releases/{release}/download")
def download(context: PageContext) -> Response:
    """The released file. It is a write: the download is on the record before the first byte leaves."""
    with context.write() as work:
        opened = releases.open_download(work, release_id=context.parameters["release"])
    return sent_file(opened.stream, name=opened.release.file_name, size_bytes=opened.release.bytes)


@routes.get("/releases/{release}/certificate.json")
def send_certificate(context: PageContext) -> Response:
    with context.read() as work:
        view = releases.release(work, release_id=context.parameters["release"])
    name = f"{view.file_name}.certificate.json"
    return sent_text(certificate_text(view.certificate), name=name, media_type="application/json")


@routes.post("/releases/{release}/withdraw", refused="/releases/{release}")
def withdraw(context: PageContext) -> Response:
    ident = context.parameters["release"]
    with context.write() as work:
        releases.withdraw(work, release_id=ident, reason=context.form.text("reason"))
    return context.redirect(f"/releases/{ident}", "The release is withdrawn; nobody can download it any more.")
