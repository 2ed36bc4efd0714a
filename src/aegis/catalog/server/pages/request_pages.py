"""Requests for access: the inbox, the form for a new one, and one with all that this person can do about it now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any

from starlette.responses import Response

from aegis.catalog import records
from aegis.catalog.records import Together, UserRole
from aegis.catalog.server.limits import costly_lane
from aegis.catalog.server.pages.configuration_pages import masks_in_words
from aegis.catalog.server.pages.job_pages import measure_choices, progress_words
from aegis.catalog.server.pages.page import PageContext, PageRoutes
from aegis.catalog.server.pages.product_pages import Tab, head, product_of
from aegis.catalog.server.uploads import SIGNATURE_BYTES, Form, whole
from aegis.catalog.service import (
    arrivals,
    configurations,
    jobs,
    judged_together,
    products,
    releases,
    requests,
    seen_requests,
)
from aegis.catalog.service.certificates import column_list
from aegis.catalog.service.permissions import Permission, may
from aegis.catalog.states import JobState, ReleaseState, RequestState
from aegis.data.schema import Role
from aegis.errors import InputError, NotFoundError, NotPermittedError
from aegis.report.figures import kept

routes = PageRoutes()


@routes.get("/requests")
def show_requests(context: PageContext) -> Response:
    return _list(context, product=None)


@routes.get("/products/{product}/requests")
def show_of_product(context: PageContext) -> Response:
    with context.read() as work:
        product = product_of(context, work, Permission.SEE_REQUESTS)
    return _list(context, product=product)


def _list(context: PageContext, *, product: records.Product | None) -> Response:
    state = context.query.get("state", "")
    state = state if state in set(RequestState) else ""
    mine = context.query.get("mine") == "1"
    with context.read() as work:
        page = seen_requests.list_requests(
            work, product=product.id if product else None, state=state or None, mine=mine, page=context.page_request
        )
    works = context.actor.products_as(UserRole.PROVIDER, UserRole.EXPERT) != frozenset()
    entries = [("All", ""), ("To decide" if works else "Waiting", "?state=PENDING")]
    entries += [("To fulfil" if works else "Approved", "?state=APPROVED"), ("Ready", "?state=PROVISIONED")]
    entries += [("My own", "?mine=1")] if works and product is None else []
    return context.render(
        "product_requests.html" if product else "requests.html",
        **(head(context, product) if product else {"title": "Requests"}),
        requests=page.items,
        paging=context.paging(page),
        filters=[Tab(name=name, path=context.path + query) for name, query in entries],
        filter_here=context.path + (f"?state={state}" if state else "?mine=1" if mine else ""),
        filtered=bool(state) or mine,
        works=works,
    )


@routes.get("/products/{product}/request")
def show_form(context: PageContext) -> Response:
    """An empty form, or with ``again`` one that is filled in as an earlier request of one's own was."""
    values, again = context.form, context.query.get("again", "")
    with context.read() as work:
        product = product_of(context, work, Permission.REQUEST_ACCESS)
        if again and not context.problem:
            values = _filled_in(seen_requests.request(work, request_id=again))
    offered = [column for column in product.columns if column.role != Role.IDENTIFYING.value]
    is_fresh = not values.fields
    return context.render(
        "request_form.html",
        product=product,
        title=f"Request {product.title}",
        values=values,
        offered=offered,
        chosen=tuple(column.name for column in offered) if is_fresh else values.texts("columns"),
        measures=[("", "leave it to the expert"), *measure_choices()[1:]],
        most_days=context.catalog.settings.request_days,
    )


def _filled_in(before: records.AccessRequest) -> Form:
    """The form as an earlier request was; ``again`` names the request that this one comes after."""
    texts = {"purpose": before.purpose, "days": str(before.days), "measure": before.measure or "", "again": before.id}
    return Form(fields={"columns": before.columns, **{name: (text,) for name, text in texts.items()}})


