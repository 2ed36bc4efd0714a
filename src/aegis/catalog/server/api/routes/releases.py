"""Releases: a masked table and its certificate, pushed, downloaded, withdrawn."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from starlette.responses import Response, StreamingResponse

from aegis.catalog.server.api.asking import Paged, Read, Write, Writing
from aegis.catalog.server.api.models import given, sent
from aegis.catalog.server.api.models.fields import Id, IdPath, PageOf, ProductPath
from aegis.catalog.server.api.upload import Parts, chunks_of, uploading, whole
from aegis.catalog.service import release_list, releases
from aegis.catalog.service.certificates import certificate_text
from aegis.catalog.service.present_policy import Standing

router = APIRouter(tags=["releases"])
PRESENT_POLICY = "Aegis-Present-Policy"

_FORM: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["certificate", "file"],
                    "properties": {
                        "certificate": {
                            "type": "string",
                            "format": "binary",
                            "description": "The .certificate.json; it comes before the file.",
                        },
                        "file": {"type": "string", "format": "binary", "description": "The released table."},
                    },
                },
                "encoding": {
                    "certificate": {"contentType": "application/json"},
                    "file": {"contentType": "application/octet-stream"},
                },
            }
        },
    }
}


@router.get("/products/{product}/releases", response_model=PageOf[given.Release], summary="Releases of a product")
def list_releases(asked: Read, product: ProductPath, page: Paged) -> Any:
    """The releases of a product that one may see, the newest first."""
    with asked.work() as work:
        return release_list.list_releases(work, product=product, page=page)


@router.post(
    "/products/{product}/releases",
    response_model=given.Release,
    status_code=201,
    summary="Push a release",
    openapi_extra=_FORM,
)
async def push(
    asked: Write,
    request: Request,
    product: ProductPath,
    request_id: Annotated[Id | None, Query(description="The approved request that this release fulfils.")] = None,
) -> Response:
    """Push what `aegis release` wrote; its hash is checked against the certificate, then it is measured again."""
    return await uploading(lambda: _pushed(asked, request, product, request_id))


def _pushed(asked: Writing, request: Request, product: str, request_id: str | None) -> Response:
    parts = Parts(request)
    parts.next_part("certificate")
    certificate = whole(parts.content(), limit_bytes=asked.catalog.settings.certificate_bytes)
    file = parts.next_part("file")
    # The certificate names the file's hash, so it stands for both: a repeated push is known before the file is read,
    # and before the request that it fulfilled the first time would refuse it.
    both = [hashlib.sha256(certificate).hexdigest(), file.file_name]
    before = asked.again(both)
    if before is not None:
        return before
    with releases.incoming(
        asked.catalog,
        asked.actor,
        product=product,
        request_id=request_id,
        certificate=[certificate],
        file=parts.content(),
        file_name=file.file_name or "",
    ) as checked:
        return asked.once(given.Release, lambda work: releases.receive(work, checked), sent=both, status=201)


@router.post("/requests/{request_id}/fulfilment", response_model=given.Release, summary="Fulfil with a known release")
def fulfil(asked: Write, request_id: IdPath, chosen: sent.Fulfilment) -> Response:
    """Give an approved request a verified release of the same configuration that is there already."""
    return asked.once(
        given.Release,
        lambda work: releases.fulfil(work, request_id=request_id, release_id=chosen.release_id),
        sent=chosen,
    )


@router.get("/releases/{release_id}", response_model=given.Release, summary="One release")
def one(asked: Read, release_id: IdPath) -> Any:
    """One release with its certificate."""
    with asked.work() as work:
        return release_list.release(work, release_id=release_id)


@router.get(
    "/releases/{release_id}/certificate",
    response_model=dict[str, Any],
    summary="A certificate",
)
def certificate(asked: Read, release_id: IdPath) -> Response:
    """The certificate as a file for `aegis verify`, with its own hash."""
    with asked.work() as work:
        content = release_list.release(work, release_id=release_id).certificate
    return Response(certificate_text(content), media_type="application/json")


@router.get(
    "/releases/{release_id}/file",
    response_class=Response,
    responses={
        200: {
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
            "headers": {
                PRESENT_POLICY: {
                    "description": "Whether it satisfies the policy that the product has now.",
                    "schema": {"type": "string", "enum": [each.value for each in Standing]},
                }
            },
        }
    },
    summary="Download a release",
)
def download(asked: Read, release_id: IdPath) -> Response:
    """The bytes of a verified release, for those who may have it; each download is on the record."""
    with asked.catalog.write(asked.actor) as work:
        opened = releases.open_download(work, release_id=release_id)
    name = quote(opened.release.file_name, safe="")
    headers = {
        "Content-Length": str(opened.release.bytes),
        "Content-Disposition": f"attachment; filename*=UTF-8''{name}",
        "ETag": f'"{opened.release.digest}"',
        PRESENT_POLICY: opened.release.present_policy.standing.value,
    }
    return StreamingResponse(chunks_of(opened.stream), media_type="application/octet-stream", headers=headers)


@router.post("/releases/{release_id}/withdraw", response_model=given.Release, summary="Withdraw a release")
def withdraw(asked: Write, release_id: IdPath, why: sent.Withdrawal) -> Response:
    """Nobody can download it any more; a request that it fulfilled is revoked."""
    return asked.once(
        given.Release, lambda work: releases.withdraw(work, release_id=release_id, reason=why.reason), sent=why
    )
