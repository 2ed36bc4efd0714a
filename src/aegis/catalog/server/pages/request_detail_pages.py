"""One request: what happened to it, and whatever this person can do about it now: decide, fulfil, end it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any

from starlette.responses import Response

from aegis.catalog import records
from aegis.catalog.records import Together
from aegis.catalog.server.lanes import costly
from aegis.catalog.server.pages.configuration_pages import masks_in_words
from aegis.catalog.server.pages.job_pages import ENDED, progress_words
from aegis.catalog.server.pages.page import PageContext, PageRoutes
from aegis.catalog.server.uploads import whole
from aegis.catalog.service import (
    arrivals,
    comments,
    configurations,
    jobs,
    judged_together,
    products,
    releases,
    requests,
)
from aegis.catalog.service.asked_columns import column_list
from aegis.catalog.service.permissions import Permission, may
from aegis.catalog.states import JobState, ReleaseState, RequestState
from aegis.data.schema import Role
from aegis.errors import AegisError, ConflictError, GuaranteeError, InputError, NotFoundError, NotPermittedError
from aegis.report.figures import kept

routes = PageRoutes()
_SIGNATURE_BYTES = 4_096


@routes.get("/requests/{request}", lane=costly)
def show_request(context: PageContext) -> Response:
    return _page(context, problem=None)


def _page(context: PageContext, *, problem: AegisError | None) -> Response:
    """The request with everything that this person can do about it now."""
    actor = context.actor
    with context.read() as work:
        request = requests.request(work, request_id=context.parameters["request"])
        mine = request.consumer_id == actor.user_id
        decides = (
            request.state is RequestState.PENDING
            and not mine
            and may(actor, Permission.DECIDE_REQUEST, request.product_id)
        )
        fulfils = request.state is RequestState.APPROVED and may(actor, Permission.PUSH_RELEASE, request.product_id)
        product = products.product(work, product=request.product_id)
        job = _advice(work, request) if may(actor, Permission.SEE_JOBS, request.product_id) else None
        listed = configurations.list_configurations(work, product=request.product_id) if decides else []
        out = _already_out(work, request.product_id, listed) if decides else []
        together = judged_together.standings_for(work, request_id=request.id) if decides else {}
        commented = comments.comments_of(work, request.id)
    open_states = (RequestState.PENDING, RequestState.APPROVED, RequestState.PROVISIONED)
    running = job is not None and job.state not in ENDED
    return context.render(
        "request.html",
        title=f"Request for {request.product_title}",
        request=request,
        timeline=timeline(request),
        decides=decides,
        fulfils=fulfils,
        column_list=_column_list(request, product) if fulfils else None,
        choices=choices(listed, job, together),
        some_break=any(each.standing is Together.BROKEN for each in together.values()),
        already_out=out,
        job=job,
        job_running=running,
        job_words=progress_words(job) if job is not None and running else "",
        may_advise=decides and may(actor, Permission.START_ADVICE, request.product_id),
        comments=commented,
        may_comment=may(actor, Permission.COMMENT, request.product_id),
        may_ask_again=mine
        and request.state is not RequestState.APPROVED
        and may(actor, Permission.REQUEST_ACCESS, request.product_id),
        may_withdraw=mine and request.state in open_states,
        may_reinstate=request.state is RequestState.EXPIRED and actor.is_admin,
        may_revoke=request.state in open_states[1:] and may(actor, Permission.REVOKE_REQUEST, request.product_id),
        values=context.form,
        problem=problem,
    )


def _already_out(work: Any, product_id: str, listed: Sequence[records.Configuration]) -> list[str]:
    """What was released from the product before, in words: a new release is judged together with all of it."""
    names = {configuration.id: configuration.name for configuration in listed}
    gone = [
        item for item in releases.list_releases(work, product=product_id).items if item.state is ReleaseState.VERIFIED
    ]
    return [
        f"{names.get(each.configuration_id or '', 'a configuration of its own')}, {each.created_at:%Y-%m-%d}"
        for each in gone
    ]


def _column_list(request: records.AccessRequest, product: records.Product) -> str | None:
    """What ``aegis release --columns`` must say; None where the request asks for everything."""
    columns = [column.name for column in product.columns if column.name in request.columns]
    every = [column.name for column in product.columns if column.role != Role.IDENTIFYING]
    return None if columns == every else column_list(columns)


def _advice(work: Any, request: records.AccessRequest) -> records.Job | None:
    """The ranking that was made for the request, else the product's latest."""
    if request.job_id is not None:
        try:
            return jobs.job(work, job_id=request.job_id)
        except NotFoundError:
            return None
    return jobs.latest_ranking(work, product=request.product_id)


