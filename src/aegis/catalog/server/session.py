"""Who sent a request, known before anything else is looked at: the body, the query, even whether the address exists.

A program sends a token in the Authorization header. A browser sends the cookie of its session, and with every write
also a secret that no other site can know: in the header ``X-CSRF-Token``, or in the field ``csrf`` of a form. Somebody
who is not signed in yet has a secret for their forms in a cookie of its own.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from aegis.catalog.server.errors import error_response, is_api
from aegis.catalog.server.limits import RequestQuota
from aegis.catalog.service import sessions
from aegis.catalog.service.catalog import Catalog, again_if_undone
from aegis.catalog.service.permissions import ANONYMOUS, Actor
from aegis.catalog.settings import LOOPBACK, Settings
from aegis.errors import AegisError, NotPermittedError, NotSignedInError

SESSION_COOKIE = "aegis_session"
FORM_COOKIE = "aegis_form"
"""Ties the forms of somebody who is not signed in to the browser they were sent to."""
CSRF_HEADER = "X-CSRF-Token"
HEALTH = "/api/v1/health"
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_LONGEST_SECRET = 512
_FORM_COOKIE_SECONDS = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who sent a request, and the secret that their forms must carry."""

    actor: Actor
    csrf: str = field(default="", repr=False)
    secret: str | None = field(default=None, repr=False)
    """What the session's cookie holds; None where there is no session."""
    unseen: int = 0
    """How many notifications are new."""
    is_new: bool = False
    """Whether the browser has no secret for its forms yet."""


NOBODY = Identity(actor=ANONYMOUS)


class Authentication:
    """An app that finds the `Identity` of every request under ``identity`` of its state.

    Below ``/api/`` only people who are signed in get further, except to the health of the catalog. For a page that is
    only looked at, `identity_of` finds out in the thread that answers: one change of threads is enough.
    """

    def __init__(self, app: ASGIApp, *, catalog: Catalog) -> None:
        self._app = app
        self._catalog = catalog
        self._quota = RequestQuota(per_minute=catalog.settings.requests_per_minute)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            state = scope.setdefault("state", {})
            if scope["path"] == HEALTH or scope["path"].startswith("/static/"):
                state["identity"] = NOBODY
            elif scope["method"] in ("GET", "HEAD") and not is_api(scope):
                state["authenticate"] = partial(self._identity, scope)
            else:
                try:
                    state["identity"] = await run_in_threadpool(self._identity, scope)
                except AegisError as error:
                    await error_response(scope, error)(scope, receive, send)
                    return
        await self._app(scope, receive, send)

    def _identity(self, scope: Scope) -> Identity:
        who = _api_identity if is_api(scope) else _page_identity
        identity = again_if_undone(partial(who, self._catalog, scope))
        client = scope.get("client") or ("",)
        self._quota.take(identity.actor.user_id or str(client[0]))
        return identity


def identity_of(scope: Scope) -> Identity:
    """Who sent a request. It may ask the database, so call it in a thread; an `AegisError` is the response."""
    state = scope["state"]
    if "identity" not in state:
        state["identity"] = state["authenticate"]()
    identity: Identity = state["identity"]
    return identity


def public_origin(settings: Settings, *, scheme: str, host: str) -> str:
    """Where people find the catalog: the configured address. A Host header is anybody's to choose, and is believed for
    this machine only.

    >>> public_origin(Settings(public_url="https://catalog.example/"), scheme="http", host="evil.example")
    'https://catalog.example'
    >>> public_origin(Settings(), scheme="http", host="127.0.0.1:8080")
    'http://127.0.0.1:8080'
    >>> public_origin(Settings(), scheme="https", host="evil.example")
    'https://ADDRESS-OF-THE-CATALOG'
    """
    if settings.public_url:
        return settings.public_url.rstrip("/")
    try:
        local = urlsplit(f"//{host}").hostname in LOOPBACK
    except ValueError:
        local = False
    return f"{scheme}://{host}" if local else f"{scheme}://ADDRESS-OF-THE-CATALOG"


def check_form(identity: Identity, *, csrf: str, headers: Mapping[str, str]) -> None:
    """Raise unless a form came from a page of ours: its secret is right, and no browser says that another site sent it.

    ``csrf`` is what the form itself carries.
    """
    fits = not identity.is_new and hmac.compare_digest(csrf.encode(), identity.csrf.encode())
    own_site = headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")
    origin = headers.get("origin")
    if not fits or not own_site or (origin is not None and urlsplit(origin).netloc != headers.get("host", "")):
        raise NotPermittedError("the form was not sent from its page, or the page is too old; load it again")


def set_cookie(response: Response, name: str, value: str, *, secure: bool, seconds: int | None) -> None:
    """Set a cookie that scripts cannot read and other sites do not send."""
    response.set_cookie(name, value, max_age=seconds, path="/", secure=secure, httponly=True, samesite="lax")


def delete_cookie(response: Response, name: str, *, secure: bool) -> None:
    """Let a browser forget a cookie."""
    response.delete_cookie(name, path="/", secure=secure, httponly=True, samesite="lax")


def keep_form_cookie(response: Response, identity: Identity, *, secure: bool) -> None:
    """Give a browser that has none a secret for its forms."""
    if identity.is_new:
        set_cookie(response, FORM_COOKIE, identity.csrf, secure=secure, seconds=_FORM_COOKIE_SECONDS)


def _api_identity(catalog: Catalog, scope: Scope) -> Identity:
    headers = Headers(scope=scope)
    authorization = headers.get("authorization")
    if authorization is not None:
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer" or not _usable(token.strip()):
            raise NotSignedInError("the Authorization header holds no token; write: Bearer, a space, the token")
        return Identity(actor=sessions.actor_of_token(catalog, text=token.strip()))
    secret = cookie_parser(headers.get("cookie", "")).get(SESSION_COOKIE, "")
    if not _usable(secret):
        raise NotSignedInError("nobody is signed in; sign in, or send a token in the Authorization header")
    session = sessions.actor_of_session(catalog, secret=secret)
    csrf = headers.get(CSRF_HEADER, "")
    if scope["method"] not in _SAFE and not hmac.compare_digest(csrf.encode(), session.csrf.encode()):
        raise NotPermittedError(f"a write by cookie needs the session's secret in {CSRF_HEADER}; reload the page")
    return Identity(actor=session.actor, csrf=session.csrf, secret=secret)


def _page_identity(catalog: Catalog, scope: Scope) -> Identity:
    cookies = cookie_parser(Headers(scope=scope).get("cookie", ""))
    secret = cookies.get(SESSION_COOKIE, "")
    if _usable(secret):
        try:
            session = sessions.actor_of_session(catalog, secret=secret)
            return Identity(actor=session.actor, csrf=session.csrf, secret=secret, unseen=session.unseen)
        except NotSignedInError:
            pass  # over, or never ours: like somebody who comes for the first time
    csrf = cookies.get(FORM_COOKIE, "")
    if 20 <= len(csrf) <= 64:
        return Identity(actor=ANONYMOUS, csrf=csrf)
    return Identity(actor=ANONYMOUS, csrf=secrets.token_urlsafe(24), is_new=True)


def _usable(secret: str) -> bool:
    return 0 < len(secret) <= _LONGEST_SECRET and secret.isascii() and secret.isprintable()
