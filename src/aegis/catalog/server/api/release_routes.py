"""Releases: a masked table and its certificate, pushed, downloaded, withdrawn."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any

from fastapi import Query, Request
from starlette.responses import Response, StreamingResponse

from aegis.catalog import records
from aegis.catalog.records import Page, Standing
from aegis.catalog.server.api import bodies
from aegis.catalog.server.api.bodies import Id, IdPath, ProductPath
from aegis.catalog.server.api.calls import ApiRouter, Paged, Read, Write, WriteCall
from aegis.catalog.server.uploads import (
    SIGNATURE_BYTES,
    Multipart,
    Part,
    attachment,
    body_of,
    chunks_of,
    uploading,
    whole,
)
from aegis.catalog.service import arrivals, lineage, releases
from aegis.catalog.service.catalog import Work, again_if_undone
from aegis.catalog.service.certificates import certificate_text
from aegis.errors import InputError

router = ApiRouter(tags=["releases"])
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
                        "signature": {
                            "type": "string",
                            "format": "binary",
                            "description": "The .sig beside the certificate, where it is signed; before the file.",
                        },
                        "file": {"type": "string", "format": "binary", "description": "The released table."},
                    },
                },
                "encoding": {
                    "certificate": {"contentType": "application/json"},
                    "signature": {"contentType": "application/json"},
                    "file": {"contentType": "application/octet-stream"},
                },
            }
        },
    }
}


@router.reads("/products/{product}/releases", "Releases of a product")
def list_releases(work: Work, product: ProductPath, page: Paged) -> Page[records.Release]:
    """The releases of a product that one may see, the newest first."""
    return releases.list_releases(work, product=product, page=page)


@router.post(
    "/products/{product}/releases",
    response_model=records.Release,
    status_code=201,
    summary="Push a release",
    openapi_extra=_FORM,
)
async def push(
    call: Write,
    request: Request,
    product: ProductPath,
    request_id: Annotated[Id | None, Query(description="The approved request that this release fulfils.")] = None,
) -> Response:
    """Push what `aegis release` wrote; its hash is checked against the certificate, then it is measured again."""
    return await uploading(lambda: _pushed(call, request, product, request_id))


def _pushed(call: WriteCall, request: Request, product: str, request_id: str | None) -> Response:
    arrivals.check_push(call.catalog, call.actor, product=product, request_id=request_id)
    parts = Multipart(request.headers.get("content-type", ""), body_of(request))
    parts.expect("certificate")
    certificate = whole(parts.content(), limit_bytes=call.catalog.settings.certificate_bytes)
    signature, file = _signature_and_file(parts)
    # The certificate names the file's hash, so it stands for both: a repeated push is known before the file is read,
    # and before the request that it fulfilled the first time would refuse it.
    both = [hashlib.sha256(certificate).hexdigest(), file.file_name]
    before = call.again(both)
    if before is not None:
        return before
    with arrivals.incoming(
        call.catalog,
        call.actor,
        product=product,
        request_id=request_id,
        certificate=[certificate],
        file=parts.content(),
        file_name=file.file_name or "",
        signature=signature,
    ) as checked:
        return call.once(records.Release, lambda work: arrivals.receive(work, checked), body=both, status=201)


def _signature_and_file(parts: Multipart) -> tuple[bytes | None, Part]:
    """A signature may stand before the file."""
    part = parts.next_part()
    signature = None
    if part is not None and part.name == "signature":
        signature = whole(parts.content(), limit_bytes=SIGNATURE_BYTES)
        part = parts.next_part()
    if part is None or part.name != "file":
        raise InputError("the form lacks its part 'file' at this place; send the parts in their order")
    return signature, part


@router.writes("/requests/{request_id}/fulfilment", "Fulfil with a known release")
def fulfil(work: Work, request_id: IdPath, chosen: bodies.Fulfilment) -> records.Release:
    """Give an approved request a verified release of the same configuration that is there already."""
    return releases.fulfil(work, request_id=request_id, release_id=chosen.release_id)


@router.reads("/releases/{release_id}", "One release")
def one(work: Work, release_id: IdPath) -> records.Release:
    """One release with its certificate."""
    return releases.release(work, release_id=release_id)


@router.reads("/releases/{release_id}/certificate", "A certificate", response_model=dict[str, Any])
def certificate(work: Work, release_id: IdPath) -> Response:
    """The certificate as a file for `aegis verify`, with its own hash."""
    content = releases.release(work, release_id=release_id).certificate
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
                    "schema": {"type": "string", "enum": [standing.value for standing in Standing]},
                }
            },
        }
    },
    summary="Download a release",
)
def download(call: Read, release_id: IdPath) -> Response:
    """The bytes of a verified release, for those who may have it; each download is on the record."""

    def take() -> releases.OpenedRelease:
        with call.catalog.write(call.actor) as work:
            return releases.open_download(work, release_id=release_id)

    opened = again_if_undone(take)
    headers = {
        "Content-Length": str(opened.release.bytes),
        "Content-Disposition": attachment(opened.release.file_name),
        "ETag": f'"{opened.release.digest}"',
        PRESENT_POLICY: opened.release.present_policy.standing.value,
    }
    return StreamingResponse(chunks_of(opened.stream), media_type="application/octet-stream", headers=headers)


@router.writes("/releases/{release_id}/withdraw", "Withdraw a release")
def withdraw(work: Work, release_id: IdPath, why: bodies.Withdrawal) -> records.Release:
    """Nobody can download it any more; a request that it fulfilled is revoked."""
    return releases.withdraw(work, release_id=release_id, reason=why.reason)


@router.reads("/releases/{release_id}/lineage", "Where it comes from")
def show_lineage(work: Work, release_id: IdPath) -> records.Lineage:
    """The counts, the configuration, those who hold it, and its versions."""
    return lineage.lineage(work, release_id=release_id)
