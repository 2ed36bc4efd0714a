"""A page of the console: its routes, and what its handler works with.

A handler is a plain function of a `PageContext` that gives a response; it runs in a thread, so that the event loop only
moves bytes. ::

    routes = PageRoutes()

    @routes.get("/account")
    def show_account(context: PageContext) -> Response:
        return context.render("account.html", title="Your account")

    @routes.post("/account", refused=show_account)
    def change_password(context: PageContext) -> Response: ...

Where what was sent cannot be used, ``refused`` answers, the page that shows it again and says why: a handler, or the
address of a page. `create_pages` puts all of them together: the web console, for browsers with or without a script.
"""

from __future__ import annotations

import base64
import json
import pkgutil
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from aegis.catalog.records import Page, UserRole
from aegis.catalog.server import pages
from aegis.catalog.server.errors import TITLES, error_headers, error_response, sentence, unexpected_response
from aegis.catalog.server.limits import Lane
from aegis.catalog.server.pages.rendering import load_templates, render, send_asset
from aegis.catalog.server.session import (
    Identity,
    check_form,
    delete_cookie,
    identity_of,
    keep_form_cookie,
    public_origin,
    set_cookie,
)
from aegis.catalog.server.uploads import Form, body_of, read_form, uploading
from aegis.catalog.service.catalog import Catalog, Work, again_if_undone
from aegis.catalog.service.paging import PageRequest
from aegis.catalog.service.permissions import Actor
from aegis.errors import (
    AegisError,
    ConflictError,
    GuaranteeError,
    InputError,
    NotFoundError,
    NotSignedInError,
    TooBusyError,
)

NOTICE_COOKIE = "aegis_notice"
_LONGEST_NOTICE = 700
PAGE_SIZE = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """What the page before has to say on this one."""

    text: str
    bad: bool = False

    def to_cookie(self) -> str:
        plain = json.dumps([self.text[:_LONGEST_NOTICE], self.bad]).encode()
        return base64.urlsafe_b64encode(plain).decode()

    @classmethod
    def from_cookie(cls, value: str | None) -> Notice | None:
        """Whatever a browser sends is shown as text at most; what is not ours is nothing."""
        try:
            text, bad = json.loads(base64.urlsafe_b64decode(value or ""))
        except ValueError:
            return None
        return cls(text=text[:_LONGEST_NOTICE], bad=bool(bad)) if isinstance(text, str) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """An entry of the main navigation."""

    name: str
    path: str
    here: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Paging:
    """The links under a long list: whether this is a later page, and where the next one is."""

    started: bool
    next: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PageContext:
    """A request for a page with the person who sent it, and the ways to answer: a page, or a redirect with a notice."""

    catalog: Catalog
    identity: Identity
    path: str
    address: str
    secure: bool
    origin: str
    notice: Notice | None = None
    query: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)
    """The parts of the path that a route names."""
    form: Form = field(default_factory=Form)
    cookies: Mapping[str, str] = field(default_factory=dict, repr=False)
    problem: AegisError | None = None
    """Why what was sent in the form was refused."""

    @property
    def actor(self) -> Actor:
        return self.identity.actor

    @property
    def csrf(self) -> str:
        return self.identity.csrf

    @property
    def is_signed_in(self) -> bool:
        return self.actor.user_id is not None

    @property
    def page_request(self) -> PageRequest:
        """The part of a long list that the address names."""
        return PageRequest(size=PAGE_SIZE, cursor=self.query.get("cursor") or None)

    def paging(self, page: Page[Any]) -> Paging:
        """The links under a list; what else stands in the address, such as a search, is kept."""
        started = "cursor" in self.query
        if page.next is None:
            return Paging(started=started, next=None)
        query = {key: value for key, value in self.query.items() if key != "cursor"}
        return Paging(started=started, next=f"{self.path}?{urlencode({**query, 'cursor': page.next})}")

    def read(self) -> AbstractContextManager[Work]:
        return self.catalog.read(self.actor)

    def write(self) -> AbstractContextManager[Work]:
        return self.catalog.write(self.actor)

    def render(self, template: str, **names: Any) -> Response:
        """A page of the console, with the problem of the form that was sent."""
        problem, status = self.problem, 200
        if problem is not None:
            # A wrong password in a form is no lost session.
            status = 422 if isinstance(problem, NotSignedInError) and self.is_signed_in else problem.http_status
        names = {
            "context": self,
            "places": self._places(),
            "status": status,
            "problem": None if problem is None else sentence(problem),
            **names,
        }
        response = HTMLResponse(render(template, names), status_code=status)
        if self.notice is not None:
            delete_cookie(response, NOTICE_COOKIE, secure=self.secure)
        keep_form_cookie(response, self.identity, secure=self.secure)
        if problem is not None:
            shown = error_headers(problem)
            shown.pop("WWW-Authenticate", None)  # it would make a browser ask for a password of its own
            response.headers.update(shown)
        return response

    def redirect(self, path: str, notice: str = "", *, problem: AegisError | None = None) -> Response:
        """On to another page, which shows ``notice``, or why something was refused."""
        response = RedirectResponse(path, status_code=303)
        shown = Notice(text=notice) if problem is None else Notice(text=sentence(problem), bad=True)
        if shown.text:
            self.set_cookie(response, NOTICE_COOKIE, shown.to_cookie(), seconds=60)
        return response

    def set_cookie(self, response: Response, name: str, value: str, *, seconds: int | None) -> None:
        """Set a cookie that scripts cannot read and other sites do not send."""
        set_cookie(response, name, value, secure=self.secure, seconds=seconds)

    def delete_cookie(self, response: Response, name: str) -> None:
        """Let the browser forget a cookie."""
        delete_cookie(response, name, secure=self.secure)

    def refuse(self, error: AegisError) -> Response:
        """The page that says why something was refused; its words hold no cell value."""
        title = TITLES.get(error.http_status, "That did not work")
        return replace(self, problem=error).render("error.html", title=title)

    def _places(self) -> list[Place]:
        listed = [("Catalog", "/products"), ("Requests", "/requests")]
        if self.actor.products_as(UserRole.PROVIDER, UserRole.EXPERT) != frozenset():
            listed.append(("Jobs", "/jobs"))
        if self.actor.is_admin:
            listed += [("People", "/people"), ("Audit", "/audit")]
        return [Place(name=name, path=path, here=self.path.startswith(path)) for name, path in listed]