@routes.post("/products/{product}/request", refused=show_form)
def ask(context: PageContext) -> Response:
    form = context.form
    if not form.texts("columns"):
        raise InputError("no column is ticked; tick what the purpose needs")
    with context.write() as work:
        requests.take_back_waiting(work, request_id=form.text("again"))
        request = requests.ask(
            work,
            product=context.parameters["product"],
            purpose=form.text("purpose"),
            columns=form.texts("columns"),
            days=form.whole("days", what="the number of days"),
            measure=form.text("measure") or None,
        )
    return context.redirect(f"/requests/{request.id}", "Your request is sent. An expert of the product decides on it.")


# One request


@routes.get("/requests/{request}", lane=costly_lane)
def show_request(context: PageContext) -> Response:
    """The request with everything that this person can do about it now."""
    with context.read() as work:
        request = seen_requests.request(work, request_id=context.parameters["request"])

        def may_do(permission: Permission) -> bool:
            return may(context.actor, permission, request.product_id)

        mine = request.consumer_id == context.actor.user_id
        decides = request.state is RequestState.PENDING and not mine and may_do(Permission.DECIDE_REQUEST)
        fulfils = request.state is RequestState.APPROVED and may_do(Permission.PUSH_RELEASE)
        product = products.product(work, product=request.product_id)
        job = _advice(work, request) if may_do(Permission.SEE_JOBS) else None
        listed = configurations.list_configurations(work, product=request.product_id) if decides else []
        out = _already_out(work, request.product_id, listed) if decides else []
        together = judged_together.standings_for(work, request_id=request.id) if decides else {}
        commented = requests.comments_of(work, request.id)
    open_states = (RequestState.PENDING, RequestState.APPROVED, RequestState.PROVISIONED)
    running = job is not None and not job.ended
    return context.render(
        "request.html",
        title=f"Request for {request.product_title}",
        request=request,
        timeline=timeline(request),
        decides=decides,
        fulfils=fulfils,
        column_list=_column_list(request, product) if fulfils else None,
        choices=choices(listed, job, together),
        some_break=any(standing.standing is Together.BROKEN for standing in together.values()),
        already_out=out,
        job=job,
        job_running=running,
        job_words=progress_words(job) if job is not None and running else "",
        may_advise=decides and may_do(Permission.START_ADVICE),
        comments=commented,
        may_comment=may_do(Permission.COMMENT),
        may_ask_again=mine and request.state is not RequestState.APPROVED and may_do(Permission.REQUEST_ACCESS),
        may_withdraw=mine and request.state in open_states,
        may_reinstate=request.state is RequestState.EXPIRED and context.actor.is_admin,
        may_revoke=request.state in open_states[1:] and may_do(Permission.REVOKE_REQUEST),
        values=context.form,
    )


