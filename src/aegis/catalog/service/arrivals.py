"""Releases on arrival: the file's hash checked against the certificate while it streams, then measured from scratch.

As with summaries, `incoming` takes in and checks, `receive` enters::

    with arrivals.incoming(catalog, actor, product="clinic", file=body, certificate=document, file_name="clinic.csv",
                           request_id=None) as checked, catalog.write(actor) as work:
        view = arrivals.receive(work, checked)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import select

from aegis.catalog import records
from aegis.catalog.database.storage import Draft, Stream
from aegis.catalog.database.tables import Configuration, Product, Release, Request, new_id
from aegis.catalog.service import jobs, judged_together
from aegis.catalog.service.catalog import Catalog, Work, room_left, visible_product
from aegis.catalog.service.certificates import (
    NOTHING,
    CertificateFacts,
    check_columns,
    check_promise,
    check_stated,
    check_terms,
    read_facts,
)
from aegis.catalog.service.configurations import masks_of
from aegis.catalog.service.permissions import Actor, Permission
from aegis.catalog.service.releases import check_meant_for, release_view
from aegis.catalog.service.seen_requests import effective_state, seen_request
from aegis.catalog.service.signing_keys import check_signed
from aegis.catalog.states import ReleaseState, RequestState, check_step
from aegis.errors import ConflictError, InputError, VerificationError
from aegis.masking.configuration_file import LABELS_ID
from aegis.releases.write import check_format

_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9 ._()+-]{0,150}")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedRelease:
    """A release whose bytes are those that its certificate names."""

    product_id: str
    request_id: str | None
    draft: Draft
    file_name: str
    facts: CertificateFacts
    signature: bytes | None = None


def check_push(catalog: Catalog, actor: Actor, *, product: str | None = None, request_id: str | None = None) -> None:
    """Raise unless the actor may push a release for this product or request: asked before a byte of it is read."""
    with catalog.read(actor) as work:
        _target(work, product, request_id)


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
    signature: bytes | None = None,
) -> Iterator[CheckedRelease]:
    """Take in a released file and its certificate, for an approved request or for the product as such.

    `VerificationError` where the certificate does not match the file, was changed, certifies another policy, is not
    signed by whoever pushes it where that is asked for, or was not judged together with earlier releases. The
    certificate is read first, the file after it. ``signature`` is the content of the .sig file beside the certificate.
    """
    with catalog.read(actor) as work:
        product_row, request = _target(work, product, request_id)
        if request is not None:
            _check_awaited(work, request)
        room = room_left(work, product_row.id, limit_bytes=catalog.settings.release_bytes)
    if not isinstance(file_name, str) or not _FILE_NAME.fullmatch(file_name):
        raise InputError("the file's name must be a plain one, like clinic.csv; rename it")
    check_format(Path(file_name))
    facts = read_facts(certificate, limit_bytes=catalog.settings.certificate_bytes)
    check_promise(facts, product_row)
    if request is not None:
        check_columns(facts.columns, request, product_row)
    check_meant_for(facts.content, request_id)
    with catalog.read(actor) as work:  # before gigabytes arrive; both are asked again when they have
        check_signed(work, certificate=facts.content, signature=signature, user_id=str(actor.user_id))
        awaited = None if request_id is None else seen_request(work, request_id)
        if awaited is not None:
            check_terms(awaited, product_row, facts.content)
        try:
            judged_together.check_arrival(
                work, product_row, certificate=facts.content, digest=facts.sha256, request=awaited
            )
            refused = None
        except VerificationError as error:
            refused = error
    if refused is not None:
        if request_id is not None:
            with catalog.write(actor) as work:
                judged_together.notify_refused(work, seen_request(work, request_id))
        raise refused
    draft = catalog.store.draft(file, limit_bytes=room)
    try:
        if draft.digest != facts.sha256:
            raise VerificationError("the file is not the one that was certified: its hash differs; push both again")
        catalog.store.stage(draft)
        yield CheckedRelease(
            product_id=product_row.id,
            request_id=request_id,
            draft=draft,
            file_name=file_name,
            facts=facts,
            signature=signature,
        )
    finally:
        catalog.store.discard(draft)


def receive(work: Work, checked: CheckedRelease) -> records.Release:
    """Enter the release and queue the job that measures it from scratch; downloads wait for that."""
    request = None if checked.request_id is None else seen_request(work, checked.request_id, lock=True)
    product = visible_product(work, checked.product_id, Permission.PUSH_RELEASE, lock=True)
    check_promise(checked.facts, product)  # the product may have changed meanwhile
    configuration_id = _configuration(work, product, request, checked.facts)
    if request is not None:
        check_columns(checked.facts.columns, request, product)
        check_terms(request, product, checked.facts.content)
        _check_awaited(work, request)
    certificate = checked.facts.content
    signature = check_signed(work, certificate=certificate, signature=checked.signature, user_id=work.user_id)
    judged_together.check_arrival(work, product, certificate=certificate, digest=checked.draft.digest, request=request)
    stored = work.keep(checked.draft)
    job_id = new_id()
    row = work.add(
        Release(
            product_id=product.id,
            configuration_id=configuration_id,
            request_id=checked.request_id,
            digest=stored.digest,
            bytes=stored.bytes,
            file_name=checked.file_name,
            certificate=certificate,
            certificate_digest=checked.facts.digest,
            signature=signature,
            state=ReleaseState.RECEIVED,
            job_id=job_id,
            pushed_by=work.user_id,
            created_at=work.now,
        )
    )
    jobs.enqueue(work, kind=jobs.VERIFY_RELEASE, product_id=product.id, subject_id=row.id, job_id=job_id)
    work.record(
        "release pushed",
        row,
        state=row.state,
        digest=row.digest,
        certificate=row.certificate_digest,
        request_id=row.request_id,
    )
    return release_view(work, row.id)


def _target(work: Work, product: str | None, request_id: str | None) -> tuple[Product, Request | None]:
    """The product and the request that are pushed for; what can be refused before the bytes arrive is refused here."""
    if request_id is None:
        if product is None:
            raise InputError("name the product or the request that the release is for")
        return visible_product(work, product, Permission.PUSH_RELEASE), None
    request = seen_request(work, request_id)
    product_row = visible_product(work, request.product_id, Permission.PUSH_RELEASE)
    if product is not None and visible_product(work, product).id != product_row.id:
        raise InputError("the request is for another product; name only one of them")
    return product_row, request


def _check_awaited(work: Work, request: Request) -> None:
    check_step(effective_state(request, work.now), RequestState.PROVISIONED, what="the request")
    waiting = select(Release.id).where(Release.request_id == request.id, Release.state == ReleaseState.RECEIVED)
    if work.session.scalar(waiting) is not None:
        raise ConflictError("a release for this request is being verified already; wait for its outcome")


def _configuration(work: Work, product: Product, request: Request | None, facts: CertificateFacts) -> str | None:
    configuration = work.session.scalar(
        select(Configuration).where(
            Configuration.product_id == product.id, Configuration.content_id == facts.configuration_id
        )
    )
    if configuration is not None:
        check_stated(facts.content, masks_of(configuration.content))
    elif LABELS_ID in facts.content["configuration"]:
        raise VerificationError("the certificate names labels of a configuration that nobody proposed here; propose it")
    if configuration is not None and configuration.withdrawn_at is not None:
        raise VerificationError("the file was masked by a configuration that was withdrawn; use one that is offered")
    if request is not None:
        if configuration is None or configuration.id != request.configuration_id:
            raise VerificationError("the file was masked by another configuration than the approved one; use that one")
        return configuration.id
    if configuration is None and facts.configuration_id != NOTHING:
        raise VerificationError("the file was masked by a configuration that nobody proposed here; propose it first")
    return None if configuration is None else configuration.id
