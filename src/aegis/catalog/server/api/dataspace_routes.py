"""The catalog for data portals and data spaces."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import JSONResponse, Response

from aegis.catalog.server.api import bodies
from aegis.catalog.server.api.bodies import ProductPath
from aegis.catalog.server.api.calls import JsonRoute, Paged, Read, ReadCall
from aegis.catalog.server.lanes import in_costly_lane
from aegis.catalog.server.session import public_origin
from aegis.catalog.service import dataspace
from aegis.catalog.service.paging import PageRequest

router = APIRouter(tags=["data spaces"], route_class=JsonRoute)

Continuation = Annotated[
    str | None,
    Query(
        alias="continuationToken",
        max_length=1000,
        pattern=r"^[A-Za-z0-9_-]*$",
        description="As the header `Link` of the page before has it; nothing for the first.",
    ),
]
_NEXT_PAGE: dict[int | str, dict[str, Any]] = {
    200: {
        "headers": {
            "Link": {
                "description": 'The next page, with rel="next"; none after the last.',
                "schema": {"type": "string"},
            }
        }
    }
}


@router.get("/dcat", response_model=dict[str, Any], responses=_NEXT_PAGE, summary="The catalog as DCAT-AP 3")
@in_costly_lane
def catalog(call: Read, request: Request, page: Paged) -> Response:
    """The published products with an ODRL offer each, in JSON-LD, a page at a time: `hydra:next` names the next."""
    with call.read() as work:
        return _paged(dataspace.dcat_catalog(work, base_url=_origin(call, request), page=page))


@router.get("/products/{product}/dcat", response_model=dict[str, Any], summary="A product as DCAT-AP 3")
def product_dataset(call: Read, request: Request, product: ProductPath) -> Any:
    """One product with its offer and the released files that one may see, in JSON-LD."""
    with call.read() as work:
        return dataspace.dcat_dataset(work, product=product, base_url=_origin(call, request))


@router.get("/dsp/.well-known/dspace-version", response_model=dict[str, Any], summary="Versions of the protocol")
def versions(call: Read) -> Any:
    """The versions of the Dataspace Protocol that are spoken below /dsp."""
    with call.read():
        return dataspace.dsp_versions()


@router.post(
    "/dsp/2025-1/catalog/request",
    response_model=dict[str, Any],
    responses=_NEXT_PAGE,
    summary="Dataspace Protocol: the catalog",
)
@in_costly_lane
def dsp_catalog(
    call: Read, request: Request, message: bodies.CatalogRequestMessage, continuation: Continuation = None
) -> Response:
    """The answer to a CatalogRequestMessage, a page at a time; filters are not supported and refused.

    The header `Link` names the next page: the same message is sent there.
    """
    page = PageRequest(cursor=continuation or None)
    with call.read() as work:
        return _paged(dataspace.dsp_catalog(work, base_url=_origin(call, request), page=page))


@router.get(
    "/dsp/2025-1/catalog/datasets/{product}", response_model=dict[str, Any], summary="Dataspace Protocol: one dataset"
)
def dsp_dataset(call: Read, request: Request, product: ProductPath) -> Any:
    """The dataset of a published product, by its id or name."""
    with call.read() as work:
        return dataspace.dsp_dataset(work, product=product, base_url=_origin(call, request))


def _paged(page: dataspace.CatalogPage) -> Response:
    headers = {} if page.next_url is None else {"Link": f'<{page.next_url}>; rel="next"'}
    return JSONResponse(page.document, headers=headers)


def _origin(call: ReadCall, request: Request) -> str:
    return public_origin(call.catalog.settings, scheme=request.url.scheme, host=request.headers.get("host", ""))
