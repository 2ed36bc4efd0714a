"""Data products."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query

from aegis.catalog import records
from aegis.catalog.records import Page
from aegis.catalog.server.api import bodies
from aegis.catalog.server.api.bodies import Line, ProductPath
from aegis.catalog.server.api.calls import ApiRouter, Origin, Paged
from aegis.catalog.service import croissant, finding, products
from aegis.catalog.service.catalog import Work

router = ApiRouter(tags=["products"])

Words = Annotated[
    Line, Query(description="Words in names, titles, descriptions, tags, and the names and meanings of columns.")
]
TagQuery = Annotated[bodies.Tag | None, Query(description="Only those with this tag.")]
OwnerQuery = Annotated[bodies.Slug | None, Query(description="Only those of the person with this name.")]


@router.reads("/products", "Find products")
def list_products(
    work: Work,
    page: Paged,
    query: Words = "",
    tag: TagQuery = None,
    owner: OwnerQuery = None,
    mine: Annotated[bool, Query(description="Only those one works on.")] = False,
) -> Page[records.Product]:
    """The published products and those one works on, by name."""
    return products.list_products(work, query=query, tag=tag, owner=owner, mine=mine, page=page)


@router.reads("/facets", "Narrow a search down")
def facets(work: Work, query: Words = "", tag: TagQuery = None, owner: OwnerQuery = None) -> records.Facets:
    """How many of the products that fit have each tag and each owner."""
    return finding.facets(work, query=query, tag=tag, owner=owner)


@router.writes("/products", "Register a product", status=201, costly=True)
def register(work: Work, product: bodies.NewProduct) -> records.Product:
    """A new product, as a draft; whoever registers it becomes its provider."""
    return products.register(work, **product.keywords())


@router.reads("/products/{product}", "One product")
def one(work: Work, product: ProductPath) -> records.Product:
    """One product by its name or id."""
    return products.product(work, product=product)


@router.writes("/products/{product}", "Change a product", method="PATCH", costly=True)
def change(work: Work, product: ProductPath, change: bodies.ProductChange) -> records.Product:
    """Change what is given; a conflict if somebody else changed it after `version` was read."""
    return products.change(work, product=product, **change.keywords())


@router.writes("/products/{product}/publish", "Publish a product")
def publish(work: Work, product: ProductPath, at: bodies.AtVersion | None = None) -> records.Product:
    """Show a draft, or a retired product, to everybody who is signed in; it needs a label and a policy."""
    return products.publish(work, product=product, version=None if at is None else at.version)


@router.writes("/products/{product}/retire", "Retire a product")
def retire(work: Work, product: ProductPath, at: bodies.AtVersion | None = None) -> records.Product:
    """Take no further requests."""
    return products.retire(work, product=product, version=None if at is None else at.version)


@router.reads("/products/{product}/croissant", "Metadata for other catalogs")
def metadata(work: Work, base_url: Origin, product: ProductPath) -> dict[str, Any]:
    """The product as Croissant 1.0, with the certificates of the releases that one may download."""
    return croissant.croissant(work, product=product, base_url=base_url)
