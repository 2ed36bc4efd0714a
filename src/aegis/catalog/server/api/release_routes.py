"""Releases: a masked table and its certificate, pushed, downloaded, withdrawn."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response, StreamingResponse

from aegis.catalog import records
from aegis.catalog.records import Page, Standing
from aegis.catalog.server.api import bodies
from aegis.catalog.server.api.bodies import Id, IdPath, ProductPath
from aegis.catalog.server.api.calls import JsonRoute, Paged, Read, Write, WriteCall
from aegis.catalog.server.uploads import Multipart, Part, attachment, body_of, chunks_of, uploading, whole
from aegis.catalog.service import arrivals, lineage, releases
from aegis.catalog.service.certificates import certificate_text
from aegis.errors import InputError

router = APIRouter(tags=["releases"], route_class=JsonRoute)
PRESENT_POLICY = "Aegis-Present-Policy"
_SIGNATURE_BYTES = 4_096

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


@router.get("/products/{product}/releases", response_model=Page[records.Release], summary="Releases of a product")
def list_releases(call: Read, product: ProductPath, page: Paged) -> Any:
    """The releases of a product that one may see, the newest first."""
    with call.read() as work:
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
        signature = whole(parts.content(), limit_bytes=_SIGNATURE_BYTES)
        part = parts.next_part()
    if part is None or part.name != "file":
        raise InputError("the form lacks its part 'file' at this place; send the parts in their order")
    return signature, part


@router.post("/requests/{request_id}/fulfilment", response_model=records.Release, summary="Fulfil with a known release")
def fulfil(call: Write, request_id: IdPath, chosen: bodies.Fulfilment) -> Response:
    """Give an approved request a verified release of the same configuration that is there already."""
    return call.once(
        records.Release,
        lambda work: releases.fulfil(work, request_id=request_id, release_id=chosen.release_id),
        body=chosen,
    )


@router.get("/releases/{release_id}", response_model=records.Release, summary="One release")
def one(call: Read, release_id: IdPath) -> Any:
    """One release with its certificate."""
    with call.read() as work:
        return releases.release(work, release_id=release_id)


@router.get(
    "/releases/{release_id}/certificate",
    response_model=dict[str, Any],
    summary="A certificate",
)
def certificate(call: Read, release_id: IdPath) -> Response:
    """The certificate as a file for `aegis verify`, with its own hash."""
    with call.read() as work:
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
                    "schema": {"type": "string", "enum": [each.value for each in Standing]},
                }
            },
        }
    },
    summary="Download a release",
)
def download(call: Read, release_id: IdPath) -> Response:
    """The bytes of a verified release, for those who may have it; each download is on the record."""
    with call.catalog.write(call.actor) as work:
        opened = releases.open_download(work, release_id=release_id)
    headers = {
        "Content-Length": str(opened.release.bytes),
        "Content-Disposition": attachment(opened.release.file_name),
        "ETag": f'"{opened.release.digest}"',
        PRESENT_POLICY: opened.release.present_policy.standing.value,
    }
    return StreamingResponse(chunks_of(opened.stream), media_type="application/octet-stream", headers=headers)


@router.post("/releases/{release_id}/withdraw", response_model=records.Release, summary="Withdraw a release")
def withdraw(call: Write, release_id: IdPath, why: bodies.Withdrawal) -> Response:
    """Nobody can download it any more; a request that it fulfilled is revoked."""
    return call.once(
        records.Release, lambda work: releases.withdraw(work, release_id=release_id, reason=why.reason), body=why
    )


@router.get("/releases/{release_id}/lineage", response_model=records.Lineage, summary="Where it comes from")
def show_lineage(call: Read, release_id: IdPath) -> Any:
    """The counts, the configuration, those who hold it, and its versions."""
    with call.read() as work:
        return lineage.lineage(work, release_id=release_id)
