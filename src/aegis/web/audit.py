"""The record: everything that happened, and whether its chain of hashes is whole."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from starlette.responses import Response

from aegis.catalog.audit import ChainVerdict
from aegis.service import audit_trail, products
from aegis.service.permissions import Permission, require
from aegis.service.views import AuditView
from aegis.web.paging import paging
from aegis.web.product_part import head
from aegis.web.routing import Door, get, post
from aegis.web.visit import Visit

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
    return _audit(visit, verdict=None)


def verify(visit: Visit) -> Response:
    """Walk the chain. It may take a while on a long record, so it is done when asked for and not with every page."""
    with visit.read() as work:
        verdict = audit_trail.verify(work)
    return _audit(visit, verdict=verdict)


def _audit(visit: Visit, *, verdict: ChainVerdict | None) -> Response:
    with visit.read() as work:
        page = audit_trail.list_audit(work, page=visit.page_request)
    return visit.page(
        "audit.html",
        title="Audit",
        rows=[_row(one) for one in page.items],
        paging=paging(visit, page),
        verdict=verdict,
    )


def show_of_product(visit: Visit) -> Response:
    with visit.read() as work:
        product = products.product(work, product=visit.names["product"])
        require(visit.actor, Permission.SEE_PRODUCT_AUDIT, product.id)
        page = audit_trail.list_audit(work, product=product.id, page=visit.page_request)
    return visit.page(
        "product_audit.html",
        **head(visit, product),
        rows=[_row(one) for one in page.items],
        paging=paging(visit, page),
    )


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
