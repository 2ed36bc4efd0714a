"""One visit: who asks, with what, and the ways to answer: a page, or a way on with a word about what happened."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from starlette.responses import HTMLResponse, RedirectResponse, Response

from aegis.catalog.server.pages.environment import render
from aegis.catalog.server.pages.form import Form
from aegis.catalog.service.actor import Actor, UserRole
from aegis.catalog.service.catalog import Catalog, Work
from aegis.catalog.service.paging import PageRequest

SESSION_COOKIE = "aegis_session"
FORM_COOKIE = "aegis_form"
"""Ties the forms of somebody who is not signed in to the browser they were sent to."""
SAID_COOKIE = "aegis_said"
_LONGEST_SAID = 700
PAGE_SIZE = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What the page before has to say on this one."""

    text: str
    bad: bool = False

    def to_cookie(self) -> str:
        plain = json.dumps([self.text[:_LONGEST_SAID], self.bad]).encode()
        return base64.urlsafe_b64encode(plain).decode()

    @classmethod
    def from_cookie(cls, text: str | None) -> Said | None:
        """Whatever a browser sends is shown as text at most; what is not ours is nothing."""
        try:
            said, bad = json.loads(base64.urlsafe_b64decode(text or ""))
        except ValueError:
            return None
        return cls(text=said[:_LONGEST_SAID], bad=bool(bad)) if isinstance(said, str) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """An entry of the main navigation."""

    name: str
    path: str
    here: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A request, parsed, with the person who sent it."""

    catalog: Catalog
    actor: Actor
    csrf: str
    path: str
    address: str
    secure: bool
    origin: str
    session: str | None = None
    said: Said | None = None
    query: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    form: Form = field(default_factory=Form)
    is_new: bool = False
    """Whether the browser has no form cookie yet."""

    @property
    def is_signed_in(self) -> bool:
        return self.actor.user_id is not None

    @property
    def page_request(self) -> PageRequest:
        """The part of a long list that the address asks for."""
        return PageRequest(size=PAGE_SIZE, cursor=self.query.get("cursor") or None)

    def read(self) -> AbstractContextManager[Work]:
        return self.catalog.read(self.actor)

    def write(self) -> AbstractContextManager[Work]:
        return self.catalog.write(self.actor)

    def page(self, template: str, *, status: int = 200, **context: Any) -> Response:
        """A page of the console."""
        context = {"visit": self, "places": self._places(), "status": status, **context}
        response = HTMLResponse(render(template, context), status_code=status)
        if self.said is not None:
            response.delete_cookie(SAID_COOKIE, path="/", secure=self.secure, httponly=True, samesite="lax")
        if self.is_new:
            self.keep(response, FORM_COOKIE, self.csrf, seconds=86_400)
        return response

    def go(self, path: str, said: str = "", *, bad: bool = False) -> Response:
        """On to another page, which says ``said``."""
        response = RedirectResponse(path, status_code=303)
        if said:
            self.keep(response, SAID_COOKIE, Said(text=said, bad=bad).to_cookie(), seconds=60)
        return response

    def keep(self, response: Response, name: str, value: str, *, seconds: int | None) -> None:
        """Set a cookie that scripts cannot read and other sites do not send."""
        response.set_cookie(name, value, max_age=seconds, path="/", secure=self.secure, httponly=True, samesite="lax")

    def _places(self) -> list[Place]:
        listed = [("Catalog", "/products"), ("Requests", "/requests")]
        if self.actor.products_as(UserRole.PROVIDER, UserRole.EXPERT) != frozenset():
            listed.append(("Jobs", "/jobs"))
        if self.actor.is_admin:
            listed += [("People", "/people"), ("Audit", "/audit")]
        return [Place(name=name, path=path, here=self.path.startswith(path)) for name, path in listed]
