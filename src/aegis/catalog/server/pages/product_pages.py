"""The catalog with its search, the page of a product and the head of all its pages, and the counts that were pushed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response

from aegis.catalog import records
from aegis.catalog.records import UserRole
from aegis.catalog.server.pages.page import PageContext, PageRoutes
from aegis.catalog.server.pages.rendering import ROLE_MEANINGS, byte_size, level_words, promises
from aegis.catalog.server.uploads import sent_text
from aegis.catalog.service import finding, metadata, products, seen_requests, summaries
from aegis.catalog.service.catalog import Work
from aegis.catalog.service.paging import PageRequest
from aegis.catalog.service.permissions import Permission, may, require
from aegis.data.kind import Kind
from aegis.errors import NotFoundError, ServiceError
from aegis.privacy.policy import Policy
from aegis.report.charts.bars import Bar, Tick, histogram
from aegis.report.figures import count
from aegis.report.page import Fact, picture

routes = PageRoutes()

_LONGEST_QUERY = 200
_MOST_OWN = 10
_MOST_NAMED = 14  # more bars than this stand on an axis


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """A column's published distribution, drawn."""

    name: str
    words: str
    chart: Any


@routes.get("/products")
def show_products(context: PageContext) -> Response:
    query = context.query.get("q", "").strip()[:_LONGEST_QUERY]
    tag, owner = context.query.get("tag") or None, context.query.get("owner") or None
    with context.read() as work:
        page = finding.entries(work, query=query, tag=tag, owner=owner, page=context.page_request)
        facets = finding.facets(work, query=query, tag=tag, owner=owner)
    chosen = {"q": query, "tag": tag or "", "owner": owner or ""}
    return context.render(
        "products.html",
        title="Catalog",
        query=query,
        chosen=chosen,
        narrowed=bool(query or tag or owner),
        facets=[
            ("Tags", [_link(facet, "tag", chosen) for facet in facets.tags]),
            ("Owners", [_link(facet, "owner", chosen) for facet in facets.owners]),
        ],
        here=_address(chosen),
        products=page.items,
        paging=context.paging(page),
        may_register=may(context.actor, Permission.REGISTER_PRODUCT),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FacetLink:
    """A tag or an owner: a press narrows the search down to it, or widens it again."""

    words: str
    products: int
    path: str
    here: bool


def _link(facet: records.Facet, key: str, chosen: dict[str, str]) -> FacetLink:
    here = chosen[key] == facet.name
    path = _address({**chosen, key: "" if here else facet.name})
    return FacetLink(words=facet.words, products=facet.products, path=path, here=here)


def _address(chosen: dict[str, str]) -> str:
    filled = {key: value for key, value in chosen.items() if value}
    return f"/products?{urlencode(filled)}" if filled else "/products"


@routes.get("/products/{product}")
def show_product(context: PageContext) -> Response:
    with context.read() as work:
        product = product_of(context, work)
        summary = summaries.current(work, product=product.id) if product.summary_id else None
        drawn = summaries.histograms(work, product=product.id) if product.summary_id else []
        own = seen_requests.list_requests(work, product=product.id, mine=True, page=PageRequest(size=_MOST_OWN)).items
    return context.render(
        "product.html",
        **head(context, product),
        promises=promises(product.policy),
        summary=summary,
        histograms=[distribution(view) for view in drawn if view.bars],
        role_meanings=ROLE_MEANINGS,
        own=own,
        roles=_roles(context, product),
    )


def _roles(context: PageContext, product: records.Product) -> list[str]:
    """What this person is for the product."""
    roles = {
        role.role.value
        for role in context.actor.roles
        if role.product_id in (None, product.id) and role.role is not UserRole.REGISTRAR
    }
    return sorted(roles)


@lru_cache(maxsize=1024)  # the most visited page draws the same ten pictures each time
def distribution(view: records.Histogram) -> Distribution:
    """A histogram as a picture: published values and round bins only."""
    words = [] if view.values is None else [count(view.values, "value")]
    bars = [Bar(left=bar.left, right=bar.right, share=bar.share, name=bar.name, merged=bar.merged) for bar in view.bars]
    ordered = view.kind is not None and Kind(view.kind).is_ordered
    ticks = [Tick(at=tick.at, text=tick.text) for tick in view.ticks] if ordered or len(bars) > _MOST_NAMED else []
    return Distribution(
        name=view.column,
        words="; ".join([*words, *view.notes]),
        chart=picture(histogram(bars, ticks=ticks, title=f"Records by {view.column}")),
    )


@routes.get("/products/{product}/croissant.json")
def send_croissant(context: PageContext) -> Response:
    with context.read() as work:
        document = metadata.croissant(work, product=context.parameters["product"], base_url=context.origin)
    name = f"{context.parameters['product']}.croissant.json"
    return sent_text(json.dumps(document, ensure_ascii=False), name=name, media_type="application/ld+json")


@routes.get("/products/{product}/policy.yaml")
def send_policy(context: PageContext) -> Response:
    """The policy as the file that ``aegis release`` takes."""
    with context.read() as work:
        product = product_of(context, work)
    if not product.policy:
        raise NotFoundError("this product has no policy yet")
    text = Policy.from_mapping(product.policy).to_yaml()
    return sent_text(text, name="policy.yaml", media_type="application/yaml")


@routes.get("/products/{product}/summaries")
def show_summaries(context: PageContext) -> Response:
    with context.read() as work:
        product = product_of(context, work, Permission.SEE_JOBS)
        summary = summaries.current(work, product=product.id)
    return context.render(
        "summaries.html",
        **head(context, product),
        summary=summary,
        facts=_facts(summary) if summary else [],
        exposure=summary.exposure if summary else None,
    )


def _facts(summary: records.Summary) -> list[Fact]:
    return [
        Fact(term="records", value=f"{summary.rows:,}"),
        Fact(term="they tell", value=level_words(summary.level), is_name=True),
        Fact(term="configurations counted", value=str(len(summary.configurations))),
        Fact(term="size", value=byte_size(summary.bytes)),
    ]


@routes.post("/products/{product}/summaries", upload=True, refused=show_summaries, also=(ServiceError,))
def upload_summary(context: PageContext) -> Response:
    name = context.parameters["product"]
    file = context.form.file("summary", what="the summary")
    with (
        summaries.incoming(context.catalog, context.actor, product=name, stream=file.stream) as checked,
        context.write() as work,
    ):
        summary = summaries.receive(work, checked)
    return context.redirect(
        f"/products/{name}/summaries", f"The counts of {summary.rows:,} records passed every check."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Tab:
    """One part of a product."""

    name: str
    path: str


def head(context: PageContext, product: records.Product) -> dict[str, Any]:
    """What the head of a product's page shows; ``can`` is what the service would allow: a page offers nothing else."""

    def may_do(permission: Permission) -> bool:
        return may(context.actor, permission, product.id)

    here = f"/products/{product.name}"
    tabs = [
        ("Overview", "", True),
        ("Configurations", "/configurations", True),
        ("Counts", "/summaries", may_do(Permission.SEE_JOBS)),
        ("Ranking", "/ranking", may_do(Permission.SEE_JOBS)),
        ("Requests", "/requests", may_do(Permission.SEE_REQUESTS)),
        ("Releases", "/releases", may_do(Permission.SEE_RELEASES)),
        ("Audit", "/audit", may_do(Permission.SEE_PRODUCT_AUDIT)),
    ]
    return {
        "product": product,
        "can": {
            "change": may_do(Permission.CHANGE_PRODUCT),
            "propose": may_do(Permission.PROPOSE_CONFIGURATION),
            "push_summary": may_do(Permission.PUSH_SUMMARY),
            "advise": may_do(Permission.START_ADVICE),
            "request": may_do(Permission.REQUEST_ACCESS) and product.state == "published",
        },
        "tabs": [Tab(name=name, path=here + path) for name, path, shown in tabs if shown],
        "here": next((here + path for _, path, _ in reversed(tabs) if context.path.startswith(here + path)), here),
        "title": product.title,
    }


def product_of(context: PageContext, work: Work, needed: Permission | None = None) -> records.Product:
    """The product that the address names; raises unless this person may do there what is ``needed``."""
    product = products.product(work, product=context.parameters["product"])
    if needed is not None:
        require(context.actor, needed, product.id)
    return product
