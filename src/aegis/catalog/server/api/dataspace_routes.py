"""The catalog for data portals and data spaces."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from aegis.catalog.server.api import bodies
from aegis.catalog.server.api.bodies import ProductPath
from aegis.catalog.server.api.calls import Read, ReadCall
from aegis.catalog.server.lanes import in_costly_lane
from aegis.catalog.server.session import public_origin
from aegis.catalog.service import dataspace

router = APIRouter(tags=["data spaces"])


@router.get("/dcat", response_model=dict[str, Any], summary="The catalog as DCAT-AP 3")
@in_costly_lane
def catalog(call: Read, request: Request) -> Any:
    """The published products with an ODRL offer each, in JSON-LD."""
    with call.read() as work:
        return dataspace.dcat_catalog(work, base_url=_origin(call, request))


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


@router.post("/dsp/2025-1/catalog/request", response_model=dict[str, Any], summary="Dataspace Protocol: the catalog")
@in_costly_lane
def dsp_catalog(call: Read, request: Request, message: bodies.CatalogRequestMessage) -> Any:
    """The answer to a CatalogRequestMessage; filters are not supported and refused."""
    with call.read() as work:
        return dataspace.dsp_catalog(work, base_url=_origin(call, request))


@router.get(
    "/dsp/2025-1/catalog/datasets/{product}", response_model=dict[str, Any], summary="Dataspace Protocol: one dataset"
)
def dsp_dataset(call: Read, request: Request, product: ProductPath) -> Any:
    """The dataset of a published product, by its id or name."""
    with call.read() as work:
        return dataspace.dsp_dataset(work, product=product, base_url=_origin(call, request))


def _origin(call: ReadCall, request: Request) -> str:
    return public_origin(call.catalog.settings, scheme=request.url.scheme, host=request.headers.get("host", ""))
