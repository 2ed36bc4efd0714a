"""Requests for access: the form, the inbox, and the page on which one is decided and fulfilled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from aegis.catalog.database.states import RequestState
from aegis.catalog.server.pages.paging import paging
from aegis.catalog.server.pages.product_part import Tab, head
from aegis.catalog.server.pages.rankings import ENDED, measure_choices, progress_words
from aegis.catalog.server.pages.request_choices import choices
from aegis.catalog.server.pages.routing import Door, get, post, sentence
from aegis.catalog.server.pages.timeline import timeline
from aegis.catalog.server.pages.visit import Visit
from aegis.catalog.service import configurations, jobs, products, releases, requests
from aegis.catalog.service.actor import UserRole
from aegis.catalog.service.asked_columns import column_list
from aegis.catalog.service.permissions import Permission, may, require
from aegis.catalog.service.views import JobView, ProductView, RequestView
from aegis.data.schema import Role
from aegis.errors import AegisError, ConflictError, GuaranteeError, InputError, NotFoundError, NotPermittedError

_STATES = {state.value for state in RequestState}


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """What stands in the request form."""

    purpose: str = ""
    columns: tuple[str, ...] = ()
    days: str = "90"
    measure: str = ""


def show_requests(visit: Visit) -> Response:
    return _list(visit, product=None)


def show_of_product(visit: Visit) -> Response:
    with visit.read() as work:
        product = products.product(work, product=visit.names["product"])
    require(visit.actor, Permission.SEE_REQUESTS, product.id)
    return _list(visit, product=product)


def _list(visit: Visit, *, product: ProductView | None) -> Response:
    state = visit.query.get("state", "")
    state = state if state in _STATES else ""
    mine = visit.query.get("mine") == "1"
    with visit.read() as work:
        page = requests.list_requests(
            work,
            product=product.id if product else None,
            state=state or None,
            mine=mine,
            page=visit.page_request,
        )
    works = visit.actor.products_as(UserRole.PROVIDER, UserRole.EXPERT) != frozenset()
    entries = [("All", ""), ("To decide" if works else "Waiting", "?state=PENDING")]
    entries += [("To fulfil" if works else "Approved", "?state=APPROVED"), ("Ready", "?state=PROVISIONED")]
    entries += [("My own", "?mine=1")] if works and product is None else []
    return visit.page(
        "product_requests.html" if product else "requests.html",
        **(head(visit, product) if product else {"title": "Requests"}),
        requests=page.items,
        paging=paging(visit, page),
        filters=[Tab(name=name, path=visit.path + query) for name, query in entries],
        filter_here=visit.path + (f"?state={state}" if state else "?mine=1" if mine else ""),
        filtered=bool(state) or mine,
        works=works,
    )


def show_form(visit: Visit) -> Response:
    return _form(visit, Values(), problem=None)


def ask(visit: Visit) -> Response:
    form = visit.form
    values = Values(
        purpose=form.text("purpose"),
        columns=form.texts("columns"),
        days=form.text("days"),
        measure=form.text("measure"),
    )
    try:
        if not values.columns:
            raise InputError("no column is ticked; tick what the purpose needs")  # noqa: TRY301
        with visit.write() as work:
            request = requests.ask(
                work,
                product=visit.names["product"],
                purpose=values.purpose,
                columns=values.columns,
                days=form.whole("days", what="the number of days"),
                measure=values.measure or None,
            )
    except (InputError, ConflictError) as error:
        return _form(visit, values, problem=error)
    return visit.go(f"/requests/{request.id}", "Your request is sent. An expert of the product decides on it.")


def _form(visit: Visit, values: Values, *, problem: AegisError | None) -> Response:
    with visit.read() as work:
        product = products.product(work, product=visit.names["product"])
    require(visit.actor, Permission.REQUEST_ACCESS, product.id)
    offered = [column for column in product.columns if column.role != Role.IDENTIFYING.value]
    chosen = values.columns if problem else tuple(column.name for column in offered)
    return visit.page(
        "request_form.html",
        status=problem.http_status if problem else 200,
        product=product,
        title=f"Request {product.title}",
        values=values,
        offered=offered,
        chosen=chosen,
        measures=[("", "leave it to the expert"), *measure_choices()[1:]],
        most_days=visit.catalog.settings.request_days,
        problem=sentence(problem) if problem else None,
    )


def show_request(visit: Visit) -> Response:
    return _page(visit, problem=None)


def _page(visit: Visit, *, problem: AegisError | None) -> Response:
    """The request with everything that this person can do about it now."""
    actor = visit.actor
    with visit.read() as work:
        request = requests.request(work, request_id=visit.names["request"])
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
    open_states = (RequestState.PENDING, RequestState.APPROVED, RequestState.PROVISIONED)
    running = job is not None and job.state not in ENDED
    return visit.page(
        "request.html",
        status=problem.http_status if problem else 200,
        title=f"Request for {request.product_title}",
        request=request,
        timeline=timeline(request),
        decides=decides,
        fulfils=fulfils,
        column_list=_column_list(request, product) if fulfils else None,
        choices=choices(listed, job),
        job=job,
        job_running=running,
        job_words=progress_words(job) if job is not None and running else "",
        may_advise=decides and may(actor, Permission.START_ADVICE, request.product_id),
        may_withdraw=mine and request.state in open_states,
        may_revoke=request.state in open_states[1:] and may(actor, Permission.REVOKE_REQUEST, request.product_id),
        values=visit.form,
        problem=sentence(problem) if problem else None,
    )


def _column_list(request: RequestView, product: ProductView) -> str | None:
    """What ``aegis release --columns`` must say; None where the request asks for everything."""
    wanted = [column.name for column in product.columns if column.name in request.columns]
    every = [column.name for column in product.columns if column.role != Role.IDENTIFYING]
    return None if wanted == every else column_list(wanted)


def _advice(work: Any, request: RequestView) -> JobView | None:
    """The ranking that was made for the request, else the product's latest."""
    if request.job_id is not None:
        try:
            return jobs.job(work, job_id=request.job_id)
        except NotFoundError:
            return None
    return jobs.latest_ranking(work, product=request.product_id)