@routes.post("/requests/{request}/comment")
def comment(context: PageContext) -> Response:
    ident = context.parameters["request"]
    try:
        with context.write() as work:
            comments.comment(work, request_id=ident, words=context.form.text("comment"))
    except (InputError, ConflictError) as error:
        return _page(context, problem=error)
    return context.redirect(f"/requests/{ident}#comments", "Your comment is there; the others are told.")


@routes.post("/requests/{request}/decide")
def decide(context: PageContext) -> Response:
    form = context.form
    approve = form.text("decision") == "approve"
    try:
        if form.text("decision") not in ("approve", "reject"):
            raise InputError("say whether to approve or to reject")  # noqa: TRY301
        with context.write() as work:
            requests.decide(
                work,
                request_id=context.parameters["request"],
                version=form.whole("version", what="the version"),
                approve=approve,
                configuration_id=(form.text("configuration") or None) if approve else None,
                reason=form.text("reason") or None,
                despite_ledger=(form.text("despite_ledger") or None) if approve else None,
            )
    except (InputError, ConflictError, GuaranteeError) as error:
        return _page(context, problem=error)
    notice = "Approved. The provider now makes the release." if approve else "Rejected."
    return context.redirect(f"/requests/{context.parameters['request']}", notice)


@routes.post("/requests/{request}/advise")
def advise(context: PageContext) -> Response:
    """Rank for this request, by the measure that its consumer prefers."""
    ident = context.parameters["request"]
    try:
        with context.write() as work:
            request = requests.request(work, request_id=ident)
            job = jobs.start_advice(work, product=request.product_id, measure=request.measure, request_id=ident)
    except (InputError, ConflictError) as error:
        return _page(context, problem=error)
    return context.redirect(f"/jobs/{job.id}?request={ident}")


@routes.post("/requests/{request}/withdraw")
def withdraw(context: PageContext) -> Response:
    return _end(context, by_consumer=True)


@routes.post("/requests/{request}/revoke")
def revoke(context: PageContext) -> Response:
    return _end(context, by_consumer=False)


def _end(context: PageContext, *, by_consumer: bool) -> Response:
    ident = context.parameters["request"]
    try:
        version = context.form.whole("version", what="the version")
        with context.write() as work:
            if by_consumer:
                requests.withdraw(work, request_id=ident, version=version)
            else:
                requests.revoke(work, request_id=ident, reason=context.form.text("reason"), version=version)
    except (InputError, ConflictError) as error:
        return _page(context, problem=error)
    return context.redirect(
        f"/requests/{ident}", "You took the request back." if by_consumer else "The access is revoked."
    )


@routes.post("/requests/{request}/reinstate")
def reinstate(context: PageContext) -> Response:
    """Undo that the request expired: a clock may have been wrong."""
    ident = context.parameters["request"]
    try:
        days = context.form.whole("days", what="the number of days")
        with context.write() as work:
            requests.reinstate(work, request_id=ident, days=days)
    except (InputError, ConflictError) as error:
        return _page(context, problem=error)
    return context.redirect(f"/requests/{ident}", "The request counts again.")


