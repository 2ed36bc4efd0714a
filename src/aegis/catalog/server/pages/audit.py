"""The record: everything that happened, and whether its chain of hashes is whole."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from starlette.responses import Response

from aegis.catalog.server.pages.audit_filter import AuditFilter, action_groups
from aegis.catalog.server.pages.paging import paging
from aegis.catalog.server.pages.product_part import head
from aegis.catalog.server.pages.routing import Door, get, post, sentence
from aegis.catalog.server.pages.visit import Visit
from aegis.catalog.service import audit_trail, chain_check, people, products
from aegis.catalog.service.catalog import Work
from aegis.catalog.service.chain_check import ChainStanding
from aegis.catalog.service.paging import MOST, Page, PageRequest
from aegis.catalog.service.permissions import Permission, require
from aegis.catalog.service.product_choice import product_choices
from aegis.catalog.service.views import AuditView
from aegis.errors import AegisError, InputError, NotFoundError

_PLACES = {"product": "/products", "request": "/requests", "release": "/releases", "job": "/jobs", "user": "/people"}
_HASH = re.compile(r"[0-9a-f]{32,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """An act, ready for the template."""

    sequence: int
    at: datetime
    actor: str
    action: str
    subject: str
    path: str | None
    details: str
    hash: str


def show_audit(visit: Visit) -> Response:
    with visit.read() as work:
        chain = chain_check.standing(work, most=0)
    return _audit(visit, chain=chain, just_checked=False)


def verify(visit: Visit) -> Response:
    """Walk what is new at once, and let the worker walk the rest: that may take a while on a long record."""
    with visit.write() as work:
        chain = chain_check.want_walk(work)
    return _audit(visit, chain=chain, just_checked=True)


def _audit(visit: Visit, *, chain: ChainStanding, just_checked: bool) -> Response:
    chosen = AuditFilter.of(visit.query)
    with visit.read() as work:
        page, problem = _listed(visit, work, chosen, product=chosen.product or None)
        choices = product_choices(work)
        names = [person.name for person in people.list_users(work, page=PageRequest(size=MOST)).items]
    return visit.page(
        "audit.html",
        status=problem.http_status if problem else 200,
        title="Audit",
        **_shown(visit, page, chosen, problem),
        products=choices,
        people=names,
        chain=chain,
        just_checked=just_checked,
    )


def show_of_product(visit: Visit) -> Response:
    chosen = AuditFilter.of(visit.query)
    with visit.read() as work:
        product = products.product(work, product=visit.names["product"])
        require(visit.actor, Permission.SEE_PRODUCT_AUDIT, product.id)
        page, problem = _listed(visit, work, chosen, product=product.id)
    return visit.page(
        "product_audit.html",
        status=problem.http_status if problem else 200,
        **head(visit, product),
        **_shown(visit, page, chosen, problem),
        products=None,
        people=[],
    )


def _listed(
    visit: Visit, work: Work, chosen: AuditFilter, *, product: str | None
) -> tuple[Page[AuditView], AegisError | None]:
    """The rows that were asked for, or none and why."""
    try:
        found = audit_trail.list_audit(work, product=product, wanted=chosen.wanted(), page=visit.page_request)
    except (InputError, NotFoundError) as error:
        return Page(items=()), error
    return found, None


def _shown(visit: Visit, page: Page[AuditView], chosen: AuditFilter, problem: AegisError | None) -> dict[str, Any]:
    return {
        "rows": [_row(one) for one in page.items],
        "paging": paging(visit, page),
        "chosen": chosen,
        "action_groups": action_groups(),
        "problem": sentence(problem) if problem else None,
    }


def _row(view: AuditView) -> Row:
    place = _PLACES.get(view.subject)
    return Row(
        sequence=view.sequence,
        at=view.at,
        actor=view.actor,
        action=view.action,
        subject=view.subject,
        path=f"{place}/{view.subject_id}" if place else None,
        details=_said(view.details),
        hash=view.hash,
    )


def _said(details: Mapping[str, Any]) -> str:
    return ", ".join(f"{key.replace('_', ' ')} {_plain(value)}" for key, value in details.items() if value is not None)


def _plain(value: Any) -> str:
    """A detail for people; of hashes and long ids the beginning tells them apart."""
    if isinstance(value, list | tuple):
        return " and ".join(str(each) for each in value) or "none"
    text = str(value)
    return f"{text[:10]}…" if _HASH.fullmatch(text) else text


DOORS: tuple[Door, ...] = (
    get("/audit", show_audit),
    post("/audit", verify),
    get("/products/{product}/audit", show_of_product),
)
