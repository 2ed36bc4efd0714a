"""The web console: pages made on the server, for browsers with or without a script."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from aegis.catalog.server.pages import (
    account,
    audit,
    configurations,
    editor,
    home,
    people,
    product_form,
    products,
    rankings,
    releases,
    requests,
    signing,
    summaries,
)
from aegis.catalog.server.pages.environment import load_templates
from aegis.catalog.server.pages.headers import SecurityHeaders
from aegis.catalog.server.pages.routing import Door, broken, lost, route
from aegis.catalog.server.pages.static_files import send_asset
from aegis.catalog.service.catalog import Catalog

# The first that fits answers, so addresses with fixed words stand before those with names.
DOORS: tuple[Door, ...] = (
    *home.DOORS,
    *signing.DOORS,
    *product_form.DOORS,
    *products.DOORS,
    *summaries.DOORS,
    *editor.DOORS,
    *configurations.DOORS,
    *rankings.DOORS,
    *requests.DOORS,
    *releases.DOORS,
    *account.DOORS,
    *people.DOORS,
    *audit.DOORS,
)


def create_pages(catalog: Catalog) -> ASGIApp:
    """The console of a catalog, as an application to be mounted at ``/``."""

    async def not_found(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 404
        if status == 404:
            return await run_in_threadpool(lost, catalog, request)
        return PlainTextResponse("This address does not take that.", status_code=status)

    async def failed(_: Request, error: Exception) -> Response:
        return broken(error)

    pages = Starlette(
        routes=[Route("/static/{name}", send_asset), *(route(catalog, door) for door in DOORS)],
        exception_handlers={HTTPException: not_found, Exception: failed},
    )
    load_templates()
    return SecurityHeaders(pages)  # outermost, so that no answer is without them
