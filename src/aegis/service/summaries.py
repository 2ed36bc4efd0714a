"""Summaries on arrival: streamed to a draft, unpacked with care, checked, and only then entered.

A push has two steps. `incoming` checks the permission, takes the bytes in and checks them, without holding the
database; `receive` enters what was checked in the caller's transaction::

    with summaries.incoming(catalog, actor, product="clinic", stream=body) as checked, catalog.write(actor) as work:
        view = summaries.receive(work, checked)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from aegis.catalog.storage import Draft, Stream
from aegis.service.actor import Actor
from aegis.service.catalog import Catalog, Work
from aegis.service.paging import FIRST, Page, PageRequest
from aegis.service.views import HistogramView, SummaryView


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedSummary:
    """A summary that arrived whole and passed every check that needs no lock."""

    product_id: str
    draft: Draft
    facts: dict[str, Any]


@contextmanager
def incoming(catalog: Catalog, actor: Actor, *, product: str, stream: Stream) -> Iterator[CheckedSummary]:
    """Take in a zip or tar of a summary folder and check it; the draft vanishes at the end unless it was received."""
    raise NotImplementedError
    yield


def receive(work: Work, checked: CheckedSummary) -> SummaryView:
    """Make the checked summary the product's current one."""
    raise NotImplementedError


def current(work: Work, *, product: str) -> SummaryView | None:
    """The product's current summary, None where it has none."""
    raise NotImplementedError


def list_summaries(work: Work, *, product: str, page: PageRequest = FIRST) -> Page[SummaryView]:
    """All summaries of a product, the newest first."""
    raise NotImplementedError


def histograms(work: Work, *, product: str) -> list[HistogramView]:
    """The distributions that the current summary publishes: values of enough records, the rest together."""
    raise NotImplementedError


def open_archive(work: Work, *, product: str) -> tuple[SummaryView, Any]:
    """The current summary's archive as it was pushed, for those who work on the product: (view, file to read)."""
    raise NotImplementedError
