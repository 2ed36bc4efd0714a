"""The counts that the provider pushed, what they expose, and how to push others."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from aegis.catalog.server.pages.product_part import head
from aegis.catalog.server.pages.routing import Door, get, post, sentence
from aegis.catalog.server.pages.visit import Visit
from aegis.catalog.service import products, summaries
from aegis.catalog.service.permissions import Permission, require
from aegis.errors import AegisError, InputError, ServiceError


def show(visit: Visit) -> Response:
    return _page(visit, problem=None)


def upload(visit: Visit) -> Response:
    name = visit.names["product"]
    try:
        given = visit.form.file("summary", what="the summary")
        with (
            summaries.incoming(visit.catalog, visit.actor, product=name, stream=given.stream) as checked,
            visit.write() as work,
        ):
            view = summaries.receive(work, checked)
    except (InputError, ServiceError) as error:
        return _page(visit, problem=error)
    return visit.go(f"/products/{name}/summaries", f"The counts of {view.rows:,} records passed every check.")


def _page(visit: Visit, *, problem: AegisError | None) -> Response:
    with visit.read() as work:
        product = products.product(work, product=visit.names["product"])
        require(visit.actor, Permission.SEE_JOBS, product.id)
        summary = summaries.current(work, product=product.id)
    exposure: dict[str, Any] | None = dict(summary.exposure) if summary and summary.exposure else None
    return visit.page(
        "summaries.html",
        status=problem.http_status if problem else 200,
        **head(visit, product),
        summary=summary,
        exposure=exposure,
        problem=sentence(problem) if problem else None,
    )


DOORS: tuple[Door, ...] = (
    get("/products/{product}/summaries", show),
    post("/products/{product}/summaries", upload, limit="summary_bytes"),
)
