"""Error responses: problems (RFC 9457) for programs, pages for people.

Below ``/api/`` an error is a problem as RFC 9457 writes it (``application/problem+json``); its type names the error
class, so that a client can raise the same one. Elsewhere it is a page. Nothing that was sent is sent back: the messages
of Aegis never hold a cell value, and those of the validation name the place and the rule only.
"""

from __future__ import annotations

import html
import logging
import re
import traceback
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import Scope

from aegis.catalog.service.metadata import DSP_CONTEXT, DSP_PATH
from aegis.errors import AegisError, NotSignedInError, RequestTimeoutError, TooBusyError, TooManyAttemptsError

log = logging.getLogger("aegis.trouble")
MEDIA_TYPE = "application/problem+json"
PREFIX = "urn:aegis:problem:"
UNEXPECTED = "the server met an error that nobody expected; tell its operator the instance of this problem"

TITLES = {
    400: "That cannot be done",
    401: "Please sign in",
    403: "Not allowed",
    404: "Not found",
    405: "Not this way",
    408: "Too slow",
    409: "That cannot be done now",
    413: "Too large",
    422: "That cannot be used",
    429: "Too many attempts",
    503: "Not just now",
    507: "No room",
}


class FieldError(BaseModel):
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
    errors: list[FieldError] | None = Field(default=None, description="The fields that cannot be used, if that is it.")


class ProblemResponse(JSONResponse):
    """A response of the problem shape."""

    media_type = MEDIA_TYPE


def is_api(scope: Scope) -> bool:
    """Whether the request is for the API."""
    return str(scope.get("path", "")).startswith("/api/")


def problem_type(error: AegisError) -> str:
    """The type of a problem, from its class.

    >>> from aegis.errors import NotFoundError
    >>> problem_type(NotFoundError())
    'urn:aegis:problem:not-found'
    """
    name = type(error).__name__.removesuffix("Error")
    return PREFIX + re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()


def sentence(words: object) -> str:
    """What the service or an error of it says, as a sentence.

    >>> sentence(AegisError("there is no such product"))
    'There is no such product.'
    """
    text = str(words).strip()
    if not text:
        return "Something was refused."
    return text[0].upper() + text[1:] + ("" if text[-1] in ".!?" else ".")


def error_headers(error: AegisError) -> dict[str, str]:
    """The headers that go with an error."""
    headers: dict[str, str] = {}
    if isinstance(error, NotSignedInError):
        headers["WWW-Authenticate"] = 'Bearer realm="aegis"'
    if isinstance(error, TooManyAttemptsError | TooBusyError):
        headers["Retry-After"] = str(error.retry_after_seconds)
    if isinstance(error, RequestTimeoutError):
        headers["Connection"] = "close"
    return headers


def error_response(scope: Scope, error: AegisError) -> Response:
    """One of Aegis' own errors as a response, where no page of the console can be made."""
    if is_api(scope):
        return problem_response(
            scope, status=error.http_status, detail=str(error), kind=problem_type(error), headers=error_headers(error)
        )
    headers = error_headers(error)
    headers.pop("WWW-Authenticate", None)  # a browser would ask for a password of its own
    title = html.escape(TITLES.get(error.http_status, "That did not work"))
    text = f"<!DOCTYPE html><html lang=en><title>{title}</title><h1>{title}</h1><p>{html.escape(sentence(error))}</p>"
    return HTMLResponse(text, status_code=error.http_status, headers=headers)


async def unexpected_response(request: Request, error: Exception) -> Response:
    """The response to a defect of ours: no detail, for it might hold data.

    The log gets its kind and the places it passed; its message may quote data and is not logged either.
    """
    log.error("%s %s %s", _request_id(request.scope), type(error).__name__, places(error))
    if is_api(request.scope):
        return problem_response(request.scope, status=500, detail=UNEXPECTED)
    text = (
        "<!DOCTYPE html><html lang=en><title>Something went wrong</title><h1>Something went wrong on our side</h1>"
        "<p>Nothing was changed. Go back and try again.</p>"
    )
    return HTMLResponse(text, status_code=500)


def places(error: BaseException) -> str:
    """Where an error passed, as file:line, without a word of what it says."""
    frames = traceback.extract_tb(error.__traceback__)[-8:]
    return " < ".join(f"{frame.name}:{frame.lineno}" for frame in reversed(frames))


def _request_id(scope: Scope) -> str:
    return str(scope.get("state", {}).get("request_id", "00000000-0000-0000-0000-000000000000"))


def problem_response(
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
        "instance": f"urn:uuid:{_request_id(scope)}",
    }
    if errors is not None:
        content["errors"] = errors
    if str(scope.get("path", "")).startswith(DSP_PATH):
        # The Dataspace Protocol has an error message of its own; a problem may carry further members, so it is both.
        content |= {"@context": DSP_CONTEXT, "@type": "CatalogError", "code": str(status), "reason": [detail]}
    return ProblemResponse(content, status_code=status, headers=dict(headers or {}))


def install(app: FastAPI, *, methods_at: Callable[[str], list[str]]) -> None:
    """Let every error of the API leave in this shape; ``methods_at`` gives the methods that an address knows."""

    def aegis_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, AegisError)
        return error_response(request.scope, error)

    def http_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        detail = _ROUTING.get(error.status_code, "the request cannot be answered as it is")
        headers = dict(error.headers or {})
        if error.status_code == 405:
            headers["Allow"] = ", ".join(methods_at(request.url.path))
        return problem_response(request.scope, status=error.status_code, detail=detail, headers=headers)

    def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        flaws = [_field_error(flaw) for flaw in error.errors()[:20]]
        first = flaws[0] if flaws else {"where": "request", "said": "it cannot be used"}
        return problem_response(
            request.scope,
            status=422,
            detail=f"{first['where']}: {first['said']}; see the schema of this call",
            kind=PREFIX + "input",
            errors=flaws,
        )

    app.add_exception_handler(Exception, unexpected_response)
    app.add_exception_handler(AegisError, aegis_error)
    app.add_exception_handler(HTTPException, http_error)
    app.add_exception_handler(RequestValidationError, invalid)


_ROUTING = {
    400: "the body cannot be read as what its Content-Type says",
    404: "there is nothing at this address; see /api/v1/openapi.json for what there is",
    405: "this address does not know this method; see the Allow header",
}


def _field_error(error: Mapping[str, Any]) -> dict[str, str]:
    # Keys that were sent may be anything: only what the schema could have said is repeated, and not at length.
    where = ".".join(str(part)[:60] for part in error.get("loc", ()))
    if error.get("type") == "extra_forbidden":
        where = ".".join(str(part)[:60] for part in error["loc"][:-1])
        return {"where": where, "said": "there is a field here that is not known"}
    if error.get("type") == "json_invalid":
        return {"where": "body", "said": "this is not JSON, or a key stands twice in one object"}
    message = str(error.get("msg", "it cannot be used"))
    if error.get("type") in {"value_error", "assertion_error"}:
        message = message.removeprefix("Value error, ").removeprefix("Assertion failed, ")
    return {"where": where, "said": message}