def decide(visit: Visit) -> Response:
    form = visit.form
    approve = form.text("decision") == "approve"
    try:
        if form.text("decision") not in ("approve", "reject"):
            raise InputError("say whether to approve or to reject")  # noqa: TRY301
        with visit.write() as work:
            requests.decide(
                work,
                request_id=visit.names["request"],
                version=form.whole("version", what="the version"),
                approve=approve,
                configuration_id=(form.text("configuration") or None) if approve else None,
                reason=form.text("reason") or None,
            )
    except (InputError, ConflictError) as error:
        return _page(visit, problem=error)
    said = "Approved. The provider now makes the release." if approve else "Rejected."
    return visit.go(f"/requests/{visit.names['request']}", said)


def advise(visit: Visit) -> Response:
    """Rank for this request, by the measure that its consumer prefers."""
    ident = visit.names["request"]
    try:
        with visit.write() as work:
            request = requests.request(work, request_id=ident)
            job = jobs.start_advice(work, product=request.product_id, measure=request.measure, request_id=ident)
    except (InputError, ConflictError) as error:
        return _page(visit, problem=error)
    return visit.go(f"/jobs/{job.id}?request={ident}")


def withdraw(visit: Visit) -> Response:
    return _end(visit, by_consumer=True)


def revoke(visit: Visit) -> Response:
    return _end(visit, by_consumer=False)


def _end(visit: Visit, *, by_consumer: bool) -> Response:
    ident = visit.names["request"]
    try:
        version = visit.form.whole("version", what="the version")
        with visit.write() as work:
            if by_consumer:
                requests.withdraw(work, request_id=ident, version=version)
            else:
                requests.revoke(work, request_id=ident, reason=visit.form.text("reason"), version=version)
    except (InputError, ConflictError) as error:
        return _page(visit, problem=error)
    return visit.go(f"/requests/{ident}", "You took the request back." if by_consumer else "The access is revoked.")


def fulfil(visit: Visit) -> Response:
    """Take in the released file and its certificate from the form."""
    try:
        table = visit.form.file("file", what="the released file")
        document = visit.form.file("certificate", what="the certificate")
        with (
            releases.incoming(
                visit.catalog,
                visit.actor,
                request_id=visit.names["request"],
                file=table.stream,
                certificate=document.stream,
                file_name=table.name,
            ) as checked,
            visit.write() as work,
        ):
            view = releases.receive(work, checked)
    except (InputError, ConflictError, GuaranteeError, NotPermittedError) as error:
        return _page(visit, problem=error)
    said = "The file is the one that its certificate names; now it is measured again."
    return visit.go(f"/releases/{view.id}", said)


DOORS: tuple[Door, ...] = (
    get("/requests", show_requests),
    get("/products/{product}/requests", show_of_product),
    get("/products/{product}/request", show_form),
    post("/products/{product}/request", ask),
    get("/requests/{request}", show_request),
    post("/requests/{request}/decide", decide),
    post("/requests/{request}/advise", advise),
    post("/requests/{request}/withdraw", withdraw),
    post("/requests/{request}/revoke", revoke),
    post("/requests/{request}/release", fulfil, limit="release_bytes"),
)
