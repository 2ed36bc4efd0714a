"""The web console: pages made on the server, for browsers with or without a script."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from aegis.catalog.server import pages
from aegis.catalog.server.errors import error_response, unexpected_response
from aegis.catalog.server.pages.page import PageRoute, page_context, starlette_route
from aegis.catalog.server.pages.rendering import load_templates, send_asset
from aegis.catalog.service.catalog import Catalog
from aegis.errors import AegisError, NotFoundError

_MODULES = [
    import_module(f"{pages.__name__}.{module.name}")
    for module in pkgutil.iter_modules(pages.__path__)
    if module.name.endswith("_pages")
]


def page_routes() -> list[PageRoute]:
    """Every route of the console, paths with fixed words before those with names in the same place."""
    listed = [route for module in _MODULES for route in module.routes.listed]
    return sorted(listed, key=lambda route: [part.startswith("{") for part in route.path.split("/")])


def create_pages(catalog: Catalog) -> ASGIApp:
    """The pages of a catalog; who asks and how much they send is checked around them."""

    def refuse(request: Request) -> Response:
        try:
            return page_context(catalog, request).refuse(NotFoundError("there is no page at this address"))
        except AegisError as error:  # nobody knows who sent it
            return error_response(request.scope, error)

    async def not_found(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if error.status_code == 404:
            return await run_in_threadpool(refuse, request)
        return PlainTextResponse("This address does not take that.", status_code=error.status_code)

    load_templates()
    return Starlette(
        routes=[Route("/static/{name}", send_asset), *(starlette_route(catalog, route) for route in page_routes())],
        exception_handlers={HTTPException: not_found, Exception: unexpected_response},
    )
