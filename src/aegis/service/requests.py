"""Requests for access: asked, decided, revoked, taken back, expired; every step checked, timed and on the record."""

from __future__ import annotations

from collections.abc import Iterable

from aegis.service.catalog import Work
from aegis.service.paging import FIRST, Page, PageRequest
from aegis.service.views import RequestView


def ask(
    work: Work,
    *,
    product: str,
    purpose: str,
    columns: Iterable[str] = (),
    days: int = 90,
    measure: str | None = None,
) -> RequestView:
    """Ask for access to a published product; no column named means all that are not identifying."""
    raise NotImplementedError


def decide(
    work: Work,
    *,
    request_id: str,
    version: int | None = None,
    approve: bool,
    configuration_id: str | None = None,
    reason: str | None = None,
) -> RequestView:
    """Approve with a configuration, or reject with a reason. The second of two decisions is a `ConflictError`."""
    raise NotImplementedError


def revoke(work: Work, *, request_id: str, reason: str, version: int | None = None) -> RequestView:
    """The provider ends a request that was approved or provisioned (or still waits)."""
    raise NotImplementedError


def withdraw(work: Work, *, request_id: str, version: int | None = None) -> RequestView:
    """The consumer takes the request back; it counts as revoked."""
    raise NotImplementedError


def list_requests(
    work: Work,
    *,
    product: str | None = None,
    state: str | None = None,
    mine: bool = False,
    page: PageRequest = FIRST,
) -> Page[RequestView]:
    """One's own requests and those for products one works on, the newest first; ``mine`` leaves only one's own."""
    raise NotImplementedError


def request(work: Work, *, request_id: str) -> RequestView:
    """One request with its history."""
    raise NotImplementedError


def expire_due(work: Work) -> int:
    """Write down that requests past their end are expired; gives how many. Done by the worker."""
    raise NotImplementedError
