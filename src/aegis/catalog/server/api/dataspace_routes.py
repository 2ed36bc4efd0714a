"""The catalog for data portals and data spaces."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query
from starlette.responses import JSONResponse, Response

from aegis.catalog.server.api import bodies
from aegis.catalog.server.api.calls import ApiRouter, Origin
from aegis.catalog.service import dataspace
from aegis.catalog.service.catalog import Work
from aegis.catalog.service.paging import PageRequest

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


def dcat_catalog(work: Work, *, base_url: str, page: PageRequest) -> Response:
    """The published products with an ODRL offer each, in JSON-LD, a page at a time: `hydra:next` names the next."""
    return _paged(dataspace.dcat_catalog(work, base_url=base_url, page=page))


def versions(_work: Work) -> dict[str, Any]:
    """The versions of the Dataspace Protocol that are spoken below /dsp."""
    return dataspace.dsp_versions()


def dsp_catalog(
    work: Work, *, base_url: str, message: bodies.CatalogRequestMessage, continuation: str | None = None
) -> Response:
    """The answer to a CatalogRequestMessage, a page at a time; filters are not supported and refused. The header
    `Link` names the next page: the same message is sent there."""
    page = PageRequest(cursor=continuation or None)
    return _paged(dataspace.dsp_catalog(work, base_url=base_url, page=page))


def _paged(page: dataspace.CatalogPage) -> Response:
    headers = {} if page.next_url is None else {"Link": f'<{page.next_url}>; rel="next"'}
    return JSONResponse(page.document, headers=headers)


_HERE: dict[str, Any] = {"base_url": Origin}
of_dataspaces = ApiRouter(tags=["data spaces"])
of_dataspaces.reads("/dcat", "The catalog as DCAT-AP 3", dcat_catalog, takes=_HERE, costly=True, **_PAGED)
of_dataspaces.reads("/products/{product}/dcat", "A product as DCAT-AP 3", dataspace.dcat_dataset, takes=_HERE)
of_dataspaces.reads("/dsp/.well-known/dspace-version", "Versions of the protocol", versions)
of_dataspaces.reads(
    "/dsp/2025-1/catalog/request",
    "Dataspace Protocol: the catalog",
    dsp_catalog,
    takes={**_HERE, "message": bodies.CatalogRequestMessage, "continuation": Continuation},
    method="POST",
    costly=True,
    **_PAGED,
)
of_dataspaces.reads(
    "/dsp/2025-1/catalog/datasets/{product}", "Dataspace Protocol: one dataset", dataspace.dsp_dataset, takes=_HERE
)
