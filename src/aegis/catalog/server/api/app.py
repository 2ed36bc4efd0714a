"""The API: it parses, calls one function of the service, and renders. No rule lives here."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, FastAPI, Request
from sqlalchemy import literal, select
from starlette.responses import JSONResponse, Response

from aegis.catalog.records import Health
from aegis.catalog.server import errors, lanes
from aegis.catalog.server.api import dataspace_routes, file_routes, openapi, routes
from aegis.catalog.server.api.calls import Read
from aegis.catalog.service.catalog import Catalog

PREFIX = "/api/v1"
ROUTERS = (
    routes.of_people,
    routes.of_products,
    routes.of_configurations,
    file_routes.of_summaries,
    routes.of_requests,
    file_routes.of_releases,
    routes.of_ledger,
    routes.of_keys,
    routes.of_jobs,
    routes.of_tokens,
    routes.of_notifications,
    routes.of_audit,
    dataspace_routes.of_dataspaces,
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
    below = APIRouter(prefix=PREFIX)
    for router in (health, *ROUTERS):
        below.include_router(router)
    app.include_router(below)
    return app
