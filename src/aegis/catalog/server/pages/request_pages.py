"""Requests for access: the inbox, and the form for a new one."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import Response

from aegis.catalog import records
from aegis.catalog.records import UserRole
from aegis.catalog.server.pages.job_pages import measure_choices
from aegis.catalog.server.pages.page import PageContext, PageRoutes
from aegis.catalog.server.pages.product_head import Tab, head
from aegis.catalog.service import products, requests
from aegis.catalog.service.permissions import Permission, require
from aegis.catalog.states import RequestState
from aegis.data.schema import Role
from aegis.errors import AegisError, ConflictError, InputError

routes = PageRoutes()

_STATES = {state.value for state in RequestState}


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """What stands in the request form."""

    purpose: str = ""
    columns: tuple[str, ...] = ()
    days: str = "90"
    measure: str = ""
    again: str = ""
    """The request that this one comes after."""


@routes.get("/requests")
def show_requests(context: PageContext) -> Response:
    return _list(context, product=None)


@routes.get("/products/{product}/requests")
def show_of_product(context: PageContext) -> Response:
    with context.read() as work:
        product = products.product(work, product=context.parameters["product"])
    require(context.actor, Permission.SEE_REQUESTS, product.id)
    return _list(context, product=product)


def _list(context: PageContext, *, product: records.Product | None) -> Response:
    state = context.query.get("state", "")
    state = state if state in _STATES else ""
    mine = context.query.get("mine") == "1"
    with context.read() as work:
        page = requests.list_requests(
            work,
            product=product.id if product else None,
            state=state or None,
            mine=mine,
            page=context.page_request,
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
    again = context.query.get("again", "")
    if not again:
        return _form(context, Values(), problem=None)
    with context.read() as work:
        before = requests.request(work, request_id=again)
    values = Values(
        purpose=before.purpose,
        columns=before.columns,
        days=str(before.days),
        measure=before.measure or "",
        again=before.id,
    )
    return _form(context, values, problem=None)


@routes.post("/products/{product}/request")
def ask(context: PageContext) -> Response:
    form = context.form
    values = Values(
        purpose=form.text("purpose"),
        columns=form.texts("columns"),
        days=form.text("days"),
        measure=form.text("measure"),
        again=form.text("again"),
    )
    try:
        if not values.columns:
            raise InputError("no column is ticked; tick what the purpose needs")  # noqa: TRY301
        with context.write() as work:
            requests.take_back_waiting(work, request_id=values.again)
            request = requests.ask(
                work,
                product=context.parameters["product"],
                purpose=values.purpose,
                columns=values.columns,
                days=form.whole("days", what="the number of days"),
                measure=values.measure or None,
            )
    except (InputError, ConflictError) as error:
        return _form(context, values, problem=error)
    return context.redirect(f"/requests/{request.id}", "Your request is sent. An expert of the product decides on it.")


def _form(context: PageContext, values: Values, *, problem: AegisError | None) -> Response:
    with context.read() as work:
        product = products.product(work, product=context.parameters["product"])
    require(context.actor, Permission.REQUEST_ACCESS, product.id)
    offered = [column for column in product.columns if column.role != Role.IDENTIFYING.value]
    chosen = values.columns if problem or values.again else tuple(column.name for column in offered)
    return context.render(
        "request_form.html",
        product=product,
        title=f"Request {product.title}",
        values=values,
        offered=offered,
        chosen=chosen,
        measures=[("", "leave it to the expert"), *measure_choices()[1:]],
        most_days=context.catalog.settings.request_days,
        problem=problem,
    )
