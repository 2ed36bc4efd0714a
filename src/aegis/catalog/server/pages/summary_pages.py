"""The counts that the provider pushed, what they expose, and how to push others."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from aegis.catalog.server.pages.page import PageContext, PageRoutes
from aegis.catalog.server.pages.product_head import head
from aegis.catalog.service import products, summaries
from aegis.catalog.service.permissions import Permission, require
from aegis.errors import AegisError, InputError, ServiceError

routes = PageRoutes()


@routes.get("/products/{product}/summaries")
def show(context: PageContext) -> Response:
    return _page(context, problem=None)


@routes.post("/products/{product}/summaries", upload=True)
def upload(context: PageContext) -> Response:
    name = context.parameters["product"]
    try:
        file = context.form.file("summary", what="the summary")
        with (
            summaries.incoming(context.catalog, context.actor, product=name, stream=file.stream) as checked,
            context.write() as work,
        ):
            summary = summaries.receive(work, checked)
    except (InputError, ServiceError) as error:
        return _page(context, problem=error)
    return context.redirect(
        f"/products/{name}/summaries", f"The counts of {summary.rows:,} records passed every check."
    )


def _page(context: PageContext, *, problem: AegisError | None) -> Response:
    with context.read() as work:
        product = products.product(work, product=context.parameters["product"])
        require(context.actor, Permission.SEE_JOBS, product.id)
        summary = summaries.current(work, product=product.id)
    exposure: dict[str, Any] | None = dict(summary.exposure) if summary and summary.exposure else None
    return context.render(
        "summaries.html",
        **head(context, product),
        summary=summary,
        exposure=exposure,
        problem=problem,
    )
