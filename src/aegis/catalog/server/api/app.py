"""The API: it parses, calls one function of the service, and renders. No rule lives here."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, FastAPI, Request
from sqlalchemy import literal, select
from starlette.responses import JSONResponse, Response

from aegis.catalog.records import Health
from aegis.catalog.server import errors, lanes
from aegis.catalog.server.api import (
    audit_routes,
    configuration_routes,
    dataspace_routes,
    job_routes,
    key_routes,
    ledger_routes,
    notification_routes,
    openapi,
    people_routes,
    product_routes,
    release_routes,
    request_routes,
    summary_routes,
    token_routes,
)
from aegis.catalog.server.api.calls import Read
from aegis.catalog.service.catalog import Catalog

PREFIX = "/api/v1"
_MODULES = (
    people_routes,
    product_routes,
    configuration_routes,
    summary_routes,
    request_routes,
    release_routes,
    ledger_routes,
    key_routes,
    job_routes,
    token_routes,
    notification_routes,
    audit_routes,
    dataspace_routes,
)


health = APIRouter(tags=["health"])
_ANYTHING = select(literal(1))


@health.get("/health", response_model=Health, summary="Is the catalog well?")
async def report_health(call: Read) -> Health:
    """The database is asked and the storage looked at: a 502 or a 507 where one of them cannot do its part."""

    def look() -> Health:
        with call.catalog.look() as connection:
            connection.execute(_ANYTHING)
        call.catalog.store.check_room()
        return Health()

    return await lanes.health.run("anybody", look)


def create_api(catalog: Catalog) -> FastAPI:
    """The routes of the API, below ``/api/v1``; who calls and how much they send is checked around it."""
    app = _with_routes()
    app.state.catalog = catalog

    @app.get(f"{PREFIX}/openapi.json", include_in_schema=False)
    async def document(_request: Request) -> Response:
        return JSONResponse(openapi.describe(app))

    return app


def description() -> dict[str, Any]:
    """The OpenAPI description, without a catalog."""
    return openapi.describe(_with_routes())


def _with_routes() -> FastAPI:
    app = FastAPI(
        docs_url=None,  # these pages load scripts from other sites
        redoc_url=None,
        openapi_url=None,  # served to people who are signed in only
        redirect_slashes=False,
    )
    errors.install(app, methods_at=lambda path: openapi.methods_at(openapi.describe(app), path))
    routes = APIRouter(prefix=PREFIX)
    routes.include_router(health)
    for module in _MODULES:
        routes.include_router(module.router)
    app.include_router(routes)
    return app
