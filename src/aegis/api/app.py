"""The API as an ASGI app: it parses, calls one function of the service, and renders. No rule lives here."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, FastAPI, Request
from starlette.middleware import Middleware
from starlette.responses import JSONResponse, Response
from starlette.types import Scope

from aegis.api import openapi, problem
from aegis.api.body_limit import PLAIN_BYTES, BodyLimit
from aegis.api.envelope import Envelope
from aegis.api.gate import Gate
from aegis.api.routes import (
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
from aegis.service.catalog import Catalog

PREFIX = "/api/v1"
HEALTH = f"{PREFIX}/health"
OPEN = frozenset({HEALTH})
_ROUTERS = (health, people, products, configurations, summaries, requests, releases, jobs, tokens, audit)
_FORM_BYTES = 1 << 16


def create_api(catalog: Catalog) -> FastAPI:
    """The API of a catalog; it answers below ``/api/v1``."""
    app = FastAPI(
        docs_url=None,  # these pages load scripts from other sites
        redoc_url=None,
        openapi_url=None,  # served below, to people who are signed in
        redirect_slashes=False,
        middleware=[
            Middleware(Envelope),
            Middleware(Gate, catalog=catalog, is_open=OPEN),
            Middleware(BodyLimit, limit_of=limits(catalog)),
        ],
    )
    app.state.catalog = catalog
    problem.install(app)
    whole = APIRouter(prefix=PREFIX)
    for module in _ROUTERS:
        whole.include_router(module.router)
    app.include_router(whole)

    @app.get(f"{PREFIX}/openapi.json", include_in_schema=False)
    async def description(_request: Request) -> Response:
        return JSONResponse(document(app))

    return app


def document(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI description of the app."""
    return openapi.describe(app, is_open=OPEN)


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