@routes.post("/requests/{request}/release", upload=True)
def fulfil(context: PageContext) -> Response:
    """Take in the released file and its certificate from the form."""
    try:
        arrivals.check_push(context.catalog, context.actor, request_id=context.parameters["request"])
        certificate = context.form.file("certificate", what="the certificate")
        document = whole(certificate.stream, limit_bytes=context.catalog.settings.certificate_bytes)
        signature = None
        if context.form.has_file_of("signature"):
            signed = context.form.file("signature", what="the signature")
            signature = whole(signed.stream, limit_bytes=_SIGNATURE_BYTES)
        table = context.form.file("file", what="the released file")
        with (
            arrivals.incoming(
                context.catalog,
                context.actor,
                request_id=context.parameters["request"],
                file=table.stream,
                certificate=[document],
                file_name=table.name,
                signature=signature,
            ) as checked,
            context.write() as work,
        ):
            view = arrivals.receive(work, checked)
    except (InputError, ConflictError, GuaranteeError, NotPermittedError) as error:
        return _page(context, problem=error)
    notice = "The file is the one that its certificate names; now it is measured again."
    return context.redirect(f"/releases/{view.id}", notice)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A configuration that an expert may approve."""

    id: str
    name: str
    words: str
    note: str
    together: records.TogetherStanding | None = None


def choices(
    listed: list[records.Configuration],
    job: records.Job | None,
    together: Mapping[str, records.TogetherStanding] = MappingProxyType({}),
) -> list[Choice]:
    """Ranked configurations first, from best to worst; what breaks the policy with earlier releases comes last."""
    ranks: dict[str, tuple[int, str]] = {}
    kept_out: set[str] = set()
    if job is not None and job.state is JobState.DONE and job.result:
        ranking = jobs.ranking_of(job)
        kept_out = set(ranking.rejected)
        for entry in ranking.ranking:
            share = entry.retained if entry.kept is None else entry.kept
            note = f"place {entry.rank}" + ("" if share is None else f", keeps {kept(share)}")
            ranks[entry.id] = (entry.rank, note + (", like the first" if entry.like_best and entry.rank > 1 else ""))
    broken = {ident for ident, each in together.items() if each.standing is Together.BROKEN}
    ordered = sorted(
        listed, key=lambda each: (each.id in broken, ranks.get(each.content_id, (10**9, ""))[0], each.name)
    )
    return [
        Choice(
            id=configuration.id,
            name=configuration.name,
            words=masks_in_words(configuration),
            note=ranks.get(configuration.content_id, (0, _unranked(configuration, kept_out)))[1]
            + (", not beside earlier releases" if configuration.id in broken else ""),
            together=together.get(configuration.id),
        )
        for configuration in ordered
    ]


def _unranked(configuration: records.Configuration, kept_out: set[str]) -> str:
    return "the policy keeps it out" if configuration.name in kept_out else "not ranked"


_NEXT = {
    RequestState.PENDING: "An expert of the product decides.",
    RequestState.APPROVED: "The provider makes the release and pushes it.",
}
_GOOD = ("approved", "provisioned", "verified")
_BAD = ("rejected", "revoked", "refused", "failed", "withdrawn", "expired", "not made")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing that happened, or the one that is awaited."""

    words: str
    actor: str
    at: datetime | None
    tone: str
    note: str = ""


def timeline(request: records.RequestWithHistory) -> list[Step]:
    """The history from the first step on; what is awaited stands last."""
    steps = [
        Step(
            words=entry.action[:1].upper() + entry.action[1:],
            actor=entry.actor,
            at=entry.at,
            tone=_tone(entry.action),
            note=_note(entry.details),
        )
        for entry in sorted(request.history, key=lambda entry: entry.sequence)
    ]
    if request.state is RequestState.EXPIRED and not any("expired" in entry.action for entry in request.history):
        steps.append(Step(words="Expired", actor="", at=request.expires_at, tone="bad"))
    if request.state in _NEXT:
        steps.append(Step(words=_NEXT[request.state], actor="", at=None, tone="next"))
    if request.state is RequestState.PROVISIONED:
        steps.append(Step(words="The access ends.", actor="", at=request.expires_at, tone="next"))
    return steps


def _tone(action: str) -> str:
    if any(word in action for word in _BAD):
        return "bad"
    return "good" if any(word in action for word in _GOOD) else ""


def _note(details: object) -> str:
    """The part of the record that people want to read: a reason, a configuration."""
    if not hasattr(details, "get"):
        return ""
    parts = [str(details.get(key)) for key in ("configuration", "reason") if details.get(key)]
    return "; ".join(parts)
