"""The description of the API: what FastAPI knows, and what it does not: who may ask, and how it says no."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.routing import compile_path

from aegis.catalog.server.errors import MEDIA_TYPE, Problem
from aegis.catalog.server.session import CSRF_HEADER, HEALTH, SESSION_COOKIE

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
        schemas.update(_problem_schemas())
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


def _problem_schemas() -> dict[str, Any]:
    schema = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    return {**schema.pop("$defs", {}), "Problem": schema}


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
