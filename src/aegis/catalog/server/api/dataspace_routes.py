"""The catalog for data portals and data spaces."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query
from starlette.responses import JSONResponse, Response

from aegis.catalog.server.api import bodies
from aegis.catalog.server.api.bodies import ProductPath
from aegis.catalog.server.api.calls import ApiRouter, Origin, Paged
from aegis.catalog.service import dataspace
from aegis.catalog.service.catalog import Work
from aegis.catalog.service.paging import PageRequest

router = ApiRouter(tags=["data spaces"])

Continuation = Annotated[
    str | None,
    Query(
        alias="continuationToken",
        max_length=1000,
        pattern=r"^[A-Za-z0-9_-]*$",
        description="As the header `Link` of the page before has it; nothing for the first.",
    ),
]
_LINK = {"description": 'The next page, with rel="next"; none after the last.', "schema": {"type": "string"}}
_PAGED: dict[str, Any] = {"response_model": dict[str, Any], "responses": {200: {"headers": {"Link": _LINK}}}}


@router.reads("/dcat", "The catalog as DCAT-AP 3", costly=True, **_PAGED)
def catalog(work: Work, base_url: Origin, page: Paged) -> Response:
    """The published products with an ODRL offer each, in JSON-LD, a page at a time: `hydra:next` names the next."""
    return _paged(dataspace.dcat_catalog(work, base_url=base_url, page=page))


@router.reads("/products/{product}/dcat", "A product as DCAT-AP 3")
def product_dataset(work: Work, base_url: Origin, product: ProductPath) -> dict[str, Any]:
    """One product with its offer and the released files that one may see, in JSON-LD."""
    return dataspace.dcat_dataset(work, product=product, base_url=base_url)


@router.reads("/dsp/.well-known/dspace-version", "Versions of the protocol")
def versions(_work: Work) -> dict[str, Any]:
    """The versions of the Dataspace Protocol that are spoken below /dsp."""
    return dataspace.dsp_versions()


@router.reads("/dsp/2025-1/catalog/request", "Dataspace Protocol: the catalog", method="POST", costly=True, **_PAGED)
def dsp_catalog(
    work: Work, base_url: Origin, message: bodies.CatalogRequestMessage, continuation: Continuation = None
) -> Response:
    """The answer to a CatalogRequestMessage, a page at a time; filters are not supported and refused.

    The header `Link` names the next page: the same message is sent there.
    """
    page = PageRequest(cursor=continuation or None)
    return _paged(dataspace.dsp_catalog(work, base_url=base_url, page=page))


@router.reads("/dsp/2025-1/catalog/datasets/{product}", "Dataspace Protocol: one dataset")
def dsp_dataset(work: Work, base_url: Origin, product: ProductPath) -> dict[str, Any]:
    """The dataset of a published product, by its id or name."""
    return dataspace.dsp_dataset(work, product=product, base_url=base_url)


def _paged(page: dataspace.CatalogPage) -> Response:
    headers = {} if page.next_url is None else {"Link": f'<{page.next_url}>; rel="next"'}
    return JSONResponse(page.document, headers=headers)
