"""Releases that are in the catalog: seen, downloaded, given to a request, withdrawn; where they come from and went."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

from sqlalchemy import BindParameter, Select, bindparam, func, or_, select

from aegis.catalog import records
from aegis.catalog.database.tables import (
    Configuration,
    Download,
    Job,
    Product,
    Release,
    Request,
    Summary,
    User,
    UtcTime,
    is_id,
)
from aegis.catalog.records import Page, Standing, record_of
from aegis.catalog.service import jobs, judged_together, ledger
from aegis.catalog.service.catalog import Work, by_id, locked, visible_product
from aegis.catalog.service.certificates import check_columns, check_terms, present_policy
from aegis.catalog.service.checks import checked_text
from aegis.catalog.service.notifications import NotificationKind, notify_of_request
from aegis.catalog.service.paging import FIRST, PageRequest, page_of
from aegis.catalog.service.permissions import Permission, may, require
from aegis.catalog.service.requests import move, notify_revoked
from aegis.catalog.service.seen_requests import effective_state, in_state, seen_request
from aegis.catalog.service.signing_keys import check_still_signed
from aegis.catalog.states import JobState, ReleaseState, RequestState, check_step
from aegis.errors import ConflictError, NotFoundError, VerificationError


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedRelease:
    """A release to be downloaded; whoever gets it closes ``stream``."""

    release: records.Release
    stream: BinaryIO


def fulfil(work: Work, *, request_id: str, release_id: str) -> records.Release:
    """Give an approved request a verified release of the same configuration that is there already."""
    request = seen_request(work, request_id, Permission.PUSH_RELEASE, lock=True)
    row = by_id(work, Release, release_id, lock=True)
    if row is None or row.product_id != request.product_id:
        raise NotFoundError("there is no such release of this product; look at its list of releases")
    if row.state != ReleaseState.VERIFIED:
        raise ConflictError("only a verified release fulfils a request; push another one")
    if row.configuration_id is None or row.configuration_id != request.configuration_id:
        raise ConflictError("the release was made with another configuration than the approved one; push one with that")
    product = locked(work, Product, row.product_id)  # from here on nothing else enters its ledger
    check_columns(row.certificate["release"]["columns"], request, product)
    check_terms(request, product, row.certificate)
    check_meant_for(row.certificate, request.id)
    check_still_signed(work, row)
    present = present_policy(row.certificate, product)
    if present.standing is not Standing.SATISFIED:
        raise ConflictError(f"the release cannot fulfil a request any more: {present.said}")
    judged_together.check_fulfilment(work, product, request, row)
    provision(work, request, row)
    ledger.enter(work, row, recipient=request.consumer_id, despite=request.despite)
    return release_view(work, row.id)


def provision(work: Work, request: Request, row: Release) -> None:
    """The request is fulfilled by the release; both are locked."""
    move(work, request, RequestState.PROVISIONED)
    request.release_id = row.id
    request.expires_at = work.now + datetime.timedelta(days=request.days)
    work.record("request provisioned", request, state=request.state, release_id=row.id)
    work.session.flush()
    ready = "The release of {product} that you asked for is ready."
    notify_of_request(work, [request.consumer_id], NotificationKind.READY, request, ready)


def open_download(work: Work, *, release_id: str) -> OpenedRelease:
    """Open a verified release for somebody who may have it, and put the download on the record (a write).

    Downloads share the release among them, and whoever withdraws it waits for them: one that was taken counts for good.
    """
    seen = _seen(work, release_id, share=True)
    row = seen.row
    if row.state != ReleaseState.VERIFIED:
        raise ConflictError(f"the release is {row.state}, and only verified ones can be downloaded")
    if seen.provisioned_request is None:
        require(work.actor, Permission.SEE_RELEASES, row.product_id)
    taken = Download(release_id=row.id, request_id=seen.provisioned_request, user_id=work.user_id, at=work.now)
    work.session.add(taken)
    standing = seen.record.present_policy.standing.value
    work.record(
        "release downloaded", row, state=row.state, request_id=seen.provisioned_request, present_policy=standing
    )
    record = replace(seen.record, downloads=seen.record.downloads + 1)
    return OpenedRelease(release=record, stream=work.store.open(row.digest))


def withdraw(work: Work, *, release_id: str, reason: str) -> records.Release:
    """Nobody can download it any more; every request that it fulfilled is revoked."""
    seen = _seen(work, release_id).row
    require(work.actor, Permission.WITHDRAW_RELEASE, seen.product_id)
    checked = checked_text(reason, what="the reason", least=1, most=5_000)
    # Requests before releases, as everywhere: two who lock the same things in one order never wait for each other.
    fulfilled = work.session.scalars(
        select(Request)
        .where(or_(Request.release_id == seen.id, Request.id == seen.request_id))
        .order_by(Request.id)
        .with_for_update(key_share=True)
    ).all()
    row = locked(work, Release, seen.id)
    check_step(row.state, ReleaseState.WITHDRAWN, what="the release")
    was_out = row.state == ReleaseState.VERIFIED
    row.state, row.reason = ReleaseState.WITHDRAWN, checked
    work.record("release withdrawn", row, state=row.state)
    job = None if row.job_id is None else by_id(work, Job, row.job_id, lock=True)
    if job is not None and job.state in (JobState.QUEUED, JobState.RUNNING):
        jobs.take_out(work, job)  # nobody needs to know any more whether it holds
    if was_out:
        taken = work.session.scalar(select(func.count()).select_from(Download).where(Download.release_id == row.id))
        ledger.note_withdrawal(work, row, taken=bool(taken))
    for request in fulfilled:
        if request.release_id == row.id and effective_state(request, work.now) is RequestState.PROVISIONED:
            move(work, request, RequestState.REVOKED)
            request.reason = "its release was withdrawn"
            work.record("request revoked", request, state=request.state, release_id=row.id)
            notify_revoked(work, request)
    work.session.flush()
    return release_view(work, row.id)


def check_meant_for(certificate: Mapping[str, Any], request_id: str | None) -> None:
    """Raise where the certificate says that the release was made for another request."""
    meant = certificate.get("for")
    if meant is not None and meant != request_id:
        raise VerificationError("the certificate says that the release was made for another request; release it again")


def release(work: Work, *, release_id: str) -> records.Release:
    """One release with its certificate."""
    return _seen(work, release_id).record


def list_releases(
    work: Work, *, product: str, state: ReleaseState | None = None, page: PageRequest = FIRST
) -> Page[records.Release]:
    """The releases of a product that one may see, the newest first."""
    product_row = visible_product(work, product)
    query = _selected().where(Release.product_id == product_row.id)
    if state is not None:
        query = query.where(Release.state == state)
    if not may(work.actor, Permission.SEE_RELEASES, product_row.id):
        of_mine = select(Request.release_id).where(Request.consumer_id == work.actor.user_id)
        query = query.where(Release.id.in_(of_mine)).add_columns(*_own).params(me=work.actor.user_id)
    return page_of(work.session, query, _as_view, keys=(Release.created_at, Release.id), page=page, descending=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """A release that the actor may know of, and the request of theirs that it fulfils now."""

    row: Release
    record: records.Release
    provisioned_request: str | None


def _seen(work: Work, release_id: str, *, share: bool = False) -> _Seen:
    """Everything about a release in one statement; `NotFoundError` for those who must not know of it.

    With ``share`` nobody changes the release before this transaction ends.
    """
    actor = work.actor
    require(actor, Permission.SEE_CATALOG)
    values = {"id": release_id, "me": actor.user_id, "now": work.now}
    query = _SEEN_SHARED if share else _SEEN
    answer = work.session.execute(query, values).one_or_none() if is_id(release_id) else None
    if answer is not None:
        row, product, pushed_by, downloads, own, request_id, *of_consumer = answer
        in_scope = actor.token_product in (None, row.product_id)
        works_on_it = may(actor, Permission.SEE_RELEASES, row.product_id)
        if in_scope and (works_on_it or (own and may(actor, Permission.DOWNLOAD, row.product_id))):
            record = _as_view(row, product, pushed_by, downloads, *(() if works_on_it else of_consumer))
            return _Seen(row=row, record=record, provisioned_request=request_id)
    raise NotFoundError("there is no such release; look at the product's list")


def _selected() -> Select[*tuple[Any, ...]]:
    taken = select(func.count()).where(Download.release_id == Release.id).scalar_subquery()
    return (
        select(Release, Product, User.name, taken)
        .join(Product, Product.id == Release.product_id)
        .join(User, User.id == Release.pushed_by)
    )


_me: BindParameter[Any] = bindparam("me")
_own = (
    select(Request.id).where(Request.id == Release.request_id, Request.consumer_id == _me).scalar_subquery(),
    select(func.count()).where(Download.release_id == Release.id, Download.user_id == _me).scalar_subquery(),
)
"""The request of the one who asks, where the release was made for it, and how often they took it."""
_of_mine = (Request.consumer_id == _me, Request.release_id == Release.id)
_provisioned_now = in_state(RequestState.PROVISIONED, bindparam("now", type_=UtcTime()))
_SEEN = (
    _selected()
    .add_columns(
        select(func.count()).where(*_of_mine).scalar_subquery(),
        select(func.min(Request.id)).where(*_of_mine, _provisioned_now).scalar_subquery(),
        *_own,
    )
    .where(Release.id == bindparam("id"))
)
_SEEN_SHARED = _SEEN.with_for_update(read=True, of=Release).execution_options(populate_existing=True)


def release_view(work: Work, release_id: str) -> records.Release:
    return _as_view(*work.session.execute(_selected().where(Release.id == release_id)).one())


def _as_view(row: Release, product: Product, pushed_by: str, downloads: int, *of_consumer: Any) -> records.Release:
    """A release as those see it who work on its product, or with `_own` as its consumer does.

    A consumer sees neither whose request it was made for, unless it is their own, nor how often others took it, nor
    what attacks found, which names other releases.
    """
    request_id, taken = of_consumer or (row.request_id, downloads)
    return record_of(
        records.Release,
        row,
        product_name=product.name,
        request_id=request_id,
        pushed_by=pushed_by,
        downloads=taken,
        present_policy=_standing(row, product),
        signed_by=None if row.signature is None else row.signature["key"],
        attacks=() if of_consumer else tuple(records.ArrivalAttack(**attack) for attack in row.attacks or ()),
    )


_MOST_STANDINGS = 4_096
_standings: dict[tuple[str, str], records.PresentPolicy] = {}


def _standing(row: Release, product: Product) -> records.PresentPolicy:
    """How the release stands to the product's policy; worked out once for each certificate and state of the product."""
    key = (row.certificate_digest, json.dumps([product.policy, product.columns, product.label]))
    standing = _standings.get(key)
    if standing is None:
        if len(_standings) >= _MOST_STANDINGS:
            _standings.clear()
        standing = _standings[key] = present_policy(row.certificate, product)
    return standing


