"""From a request to a page: who asks, what was sent, is it their own form, and what to say when it fails.

Handlers are plain functions of a visit that run in the thread pool; the event loop only moves bytes.
"""

from __future__ import annotations

import hmac
import logging
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from urllib.parse import quote, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from aegis.catalog.server.pages.form import FIELDS_LIMIT_BYTES, Form, read_form
from aegis.catalog.server.pages.visit import FORM_COOKIE, SAID_COOKIE, SESSION_COOKIE, Said, Visit
from aegis.catalog.service import people
from aegis.catalog.service.actor import ANONYMOUS
from aegis.catalog.service.catalog import Catalog
from aegis.errors import AegisError, NotFoundError, NotPermittedError, NotSignedInError, TooManyAttemptsError

Handler = Callable[[Visit], Response]

_LOG = logging.getLogger("aegis.catalog.server.pages")
_TITLES = {
    400: "That cannot be done",
    401: "Please sign in",
    403: "Not allowed",
    404: "Not found",
    405: "Not this way",
    409: "That cannot be done now",
    413: "Too large",
    422: "That cannot be used",
    429: "Too many attempts",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """One address and method, and the function that answers. ``is_open``: also for people who are not signed in."""

    method: str
    path: str
    handler: Handler
    is_open: bool = False
    limit: str | None = None
    """The setting that limits what is sent, where files may be."""


def get(path: str, handler: Handler, *, is_open: bool = False) -> Door:
    return Door(method="GET", path=path, handler=handler, is_open=is_open)


def post(path: str, handler: Handler, *, is_open: bool = False, limit: str | None = None) -> Door:
    return Door(method="POST", path=path, handler=handler, is_open=is_open, limit=limit)


def route(catalog: Catalog, door: Door) -> Route:
    """The route of a door."""

    async def answer(request: Request) -> Response:
        if door.method == "GET":
            return await run_in_threadpool(_get, catalog, door, request)
        visit = await run_in_threadpool(_greeted, catalog, door, request)
        if isinstance(visit, Response):
            return visit
        data = None
        try:
            more = getattr(catalog.settings, door.limit) if door.limit else 0
            form, data = await read_form(request, limit_bytes=more + FIELDS_LIMIT_BYTES)
            return await run_in_threadpool(_post, door, replace(visit, form=form), request)
        except AegisError as error:
            return await run_in_threadpool(failed, visit, error)
        except ClientDisconnect:
            return PlainTextResponse("", status_code=400)  # nobody is there to read it
        finally:
            if data is not None:
                await data.close()

    return Route(door.path, answer, methods=[door.method])


def failed(visit: Visit, error: AegisError) -> Response:
    """The page that says why something was refused; its words hold no cell value."""
    status = error.http_status
    back, back_words = ("/", "Back to the start") if visit.is_signed_in else ("/sign-in", "Sign in")
    response = visit.page(
        "error.html",
        status=status,
        title=_TITLES.get(status, "That did not work"),
        words=sentence(error),
        back=back,
        back_words=back_words,
    )
    if isinstance(error, TooManyAttemptsError):
        response.headers["Retry-After"] = str(error.retry_after_seconds)
    return response


def sentence(error: AegisError) -> str:
    """The words of an error as a sentence.

    >>> sentence(NotFoundError("there is no such product"))
    'There is no such product.'
    """
    text = str(error).strip()
    if not text:
        return "Something was refused."
    return text[0].upper() + text[1:] + ("" if text[-1] in ".!?" else ".")


def lost(catalog: Catalog, request: Request) -> Response:
    """The page for an address that does not exist."""
    return failed(_visit(catalog, request), NotFoundError("there is no page at this address"))


def broken(error: Exception) -> Response:
    """What is said when the console itself is at fault: no detail, for it might hold data."""
    _LOG.error("a page failed: %s", type(error).__name__)
    return PlainTextResponse(
        "Something went wrong on our side; nothing was changed. Go back and try again.", status_code=500
    )


def _get(catalog: Catalog, door: Door, request: Request) -> Response:
    visit = _greeted(catalog, door, request)
    if isinstance(visit, Response):
        return visit
    try:
        return door.handler(visit)
    except AegisError as error:
        return _sign_in(visit, request) if isinstance(error, NotSignedInError) else failed(visit, error)


def _post(door: Door, visit: Visit, request: Request) -> Response:
    if not _is_own(visit, request):
        raise NotPermittedError("the form was not sent from its page, or the page is too old; load it again")
    return door.handler(visit)


def _greeted(catalog: Catalog, door: Door, request: Request) -> Visit | Response:
    """The visit, or the way to the sign-in page for somebody who must sign in first."""
    try:
        visit = _visit(catalog, request)
    except AegisError as error:
        return PlainTextResponse(sentence(error), status_code=error.http_status)
    if visit.is_signed_in or door.is_open:
        return visit
    return _sign_in(visit, request)


def _sign_in(visit: Visit, request: Request) -> Response:
    here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    wanted = here if request.method == "GET" and here != "/" else ""
    return visit.go(f"/sign-in?next={quote(wanted)}" if wanted else "/sign-in")


def _visit(catalog: Catalog, request: Request) -> Visit:
    session = request.cookies.get(SESSION_COOKIE)
    actor, csrf = ANONYMOUS, ""
    if session:
        try:
            found = people.actor_of_session(catalog, secret=session)
        except NotSignedInError:
            session = None  # over, or never ours: like somebody who comes for the first time
        else:
            actor, csrf = found.actor, found.csrf
    form_cookie = request.cookies.get(FORM_COOKIE, "")
    is_new = not csrf and not 20 <= len(form_cookie) <= 64
    query = {key: value for key, value in request.query_params.items() if "\x00" not in value}
    if any("\x00" in value for value in request.path_params.values()):
        raise NotFoundError("there is no page at this address")
    return Visit(
        catalog=catalog,
        actor=actor,
        csrf=csrf or (secrets.token_urlsafe(24) if is_new else form_cookie),
        path=request.url.path,
        address=request.client.host if request.client else "",
        secure=request.url.scheme == "https",
        origin=f"{request.url.scheme}://{request.headers.get('host', '')}",
        session=session,
        said=Said.from_cookie(request.cookies.get(SAID_COOKIE)),
        query=query,
        names=dict(request.path_params),
        is_new=is_new,
    )


def _is_own(visit: Visit, request: Request) -> bool:
    """Whether the form came from a page of ours: its secret is right, and no browser says that another site sent it."""
    if visit.is_new or not hmac.compare_digest(visit.form.raw("csrf").encode(), visit.csrf.encode()):
        return False
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = request.headers.get("origin")
    return origin is None or urlsplit(origin).netloc == request.headers.get("host", "")


__all__ = ["Door", "Form", "Handler", "broken", "failed", "get", "lost", "post", "route", "sentence"]