def _already_out(work: Any, product_id: str, listed: Sequence[records.Configuration]) -> list[str]:
    """What was released from the product before, in words: a new release is judged together with all of it."""
    names = {configuration.id: configuration.name for configuration in listed}
    return [
        f"{names.get(release.configuration_id or '', 'a configuration of its own')}, {release.created_at:%Y-%m-%d}"
        for release in releases.list_releases(work, product=product_id, state=ReleaseState.VERIFIED).items
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


@routes.post("/requests/{request}/comment", refused=show_request)
def comment(context: PageContext) -> Response:
    ident = context.parameters["request"]
    with context.write() as work:
        requests.comment(work, request_id=ident, words=context.form.text("comment"))
    return context.redirect(f"/requests/{ident}#comments", "Your comment is there; the others are notified.")


@routes.post("/requests/{request}/decide", refused=show_request)
def decide(context: PageContext) -> Response:
    form, ident = context.form, context.parameters["request"]
    if form.text("decision") not in ("approve", "reject"):
        raise InputError("say whether to approve or to reject")
    approve = form.text("decision") == "approve"
    with context.write() as work:
        requests.decide(
            work,
            request_id=ident,
            version=form.whole("version", what="the version"),
            approve=approve,
            configuration_id=(form.text("configuration") or None) if approve else None,
            reason=form.text("reason") or None,
            despite_ledger=(form.text("despite_ledger") or None) if approve else None,
        )
    notice = "Approved. The provider now makes the release." if approve else "Rejected."
    return context.redirect(f"/requests/{ident}", notice)


@routes.post("/requests/{request}/advise", refused=show_request)
def advise(context: PageContext) -> Response:
    """Rank for this request, by the measure that its consumer prefers."""
    ident = context.parameters["request"]
    with context.write() as work:
        request = seen_requests.request(work, request_id=ident)
        job = jobs.start_advice(work, product=request.product_id, measure=request.measure, request_id=ident)
    return context.redirect(f"/jobs/{job.id}?request={ident}")


@routes.post("/requests/{request}/withdraw", refused=show_request)
def withdraw(context: PageContext) -> Response:
    ident = context.parameters["request"]
    with context.write() as work:
        requests.withdraw(work, request_id=ident, version=context.form.whole("version", what="the version"))
    return context.redirect(f"/requests/{ident}", "You took the request back.")


@routes.post("/requests/{request}/revoke", refused=show_request)
def revoke(context: PageContext) -> Response:
    form, ident = context.form, context.parameters["request"]
    version = form.whole("version", what="the version")
    with context.write() as work:
        requests.revoke(work, request_id=ident, reason=form.text("reason"), version=version)
    return context.redirect(f"/requests/{ident}", "The access is revoked.")


@routes.post("/requests/{request}/reinstate", refused=show_request)
def reinstate(context: PageContext) -> Response:
    """Undo that the request expired: a clock may have been wrong."""
    ident = context.parameters["request"]
    with context.write() as work:
        requests.reinstate(work, request_id=ident, days=context.form.whole("days", what="the number of days"))
    return context.redirect(f"/requests/{ident}", "The request counts again.")


@routes.post("/requests/{request}/release", upload=True, refused=show_request, also=(NotPermittedError,))
def fulfil(context: PageContext) -> Response:
    """Take in the released file and its certificate from the form."""
    form, ident = context.form, context.parameters["request"]
    arrivals.check_push(context.catalog, context.actor, request_id=ident)
    certificate = form.file("certificate", what="the certificate")
    document = whole(certificate.stream, limit_bytes=context.catalog.settings.certificate_bytes)
    signature = None
    if form.has_file_of("signature"):
        signed = form.file("signature", what="the signature")
        signature = whole(signed.stream, limit_bytes=SIGNATURE_BYTES)
    table = form.file("file", what="the released file")
    with (
        arrivals.incoming(
            context.catalog,
            context.actor,
            request_id=ident,
            file=table.stream,
            certificate=[document],
            file_name=table.name,
            signature=signature,
        ) as checked,
        context.write() as work,
    ):
        release = arrivals.receive(work, checked)
    notice = "The file is the one that its certificate names; now it is measured again."
    return context.redirect(f"/releases/{release.id}", notice)


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
    broken = {ident for ident, standing in together.items() if standing.standing is Together.BROKEN}
    unranked = ((10**9, "not ranked"), (10**9, "the policy keeps it out"))

    def order(configuration: records.Configuration) -> tuple[bool, int, str]:
        rank, _ = ranks.get(configuration.content_id, unranked[0])
        return configuration.id in broken, rank, configuration.name

    return [
        Choice(
            id=configuration.id,
            name=configuration.name,
            words=masks_in_words(configuration),
            note=ranks.get(configuration.content_id, unranked[configuration.name in kept_out])[1]
            + (", not beside earlier releases" if configuration.id in broken else ""),
            together=together.get(configuration.id),
        )
        for configuration in sorted(listed, key=order)
    ]


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
