"""Requests for access: the inbox, and the form for a new one."""

from __future__ import annotations

from starlette.responses import Response

from aegis.catalog import records
from aegis.catalog.records import UserRole
from aegis.catalog.server.pages.job_pages import measure_choices
from aegis.catalog.server.pages.page import PageContext, PageRoutes
from aegis.catalog.server.pages.product_head import Tab, head, product_of
from aegis.catalog.server.uploads import Form
from aegis.catalog.service import requests
from aegis.catalog.service.permissions import Permission
from aegis.catalog.states import RequestState
from aegis.data.schema import Role
from aegis.errors import InputError

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
    values, again = context.form, context.query.get("again", "")
    with context.read() as work:
        product = product_of(context, work, Permission.REQUEST_ACCESS)
        if again and not context.problem:
            values = _filled_in(requests.request(work, request_id=again))
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
