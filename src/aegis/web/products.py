"""The catalog with its search, and the page of a product."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from starlette.responses import JSONResponse, Response

from aegis.data.kind import Kind
from aegis.report.charts.histogram import CountBar, histogram
from aegis.report.figures import count
from aegis.report.page import picture
from aegis.service import croissant, products, summaries
from aegis.service.permissions import Permission, may
from aegis.service.views import HistogramView
from aegis.web.paging import paging
from aegis.web.policy_words import promises
from aegis.web.product_part import head
from aegis.web.routing import Door, get
from aegis.web.visit import Visit
from aegis.web.words import ROLE_MEANINGS

_LONGEST_QUERY = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """A column's published distribution, drawn."""

    name: str
    words: str
    chart: Any


def show_products(visit: Visit) -> Response:
    query = visit.query.get("q", "").strip()[:_LONGEST_QUERY]
    with visit.read() as work:
        page = products.list_products(work, query=query, page=visit.page_request)
    return visit.page(
        "products.html",
        title="Catalog",
        query=query,
        products=page.items,
        paging=paging(visit, page),
        may_register=may(visit.actor, Permission.REGISTER_PRODUCT),
    )


def show_product(visit: Visit) -> Response:
    with visit.read() as work:
        product = products.product(work, product=visit.names["product"])
        summary = summaries.current(work, product=product.id) if product.summary_id else None
        drawn = summaries.histograms(work, product=product.id) if product.summary_id else []
    return visit.page(
        "product.html",
        **head(visit, product),
        promises=promises(product.policy),
        summary=summary,
        histograms=[distribution(one) for one in drawn],
        role_meanings=ROLE_MEANINGS,
    )


def distribution(view: HistogramView) -> Distribution:
    """A histogram as a picture: published values only."""
    bars = [CountBar(name=bar.value, count=bar.count) for bar in view.bars]
    if view.other:
        bars.append(CountBar(name="other values", count=view.other, rest=True))
    said = count(view.values, "value")
    if view.other:
        said += f"; {count(view.other, 'record')} with values too rare to name"
    ordered = Kind(view.kind).is_ordered
    return Distribution(
        name=view.column,
        words=said,
        chart=picture(histogram(bars, title=f"Records by {view.column}", ordered=ordered)),
    )


def send_croissant(visit: Visit) -> Response:
    with visit.read() as work:
        document = croissant.croissant(work, product=visit.names["product"], base_url=visit.origin)
    name = f"{document.get('name', 'product')}.croissant.json"
    safe = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "-" for c in name)
    return JSONResponse(
        document,
        media_type="application/ld+json",
        headers={"Content-Disposition": f'attachment; filename="{safe}"'},
    )


DOORS: tuple[Door, ...] = (
    get("/products", show_products),
    get("/products/{product}", show_product),
    get("/products/{product}/croissant.json", send_croissant),
)
