"""Who asks is known before anything else is looked at: the body, the query, even whether the address exists.

A token comes in the Authorization header. A browser's session comes in its cookie, and a write by cookie must also
carry the session's own secret in X-CSRF-Token, which no other site can know.
"""

from __future__ import annotations

import hmac

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Receive, Scope, Send

from aegis.catalog.server.api import problem
from aegis.catalog.service import people
from aegis.catalog.service.actor import ANONYMOUS, Actor
from aegis.catalog.service.catalog import Catalog
from aegis.errors import AegisError, NotPermittedError, NotSignedInError

SESSION_COOKIE = "aegis_session"
CSRF_HEADER = "X-CSRF-Token"
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_LONGEST_SECRET = 512


class Gate:
    """An app that only people who are signed in reach, except at the addresses in ``is_open``."""

    def __init__(self, app: ASGIApp, *, catalog: Catalog, is_open: frozenset[str]) -> None:
        self._app = app
        self._catalog = catalog
        self._open = is_open

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        if scope["path"] in self._open:
            state["actor"] = ANONYMOUS
        else:
            try:
                state["actor"] = await run_in_threadpool(self._who, scope)
            except AegisError as error:
                await problem.answer_error(scope, error)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _who(self, scope: Scope) -> Actor:
        headers = Headers(scope=scope)
        authorization = headers.get("authorization")
        if authorization is not None:
            scheme, _, token = authorization.partition(" ")
            if scheme.lower() != "bearer" or not _usable(token.strip()):
                raise NotSignedInError("the Authorization header holds no token; write: Bearer, a space, the token")
            return people.actor_of_token(self._catalog, text=token.strip())
        secret = cookie_parser(headers.get("cookie", "")).get(SESSION_COOKIE, "")
        if not _usable(secret):
            raise NotSignedInError("nobody is signed in; sign in, or send a token in the Authorization header")
        session = people.actor_of_session(self._catalog, secret=secret)
        given = headers.get(CSRF_HEADER, "")
        if scope["method"] not in _SAFE and not hmac.compare_digest(given.encode(), session.csrf.encode()):
            raise NotPermittedError(f"a write by cookie needs the session's secret in {CSRF_HEADER}; reload the page")
        return session.actor


def _usable(secret: str) -> bool:
    return 0 < len(secret) <= _LONGEST_SECRET and secret.isascii() and secret.isprintable()