# Where a release comes from and where it went: counts → configuration → release → who holds it, and its versions

_MOST_LISTED = 50


def lineage(work: Work, *, release_id: str) -> records.Lineage:
    """Where a release comes from, its versions, and who holds it.

    Others than oneself are named to those who work on the product.
    """
    seen = release(work, release_id=release_id)
    counted = (
        select(func.max(Summary.created_at))
        .where(Summary.product_id == seen.product_id, Summary.created_at <= seen.created_at)
        .scalar_subquery()
    )
    masked_by = select(Configuration.name).where(Configuration.id == seen.configuration_id).scalar_subquery()
    counts_at, name = work.session.execute(select(counted, masked_by)).one()
    return records.Lineage(
        source_name=str(seen.certificate["source"]["name"]),
        source_rows=int(seen.certificate["source"]["rows"]),
        counts_at=counts_at,
        configuration_name=name,
        holders=_holders(work, seen),
        versions=_versions(work, seen),
    )


def _versions(work: Work, seen: records.Release) -> tuple[records.ReleaseVersion, ...]:
    """Releases of the same product with the same configuration that the actor may see, the newest first."""
    query = (
        select(Release.id, Release.file_name, Release.state, Release.created_at)
        .where(Release.product_id == seen.product_id, Release.configuration_id == seen.configuration_id)
        .order_by(Release.created_at.desc(), Release.id)
        .limit(_MOST_LISTED)
    )
    if not may(work.actor, Permission.SEE_RELEASES, seen.product_id):
        of_mine = select(Request.release_id).where(Request.consumer_id == work.actor.user_id)
        query = query.where(Release.id.in_(of_mine))
    return tuple(record_of(records.ReleaseVersion, row) for row in work.session.execute(query))


def _holders(work: Work, seen: records.Release) -> tuple[records.Holder, ...]:
    taken = (
        select(func.count())
        .where(Download.release_id == seen.id, Download.user_id == Request.consumer_id)
        .correlate(Request)
        .scalar_subquery()
    )
    query = (
        select(Request, User.name, User.display_name, taken)
        .join(User, User.id == Request.consumer_id)
        .where(or_(Request.release_id == seen.id, Request.id == seen.request_id))
        .order_by(Request.created_at, Request.id)
        .limit(_MOST_LISTED)
    )
    if not may(work.actor, Permission.SEE_RELEASES, seen.product_id):
        query = query.where(Request.consumer_id == work.actor.user_id)
    return tuple(
        records.Holder(
            request_id=row.id,
            name=name,
            display_name=display_name,
            state=effective_state(row, work.now),
            downloads=downloads,
            expires_at=row.expires_at,
        )
        for row, name, display_name, downloads in work.session.execute(query)
    )
