"""The record: everything that happened, and whether its chain of hashes is whole."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from starlette.responses import Response

from aegis.catalog import records
from aegis.catalog.database.audit_chain import ACTS_OF
from aegis.catalog.records import Page
from aegis.catalog.server.pages.page import PageContext, PageRoutes
from aegis.catalog.server.pages.product_pages import head, product_of
from aegis.catalog.server.pages.rendering import level_words
from aegis.catalog.service import audit_log, people
from aegis.catalog.service.paging import MOST, PageRequest
from aegis.catalog.service.permissions import Permission
from aegis.catalog.service.products import product_choices
from aegis.errors import InputError, NotFoundError

routes = PageRoutes()

_PLACES = {"product": "/products", "request": "/requests", "release": "/releases", "job": "/jobs", "user": "/people"}
_HASH = re.compile(r"[0-9a-f]{32,}")


@routes.get("/audit")
def show_audit(context: PageContext, *, checked: records.ChainStatus | None = None) -> Response:
    context, chosen, page = _filtered(context, product=context.query.get("product") or None)
    with context.read() as work:
        chain = checked or audit_log.standing(work, most=0)
        choices = product_choices(work)
        names = [person.name for person in people.list_users(work, page=PageRequest(size=MOST)).items]
    return context.render(
        "audit.html",
        title="Audit",
        **_shown(context, page, chosen),
        products=choices,
        people=names,
        chain=chain,
        just_checked=checked is not None,
    )


@routes.post("/audit")
def verify(context: PageContext) -> Response:
    """Walk what is new at once, and let the worker walk the rest: that may take a while on a long record."""
    with context.write() as work:
        chain = audit_log.want_walk(work)
    return show_audit(context, checked=chain)


@routes.get("/products/{product}/audit")
def show_of_product(context: PageContext) -> Response:
    with context.read() as work:
        product = product_of(context, work, Permission.SEE_PRODUCT_AUDIT)
    context, chosen, page = _filtered(context, product=product.id)
    return context.render(
        "product_audit.html", **head(context, product), **_shown(context, page, chosen), products=None, people=[]
    )


def _filtered(context: PageContext, *, product: str | None) -> tuple[PageContext, FilterForm, Page[records.Act]]:
    """The rows that were asked for; where a field makes no sense, none, and the context says why."""
    chosen = FilterForm.of(context.query)
    try:
        with context.read() as work:
            page = audit_log.list_audit(work, product=product, page=context.page_request, **chosen.wanted())
    except (InputError, NotFoundError) as error:
        return replace(context, problem=error), chosen, Page(items=())
    return context, chosen, page


def _shown(context: PageContext, page: Page[records.Act], chosen: FilterForm) -> dict[str, Any]:
    return {
        "rows": [(act, _path_of(act), _said(act.details)) for act in page.items],
        "paging": context.paging(page),
        "chosen": chosen,
        "action_groups": list(ACTS_OF.items()),
    }


def _path_of(act: records.Act) -> str | None:
    """The page of the thing that an act is about, where it has one."""
    place = _PLACES.get(act.subject)
    return f"{place}/{act.subject_id}" if place else None


def _said(details: Mapping[str, Any]) -> str:
    """The details of an act for people; what a summary covers is said as on its page."""
    filled = {key: value for key, value in details.items() if value is not None}
    return ", ".join(
        f"it tells {level_words(str(value))}" if key == "level" else f"{key.replace('_', ' ')} {_plain(value)}"
        for key, value in filled.items()
    )


def _plain(value: Any) -> str:
    """A detail for people; of hashes and long ids the beginning tells them apart."""
    if isinstance(value, list | tuple):
        return " and ".join(map(str, value)) or "none"
    text = str(value)
    return f"{text[:10]}…" if _HASH.fullmatch(text) else text


FIELDS = ("product", "actor", "action", "since", "until")


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterForm:
    """The fields as they were filled in; days count from midnight to midnight, UTC, the last one too."""

    product: str = ""
    actor: str = ""
    action: str = ""
    since: str = ""
    until: str = ""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> FilterForm:
        return cls(**{name: query.get(name, "").strip()[:200] for name in FIELDS})

    @property
    def is_empty(self) -> bool:
        return not any(getattr(self, name) for name in FIELDS)

    def wanted(self) -> dict[str, Any]:
        """What the service is asked for; `InputError` where a field makes no sense."""
        until = _day(self.until)
        return {
            "actor": self.actor or None,
            "action": self.action or None,
            "since": _day(self.since),
            "until": None if until is None else until + datetime.timedelta(days=1),
        }


def _day(text: str) -> datetime.datetime | None:
    if not text:
        return None
    try:
        day = datetime.date.fromisoformat(text)
    except ValueError:
        raise InputError("a day is written like 2026-03-01") from None
    if not 1970 <= day.year < 3000:
        raise InputError("the record knows no such day; a day is written like 2026-03-01")
    return datetime.datetime.combine(day, datetime.time(), tzinfo=datetime.UTC)
