"""Data products."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from aegis.catalog import records
from aegis.catalog.records import Page
from aegis.catalog.server.api import bodies
from aegis.catalog.server.api.bodies import Line, ProductPath
from aegis.catalog.server.api.calls import JsonRoute, Paged, Read, Write
from aegis.catalog.server.lanes import in_costly_lane
from aegis.catalog.server.session import public_origin
from aegis.catalog.service import croissant, finding, products

router = APIRouter(prefix="/products", tags=["products"], route_class=JsonRoute)
facet_router = APIRouter(tags=["products"], route_class=JsonRoute)

Words = Annotated[
    Line, Query(description="Words in names, titles, descriptions, tags, and the names and meanings of columns.")
]
TagQuery = Annotated[bodies.Tag | None, Query(description="Only those with this tag.")]
OwnerQuery = Annotated[bodies.Slug | None, Query(description="Only those of the person with this name.")]


@router.get("", response_model=Page[records.Product], summary="Find products")
def list_products(
    call: Read,
    page: Paged,
    query: Words = "",
    tag: TagQuery = None,
    owner: OwnerQuery = None,
    mine: Annotated[bool, Query(description="Only those one works on.")] = False,
) -> Any:
    """The published products and those one works on, by name."""
    with call.read() as work:
        return products.list_products(work, query=query, tag=tag, owner=owner, mine=mine, page=page)


@facet_router.get("/facets", response_model=records.Facets, summary="Narrow a search down")
def facets(call: Read, query: Words = "", tag: TagQuery = None, owner: OwnerQuery = None) -> Any:
    """How many of the products that fit have each tag and each owner."""
    with call.read() as work:
        return finding.facets(work, query=query, tag=tag, owner=owner)


@router.post("", response_model=records.Product, status_code=201, summary="Register a product")
@in_costly_lane
def register(call: Write, product: bodies.NewProduct) -> Response:
    """A new product, as a draft; whoever registers it becomes its provider."""
    columns = [column.model_dump(mode="json") for column in product.columns]
    return call.once(
        records.Product,
        lambda work: products.register(
            work,
            name=product.name,
            title=product.title,
            description=product.description,
            columns=columns,
            label=product.label,
            policy=product.policy,
            tags=product.tags,
        ),
        body=product,
        status=201,
    )


@router.get("/{product}", response_model=records.Product, summary="One product")
def one(call: Read, product: ProductPath) -> Any:
    """One product by its name or id."""
    with call.read() as work:
        return products.product(work, product=product)


@router.patch("/{product}", response_model=records.Product, summary="Change a product")
@in_costly_lane
def change(call: Write, product: ProductPath, change: bodies.ProductChange) -> Response:
    """Change what is given; a conflict if somebody else changed it after `version` was read."""
    given_columns = change.columns
    columns = None if given_columns is None else [column.model_dump(mode="json") for column in given_columns]
    return call.once(
        records.Product,
        lambda work: products.change(
            work,
            product=product,
            version=change.version,
            title=change.title,
            description=change.description,
            columns=columns,
            label=change.label,
            policy=change.policy,
            tags=change.tags,
        ),
        body=change,
    )


@router.post("/{product}/publish", response_model=records.Product, summary="Publish a product")
def publish(call: Write, product: ProductPath, at: bodies.AtVersion | None = None) -> Response:
    """Show a draft, or a retired product, to everybody who is signed in; it needs a label and a policy."""
    version = None if at is None else at.version
    return call.once(
        records.Product, lambda work: products.publish(work, product=product, version=version), body=version
    )


@router.post("/{product}/retire", response_model=records.Product, summary="Retire a product")
def retire(call: Write, product: ProductPath, at: bodies.AtVersion | None = None) -> Response:
    """Take no further requests."""
    version = None if at is None else at.version
    return call.once(
        records.Product, lambda work: products.retire(work, product=product, version=version), body=version
    )


@router.get("/{product}/croissant", response_model=dict[str, Any], summary="Metadata for other catalogs")
def metadata(call: Read, request: Request, product: ProductPath) -> Any:
    """The product as Croissant 1.0, with the certificates of the releases that one may download."""
    origin = public_origin(call.catalog.settings, scheme=request.url.scheme, host=request.headers.get("host", ""))
    with call.read() as work:
        return croissant.croissant(work, product=product, base_url=origin)
