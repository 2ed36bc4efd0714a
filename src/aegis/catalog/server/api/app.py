"""The API: it parses, calls one function of the service, and renders. No rule lives here.

Its description is what FastAPI knows, and what it does not: who may ask, and how it says no.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.openapi.utils import get_openapi
from sqlalchemy import literal, select
from starlette.responses import JSONResponse, Response
from starlette.routing import compile_path

from aegis.catalog.records import Health
from aegis.catalog.server import errors, limits
from aegis.catalog.server.api import file_routes, routes
from aegis.catalog.server.api.calls import Read
from aegis.catalog.server.errors import MEDIA_TYPE, Problem
from aegis.catalog.server.session import CSRF_HEADER, HEALTH, SESSION_COOKIE
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
    routes.of_dataspaces,
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

    return await limits.health_lane.run("anybody", look)


def create_api(catalog: Catalog) -> FastAPI:
    """The routes of the API, below ``/api/v1``; who calls and how much they send is checked around it."""
    app = _with_routes()
    app.state.catalog = catalog

    @app.get(f"{PREFIX}/openapi.json", include_in_schema=False)
    async def document(_request: Request) -> Response:
        return JSONResponse(describe(app))

    return app


def description() -> dict[str, Any]:
    """The OpenAPI description, without a catalog."""
    return describe(_with_routes())


def _with_routes() -> FastAPI:
    app = FastAPI(
        docs_url=None,  # these pages load scripts from other sites
        redoc_url=None,
        openapi_url=None,  # served to people who are signed in only
        redirect_slashes=False,
    )
    errors.install(app, methods_at=lambda path: methods_at(describe(app), path))
    below = APIRouter(prefix=PREFIX)
    for router in (health, *ROUTERS):
        below.include_router(router)
    app.include_router(below)
    return app


_DESCRIPTION = (
    "The data-sharing catalog of Aegis. Send a token as `Authorization: Bearer …`. Every error has one shape "
    "(RFC 9457). Lists come in pages: send `next` of one as `cursor` of the next. A POST with an `Idempotency-Key` can "
    "be repeated safely."
)
_PROBLEMS: Mapping[str, str] = {
    "400": "The body cannot be read as what its Content-Type says.",
    "401": "Nobody is signed in, or the token is not valid.",
    "403": "The role, or the scopes of the token, do not allow it.",
    "404": "There is no such thing, or not for this person.",
    "408": "The body did not arrive, or too slowly.",
    "409": "The state of things does not allow it, or somebody was faster, or a guarantee does not hold.",
    "413": "More was sent than is accepted.",
    "422": "What was sent cannot be used as it is.",
    "429": "Too many attempts or requests; see Retry-After.",
    "500": "An error that nobody expected.",
    "502": "The database does not answer.",
    "503": "Too much of this is being worked on; see Retry-After.",
    "507": "There is no room where files are kept, or no right to write.",
}


def describe(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document of an app."""
    if app.openapi_schema is None:
        document = get_openapi(
            title="Aegis catalog", version="1", description=_DESCRIPTION, routes=app.routes, tags=None
        )
        schemas = document["components"]["schemas"]
        problem = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas.update(problem.pop("$defs", {}), Problem=problem)
        for unused in ("HTTPValidationError", "ValidationError"):
            schemas.pop(unused, None)
        document["components"]["securitySchemes"] = {
            "token": {"type": "http", "scheme": "bearer"},
            "session": {
                "type": "apiKey",
                "in": "cookie",
                "name": SESSION_COOKIE,
                "description": f"Writes also need the session's own secret in the header {CSRF_HEADER}.",
            },
        }
        document["components"]["responses"] = {
            f"Problem{status}": {
                "description": meaning,
                "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
            }
            for status, meaning in _PROBLEMS.items()
        }
        for path, operations in document["paths"].items():
            for operation in operations.values():
                _complete(operation, is_open=path == HEALTH)
        app.openapi_schema = document
    return app.openapi_schema


def _complete(operation: dict[str, Any], *, is_open: bool) -> None:
    operation["security"] = [] if is_open else [{"token": []}, {"session": []}]
    operation["responses"].pop("422", None)
    for status in _PROBLEMS:
        if is_open and status in {"401", "403"}:
            continue
        operation["responses"][status] = {"$ref": f"#/components/responses/Problem{status}"}


def methods_at(document: Mapping[str, Any], path: str) -> list[str]:
    """The methods that an address knows: several routes may share it.

    >>> methods_at({"paths": {"/users/{id}": {"get": {}, "patch": {}}, "/users": {"post": {}}}}, "/users/1")
    ['GET', 'PATCH']
    """
    return sorted(
        method.upper()
        for template, operations in document["paths"].items()
        if compile_path(template)[0].match(path)
        for method in operations
    )