Handler = Callable[[PageContext], Response]
AnyHandler = TypeVar("AnyHandler", bound=Callable[..., Response])
REFUSALS = (InputError, ConflictError, GuaranteeError)
"""Errors that are about what was sent: its own page says them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRoute:
    """One path and method, and the handler. ``is_open``: also for people who are not signed in.

    An ``upload`` has files after its fields, which the handler pulls from the network itself. A route that is expensive
    names the ``lane`` that it waits in. ``refused`` shows the page again where what was sent cannot be used: a handler,
    or the address of a page; that is so for `REFUSALS` and errors that are ``also`` about what was sent.
    """

    method: str
    path: str
    handler: Handler
    is_open: bool = False
    upload: bool = False
    lane: Lane | None = None
    refused: Handler | str | None = None
    also: tuple[type[AegisError], ...] = ()


class PageRoutes:
    """The routes of a module of pages."""

    def __init__(self) -> None:
        self.listed: list[PageRoute] = []

    def get(self, path: str, **more: Any) -> Callable[[AnyHandler], AnyHandler]:
        """Answer GET at a path with the handler below; further keywords are those of `PageRoute`."""
        return self._route("GET", path, **more)

    def post(self, path: str, **more: Any) -> Callable[[AnyHandler], AnyHandler]:
        """Answer POST at a path with the handler below; further keywords are those of `PageRoute`."""
        return self._route("POST", path, **more)

    def _route(self, method: str, path: str, **more: Any) -> Callable[[AnyHandler], AnyHandler]:
        def add(handler: AnyHandler) -> AnyHandler:
            self.listed.append(PageRoute(method=method, path=path, handler=handler, **more))
            return handler

        return add


def starlette_route(catalog: Catalog, route: PageRoute) -> Route:
    """The route as the server knows it: a session and a form of ours first, then the handler."""

    def begin(request: Request) -> PageContext | Response:
        try:
            context = page_context(catalog, request)
        except NotFoundError as error:
            return PlainTextResponse(sentence(error), status_code=error.http_status)
        except AegisError as error:  # nobody knows who sent it
            return error_response(request.scope, error)
        return context if context.is_signed_in or route.is_open else _to_sign_in(context, request)

    def look(request: Request) -> Response:
        context = begin(request)
        return _handled(route, context, request) if isinstance(context, PageContext) else context

    async def respond(request: Request) -> Response:
        if route.method == "GET" and route.lane is None:
            return await run_in_threadpool(look, request)
        context = await run_in_threadpool(begin, request) if route.method == "GET" else begin(request)
        if not isinstance(context, PageContext):
            return context
        if route.method == "GET":
            return await _threaded(route, context, lambda: _handled(route, context, request))
        if route.upload:
            return await uploading(lambda: _posted(route, context, request, None))
        try:
            body = await request.body()
        except ClientDisconnect:
            return PlainTextResponse("", status_code=400)  # nobody is there to read it
        return await _threaded(route, context, lambda: _posted(route, context, request, body))

    return Route(route.path, respond, methods=[route.method])


async def _threaded(route: PageRoute, context: PageContext, take: Callable[[], Response]) -> Response:
    if route.lane is None:
        return await run_in_threadpool(take)
    try:
        return await route.lane.run(context.actor.user_id or context.address, take)
    except TooBusyError as error:
        return await run_in_threadpool(context.refuse, error)


def page_context(catalog: Catalog, request: Request) -> PageContext:
    """The context of a request, made in a thread; `NotFoundError` where its address holds what no address holds."""
    if any("\x00" in value for value in request.path_params.values()):
        raise NotFoundError("there is no page at this address")
    scheme = request.scope["scheme"]
    return PageContext(
        catalog=catalog,
        identity=identity_of(request.scope),
        path=request.scope["path"],
        address=request.client.host if request.client else "",
        secure=scheme == "https",
        origin=public_origin(catalog.settings, scheme=scheme, host=request.headers.get("host", "")),
        notice=Notice.from_cookie(request.cookies.get(NOTICE_COOKIE)),
        query={key: value for key, value in request.query_params.items() if "\x00" not in value},
        parameters=dict(request.path_params),
        cookies=request.cookies,
    )


def _posted(route: PageRoute, context: PageContext, request: Request, body: bytes | None) -> Response:
    """Read the form and handle it; ``body`` is None where it is still on its way."""
    try:
        chunks = body_of(request) if body is None else iter([body])
        form = read_form(request.headers.get("content-type", ""), chunks)
        check_form(context.identity, csrf=form.raw("csrf"), headers=request.headers)
    except AegisError as error:
        return context.refuse(error)
    return _handled(route, replace(context, form=form), request)


def _handled(route: PageRoute, context: PageContext, request: Request) -> Response:
    try:
        return _answered(route, context)
    except NotSignedInError:
        return _to_sign_in(context, request)
    except AegisError as error:
        return context.refuse(error)


def _answered(route: PageRoute, context: PageContext) -> Response:
    expected: tuple[type[AegisError], ...] = REFUSALS + route.also
    try:
        if route.upload:  # its files are gone once they were read
            return route.handler(context)
        return again_if_undone(lambda: route.handler(context))
    except expected as error:
        if route.refused is None:
            raise
        if isinstance(route.refused, str):
            return context.redirect(route.refused.format(**context.parameters), problem=error)
        return route.refused(replace(context, problem=error))


def _to_sign_in(context: PageContext, request: Request) -> Response:
    here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    next_page = here if request.method == "GET" and here != "/" else ""
    return context.redirect(f"/sign-in?next={quote(next_page)}" if next_page else "/sign-in")


def page_routes() -> list[PageRoute]:
    """Every route of the console, paths with fixed words before those with names in the same place."""
    modules = [module.name for module in pkgutil.iter_modules(pages.__path__) if module.name.endswith("_pages")]
    listed = [route for name in modules for route in import_module(f"{pages.__name__}.{name}").routes.listed]
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
