"""One shape for everything that goes wrong: RFC 9457, ``application/problem+json``.

The type names the error class, so that a client can raise the same one. Nothing that was sent is sent back: the
messages of Aegis never hold a cell value, and those of the validation name the place and the rule only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.types import Scope

from aegis.errors import AegisError, NotSignedInError, TooManyAttemptsError

MEDIA_TYPE = "application/problem+json"
PREFIX = "urn:aegis:problem:"


class Flaw(BaseModel):
    """One field that cannot be used."""

    where: str = Field(description="The place, such as `body.columns.0.kind`.")
    said: str = Field(description="What is wrong there; never the value itself.")


class Problem(BaseModel):
    """What went wrong, for people and for programs."""

    type: str = Field(description="Names the kind of problem: `urn:aegis:problem:` and the error, or `about:blank`.")
    title: str = Field(description="The same for every problem of its status.")
    status: int = Field(description="The HTTP status once more.")
    detail: str = Field(description="One sentence: what is wrong and what to do.")
    instance: str = Field(description="`urn:uuid:` and the id of the request, as the log of the server names it.")
    errors: list[Flaw] | None = Field(default=None, description="The fields that cannot be used, if that is it.")


class ProblemResponse(JSONResponse):
    """A response of the problem shape."""

    media_type = MEDIA_TYPE


def kind_of(error: AegisError) -> str:
    """The type of a problem, from its class.

    >>> from aegis.errors import NotFoundError
    >>> kind_of(NotFoundError())
    'urn:aegis:problem:not-found'
    """
    name = type(error).__name__.removesuffix("Error")
    return PREFIX + re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()


def request_id(scope: Scope) -> str:
    """The id of the request that is being answered."""
    return str(scope.get("state", {}).get("request_id", "00000000-0000-0000-0000-000000000000"))


def answer(
    scope: Scope,
    *,
    status: int,
    detail: str,
    kind: str = "about:blank",
    headers: Mapping[str, str] | None = None,
    errors: list[dict[str, str]] | None = None,
) -> ProblemResponse:
    """A problem as a response."""
    content: dict[str, Any] = {
        "type": kind,
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "instance": f"urn:uuid:{request_id(scope)}",
    }
    if errors is not None:
        content["errors"] = errors
    return ProblemResponse(content, status_code=status, headers=dict(headers or {}))


def answer_error(scope: Scope, error: AegisError) -> ProblemResponse:
    """One of Aegis' own errors as a response."""
    headers: dict[str, str] = {}
    if isinstance(error, NotSignedInError):
        headers["WWW-Authenticate"] = 'Bearer realm="aegis"'
    if isinstance(error, TooManyAttemptsError):
        headers["Retry-After"] = str(error.retry_after_seconds)
    return answer(scope, status=error.http_status, detail=str(error), kind=kind_of(error), headers=headers)


def install(app: FastAPI, *, methods_at: Callable[[str], list[str]]) -> None:
    """Let every error of an app leave in this shape; ``methods_at`` gives the methods that an address knows."""

    def aegis_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, AegisError)
        return answer_error(request.scope, error)

    def http_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        detail = _ROUTING.get(error.status_code, "the request cannot be answered as it is")
        headers = dict(error.headers or {})
        if error.status_code == 405:
            headers["Allow"] = ", ".join(methods_at(request.url.path))
        return answer(request.scope, status=error.status_code, detail=detail, headers=headers)

    def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        flaws = [_flaw(each) for each in error.errors()[:20]]
        first = flaws[0] if flaws else {"where": "request", "said": "it cannot be used"}
        return answer(
            request.scope,
            status=422,
            detail=f"{first['where']}: {first['said']}; see the schema of this call",
            kind=PREFIX + "input",
            errors=flaws,
        )

    app.add_exception_handler(AegisError, aegis_error)
    app.add_exception_handler(HTTPException, http_error)
    app.add_exception_handler(RequestValidationError, invalid)


_ROUTING = {
    400: "the body cannot be read as what its Content-Type says",
    404: "there is nothing at this address; see /api/v1/openapi.json for what there is",
    405: "this address does not know this method; see the Allow header",
}


def _flaw(found: Mapping[str, Any]) -> dict[str, str]:
    # Keys that were sent may be anything: only what the schema could have said is repeated, and not at length.
    where = ".".join(str(part)[:60] for part in found.get("loc", ()))
    if found.get("type") == "extra_forbidden":
        where = ".".join(str(part)[:60] for part in found["loc"][:-1])
        return {"where": where, "said": "there is a field here that is not known"}
    if found.get("type") == "json_invalid":
        return {"where": "body", "said": "this is not JSON"}
    said = str(found.get("msg", "it cannot be used"))
    if found.get("type") in {"value_error", "assertion_error"}:
        said = said.removeprefix("Value error, ").removeprefix("Assertion failed, ")
    return {"where": where, "said": said}
