"""Summaries of a product: counts, never rows."""

from __future__ import annotations

from typing import Any

from fastapi import Request
from starlette.responses import Response, StreamingResponse

from aegis.catalog import records
from aegis.catalog.records import Page
from aegis.catalog.server.api.bodies import ProductPath
from aegis.catalog.server.api.calls import ApiRouter, Paged, Write
from aegis.catalog.server.uploads import body_of, chunks_of, uploading
from aegis.catalog.service import summaries
from aegis.catalog.service.catalog import Work
from aegis.errors import InputError, NotFoundError

router = ApiRouter(prefix="/products/{product}", tags=["summaries"])
ARCHIVES = ("application/octet-stream", "application/x-tar", "application/gzip", "application/zip")

_BINARY = {"schema": {"type": "string", "format": "binary"}}
_ARCHIVE: dict[str, Any] = {"requestBody": {"required": True, "content": dict.fromkeys(ARCHIVES, _BINARY)}}
_ARCHIVE_SENT: dict[int | str, dict[str, Any]] = {200: {"content": {"application/octet-stream": _BINARY}}}


@router.reads("/summaries", "All summaries")
def list_summaries(work: Work, product: ProductPath, page: Paged) -> Page[records.Summary]:
    """All summaries of a product, the newest first."""
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


@router.reads("/summary", "The current summary")
def current(work: Work, product: ProductPath) -> records.Summary:
    """The summary that counts now."""
    summary = summaries.current(work, product=product)
    if summary is None:
        raise NotFoundError("the product has no summary yet; its provider pushes one with aegis push")
    return summary


@router.reads(
    "/summary/file",
    "The current summary's archive",
    response_class=Response,
    response_model=None,
    responses=_ARCHIVE_SENT,
)
def archive(work: Work, product: ProductPath) -> Response:
    """The archive as it was pushed, for those who work on the product."""
    opened = summaries.open_archive(work, product=product)
    headers = {"Content-Length": str(opened.summary.bytes), "Content-Disposition": 'attachment; filename="summary"'}
    return StreamingResponse(chunks_of(opened.stream), media_type="application/octet-stream", headers=headers)


@router.reads("/histograms", "Published distributions")
def histograms(work: Work, product: ProductPath) -> records.Histograms:
    """The distributions that the current summary publishes: values of enough records, the rest together."""
    return records.Histograms(items=tuple(summaries.histograms(work, product=product)))
