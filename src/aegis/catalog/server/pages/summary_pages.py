"""The counts that the provider pushed, what they expose, and how to push others."""

from __future__ import annotations

from starlette.responses import Response

from aegis.catalog.server.pages.page import PageContext, PageRoutes
from aegis.catalog.server.pages.product_head import head, product_of
from aegis.catalog.service import summaries
from aegis.catalog.service.permissions import Permission
from aegis.errors import ServiceError

routes = PageRoutes()


@routes.get("/products/{product}/summaries")
def show(context: PageContext) -> Response:
    with context.read() as work:
        product = product_of(context, work, Permission.SEE_JOBS)
        summary = summaries.current(work, product=product.id)
    exposure = summary.exposure if summary else None
    return context.render("summaries.html", **head(context, product), summary=summary, exposure=exposure)


@routes.post("/products/{product}/summaries", upload=True, refused=show, also=(ServiceError,))
def upload(context: PageContext) -> Response:
    name = context.parameters["product"]
    file = context.form.file("summary", what="the summary")
    with (
        summaries.incoming(context.catalog, context.actor, product=name, stream=file.stream) as checked,
        context.write() as work,
    ):
        summary = summaries.receive(work, checked)
    return context.redirect(
        f"/products/{name}/summaries", f"The counts of {summary.rows:,} records passed every check."
    )
