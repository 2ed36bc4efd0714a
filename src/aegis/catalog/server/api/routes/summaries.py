"""Summaries of a product: counts, never rows."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response, StreamingResponse

from aegis.catalog.server.api.asking import Paged, Read, Write
from aegis.catalog.server.api.models import given
from aegis.catalog.server.api.models.fields import PageOf, ProductPath
from aegis.catalog.server.api.upload import ARCHIVES, body_of, chunks_of, is_archive, uploading
from aegis.catalog.service import summaries
from aegis.errors import NotFoundError

router = APIRouter(prefix="/products/{product}", tags=["summaries"])

_ARCHIVE: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {kind: {"schema": {"type": "string", "format": "binary"}} for kind in ARCHIVES},
    }
}


@router.get("/summaries", response_model=PageOf[given.Summary], summary="All summaries")
def list_summaries(asked: Read, product: ProductPath, page: Paged) -> Any:
    """All summaries of a product, the newest first."""
    with asked.work() as work:
        return summaries.list_summaries(work, product=product, page=page)


@router.post(
    "/summaries", response_model=given.Summary, status_code=201, summary="Push a summary", openapi_extra=_ARCHIVE
)
async def push(asked: Write, request: Request, product: ProductPath) -> Response:
    """Push the folder that `aegis summarize` wrote, as a tar or zip; it is checked and becomes the current one."""
    is_archive(request)

    def take() -> Response:
        with summaries.incoming(asked.catalog, asked.actor, product=product, stream=body_of(request)) as checked:
            return asked.once(
                given.Summary, lambda work: summaries.receive(work, checked), sent=checked.draft.digest, status=201
            )

    return await uploading(take)


@router.get("/summary", response_model=given.Summary, summary="The current summary")
def current(asked: Read, product: ProductPath) -> Any:
    """The summary that counts now."""
    with asked.work() as work:
        found = summaries.current(work, product=product)
    if found is None:
        raise NotFoundError("the product has no summary yet; its provider pushes one with aegis push")
    return found


@router.get(
    "/summary/file",
    response_class=Response,
    responses={200: {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}},
    summary="The current summary's archive",
)
def archive(asked: Read, product: ProductPath) -> Response:
    """The archive as it was pushed, for those who work on the product."""
    with asked.work() as work:
        opened = summaries.open_archive(work, product=product)
    headers = {"Content-Length": str(opened.summary.bytes), "Content-Disposition": 'attachment; filename="summary"'}
    return StreamingResponse(chunks_of(opened.stream), media_type="application/octet-stream", headers=headers)


@router.get("/histograms", response_model=given.Histograms, summary="Published distributions")
def histograms(asked: Read, product: ProductPath) -> Any:
    """The distributions that the current summary publishes: values of enough records, the rest together."""
    with asked.work() as work:
        return {"items": summaries.histograms(work, product=product)}
