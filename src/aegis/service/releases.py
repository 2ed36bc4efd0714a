"""Releases on arrival: the file's hash checked against the certificate while it streams, then measured from scratch.

As with summaries, `incoming` takes in and checks, `receive` enters::

    with releases.incoming(catalog, actor, product="clinic", file=body, certificate=document, file_name="clinic.csv",
                           request_id=None) as checked, catalog.write(actor) as work:
        view = releases.receive(work, checked)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

from aegis.catalog.storage import Draft, Stream
from aegis.service.actor import Actor
from aegis.service.catalog import Catalog, Work
from aegis.service.paging import FIRST, Page, PageRequest
from aegis.service.views import ReleaseView


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedRelease:
    """A release whose bytes are those that its certificate names."""

    product_id: str
    request_id: str | None
    draft: Draft
    file_name: str
    certificate: dict[str, Any]
    certificate_digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedRelease:
    """A release to be downloaded; whoever gets it closes ``stream``."""

    release: ReleaseView
    stream: BinaryIO


@contextmanager
def incoming(
    catalog: Catalog,
    actor: Actor,
    *,
    product: str | None = None,
    request_id: str | None = None,
    file: Stream,
    certificate: Stream,
    file_name: str,
) -> Iterator[CheckedRelease]:
    """Take in a released file and its certificate, for an approved request or for the product as such.

    `VerificationError` where the certificate does not match the file, was changed, or certifies another policy.
    """
    raise NotImplementedError
    yield


def receive(work: Work, checked: CheckedRelease) -> ReleaseView:
    """Enter the release and queue the job that measures it from scratch; downloads wait for that."""
    raise NotImplementedError


def release(work: Work, *, release_id: str) -> ReleaseView:
    """One release."""
    raise NotImplementedError


def list_releases(work: Work, *, product: str, page: PageRequest = FIRST) -> Page[ReleaseView]:
    """The releases of a product that the actor may see, the newest first."""
    raise NotImplementedError


def open_download(work: Work, *, release_id: str) -> OpenedRelease:
    """Open a verified release for somebody who may have it, and put the download on the record (a write)."""
    raise NotImplementedError


def withdraw(work: Work, *, release_id: str, reason: str) -> ReleaseView:
    """Nobody can download it any more; a request that it fulfilled is revoked."""
    raise NotImplementedError
