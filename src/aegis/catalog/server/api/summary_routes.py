"""Summaries of a product: counts, never rows."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response, StreamingResponse

from aegis.catalog import records
from aegis.catalog.records import Page
from aegis.catalog.server.api.bodies import ProductPath
from aegis.catalog.server.api.calls import JsonRoute, Paged, Read, Write
from aegis.catalog.server.uploads import body_of, chunks_of, uploading
from aegis.catalog.service import summaries
from aegis.errors import InputError, NotFoundError

router = APIRouter(prefix="/products/{product}", tags=["summaries"], route_class=JsonRoute)
ARCHIVES = ("application/octet-stream", "application/x-tar", "application/gzip", "application/zip")

_ARCHIVE: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {kind: {"schema": {"type": "string", "format": "binary"}} for kind in ARCHIVES},
    }
}


@router.get("/summaries", response_model=Page[records.Summary], summary="All summaries")
def list_summaries(call: Read, product: ProductPath, page: Paged) -> Any:
    """All summaries of a product, the newest first."""
    with call.read() as work:
        return summaries.list_summaries(work, product=product, page=page)


@router.post(
    "/summaries", response_model=records.Summary, status_code=201, summary="Push a summary", openapi_extra=_ARCHIVE
)
async def push(call: Write, request: Request, product: ProductPath) -> Response:
    """Push the folder that `aegis summarize` wrote, as a tar or zip; it is checked and becomes the current one."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ARCHIVES:
        raise InputError(f"send the summary as an archive; its Content-Type is one of {', '.join(ARCHIVES)}")

    def take() -> Response:
        with summaries.incoming(call.catalog, call.actor, product=product, stream=body_of(request)) as checked:
            return call.once(
                records.Summary, lambda work: summaries.receive(work, checked), body=checked.draft.digest, status=201
            )

    return await uploading(take)


@router.get("/summary", response_model=records.Summary, summary="The current summary")
def current(call: Read, product: ProductPath) -> Any:
    """The summary that counts now."""
    with call.read() as work:
        summary = summaries.current(work, product=product)
    if summary is None:
        raise NotFoundError("the product has no summary yet; its provider pushes one with aegis push")
    return summary


@router.get(
    "/summary/file",
    response_class=Response,
    responses={200: {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}},
    summary="The current summary's archive",
)
def archive(call: Read, product: ProductPath) -> Response:
    """The archive as it was pushed, for those who work on the product."""
    with call.read() as work:
        opened = summaries.open_archive(work, product=product)
    headers = {"Content-Length": str(opened.summary.bytes), "Content-Disposition": 'attachment; filename="summary"'}
    return StreamingResponse(chunks_of(opened.stream), media_type="application/octet-stream", headers=headers)


@router.get("/histograms", response_model=records.Histograms, summary="Published distributions")
def histograms(call: Read, product: ProductPath) -> Any:
    """The distributions that the current summary publishes: values of enough records, the rest together."""
    with call.read() as work:
        return records.Histograms(items=tuple(summaries.histograms(work, product=product)))
