"""The API as an ASGI app: it parses, calls one function of the service, and renders. No rule lives here."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, FastAPI, Request
from starlette.middleware import Middleware
from starlette.responses import JSONResponse, Response
from starlette.types import Scope

from aegis.catalog.server.api import openapi, problem
from aegis.catalog.server.api.body_limit import PLAIN_BYTES, BodyLimit
from aegis.catalog.server.api.envelope import Envelope
from aegis.catalog.server.api.gate import Gate
from aegis.catalog.server.api.patience import Pace, Patience
from aegis.catalog.server.api.routes import (
    audit,
    configurations,
    health,
    jobs,
    people,
    products,
    releases,
    requests,
    summaries,
    tokens,
)
from aegis.catalog.service.catalog import Catalog

PREFIX = "/api/v1"
HEALTH = f"{PREFIX}/health"
OPEN = frozenset({HEALTH})
_ROUTERS = (health, people, products, configurations, summaries, requests, releases, jobs, tokens, audit)
_FORM_BYTES = 1 << 16


def create_api(catalog: Catalog) -> FastAPI:
    """The API of a catalog; it answers below ``/api/v1``."""
    app = _with_routes(
        [
            Middleware(Envelope),
            Middleware(Patience, pace=pace(catalog)),
            Middleware(Gate, catalog=catalog, is_open=OPEN),
            Middleware(BodyLimit, limit_of=limits(catalog)),
        ]
    )
    app.state.catalog = catalog

    @app.get(f"{PREFIX}/openapi.json", include_in_schema=False)
    async def itself(_request: Request) -> Response:
        return JSONResponse(openapi.describe(app, is_open=OPEN))

    return app


def pace(catalog: Catalog) -> Pace:
    """How long the catalog waits for a body."""
    settings = catalog.settings
    return Pace(idle_seconds=settings.upload_idle_seconds, bytes_per_second=settings.upload_bytes_per_second)


def description() -> dict[str, Any]:
    """The OpenAPI description, without a catalog."""
    return openapi.describe(_with_routes([]), is_open=OPEN)


def _with_routes(middleware: list[Middleware]) -> FastAPI:
    app = FastAPI(
        docs_url=None,  # these pages load scripts from other sites
        redoc_url=None,
        openapi_url=None,  # served to people who are signed in only
        redirect_slashes=False,
        middleware=middleware,
    )
    problem.install(app, methods_at=lambda path: openapi.methods_at(openapi.describe(app, is_open=OPEN), path))
    whole = APIRouter(prefix=PREFIX)
    for module in _ROUTERS:
        whole.include_router(module.router)
    app.include_router(whole)
    return app


def limits(catalog: Catalog) -> Any:
    """How many bytes a body may have, by where it is sent."""
    settings = catalog.settings

    def limit_of(scope: Scope) -> int:
        path = str(scope["path"])
        if path.startswith(f"{PREFIX}/products/"):
            if path.endswith("/summaries"):
                return settings.summary_bytes
            if path.endswith("/releases"):
                return settings.release_bytes + settings.certificate_bytes + _FORM_BYTES
            if path.endswith("/configurations"):
                return max(PLAIN_BYTES, settings.document_bytes)
        return PLAIN_BYTES

    return limit_of
