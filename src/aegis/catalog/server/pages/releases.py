"""A release: its certificate, the download, and how to check both at home."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from starlette.responses import Response, StreamingResponse

from aegis.catalog.database.states import JobState, ReleaseState
from aegis.catalog.server.pages.form import attachment
from aegis.catalog.server.pages.paging import paging
from aegis.catalog.server.pages.product_part import head
from aegis.catalog.server.pages.rankings import progress_words
from aegis.catalog.server.pages.routing import Door, get, post, sentence
from aegis.catalog.server.pages.visit import Visit
from aegis.catalog.service import jobs, products, release_list, releases
from aegis.catalog.service.certificates import certificate_text
from aegis.catalog.service.permissions import Permission, may, require
from aegis.errors import ConflictError, InputError, NotFoundError
from aegis.report.certificate_report import certificate_parts

_CHUNK = 1 << 18


def show_release(visit: Visit) -> Response:
    with visit.read() as work:
        view = release_list.release(work, release_id=visit.names["release"])
        job = None
        works_on_it = may(visit.actor, Permission.SEE_JOBS, view.product_id)
        if view.state is ReleaseState.RECEIVED and view.job_id and works_on_it:
            try:
                job = jobs.job(work, job_id=view.job_id)
            except NotFoundError:
                job = None
    # The certificate was checked on arrival, but an old one may lack a part that today's page shows.
    try:
        certificate = certificate_parts(view.certificate)
    except (KeyError, TypeError, ValueError):
        certificate = None
    return visit.page(
        "release.html",
        title=view.file_name,
        release=view,
        certificate=certificate,
        job=job,
        waits=view.state is ReleaseState.RECEIVED,
        job_words=progress_words(job) if job else "It is measured again, from scratch.",
        job_failed=job is not None and job.state in (JobState.FAILED, JobState.CANCELLED),
        may_withdraw=view.state in (ReleaseState.VERIFIED, ReleaseState.RECEIVED)
        and may(visit.actor, Permission.WITHDRAW_RELEASE, view.product_id),
    )


def show_of_product(visit: Visit) -> Response:
    with visit.read() as work:
        product = products.product(work, product=visit.names["product"])
        require(visit.actor, Permission.SEE_RELEASES, product.id)
        page = release_list.list_releases(work, product=product.id, page=visit.page_request)
    return visit.page("releases.html", **head(visit, product), releases=page.items, paging=paging(visit, page))


def download(visit: Visit) -> Response:
    """The released file. It is a write: the download is on the record before the first byte leaves."""
    with visit.write() as work:
        opened = releases.open_download(work, release_id=visit.names["release"])
    return StreamingResponse(
        _parts(opened.stream),
        media_type="application/octet-stream",
        headers={
            "Content-Disposition": attachment(opened.release.file_name),
            "Content-Length": str(opened.release.bytes),
        },
    )


def send_certificate(visit: Visit) -> Response:
    with visit.read() as work:
        view = release_list.release(work, release_id=visit.names["release"])
    return Response(
        certificate_text(view.certificate),
        media_type="application/json",
        headers={"Content-Disposition": attachment(f"{view.file_name}.certificate.json")},
    )


def withdraw(visit: Visit) -> Response:
    here = f"/releases/{visit.names['release']}"
    try:
        with visit.write() as work:
            releases.withdraw(work, release_id=visit.names["release"], reason=visit.form.text("reason"))
    except (InputError, ConflictError) as error:
        return visit.go(here, sentence(error), bad=True)
    return visit.go(here, "The release is withdrawn; nobody can download it any more.")


def _parts(stream: BinaryIO) -> Iterator[bytes]:
    with stream:
        while part := stream.read(_CHUNK):
            yield part


DOORS: tuple[Door, ...] = (
    get("/releases/{release}", show_release),
    post("/releases/{release}/download", download),
    get("/releases/{release}/certificate.json", send_certificate),
    post("/releases/{release}/withdraw", withdraw),
    get("/products/{product}/releases", show_of_product),
)
