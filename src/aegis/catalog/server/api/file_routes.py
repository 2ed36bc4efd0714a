"""Summaries and releases: what is pushed and fetched as files, and what is said of them."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any

from fastapi import Query, Request
from starlette.responses import Response

from aegis.catalog import records
from aegis.catalog.records import Standing
from aegis.catalog.server.api import bodies
from aegis.catalog.server.api.bodies import Id, IdPath, ProductPath
from aegis.catalog.server.api.calls import ApiRouter, Read, Write, WriteCall
from aegis.catalog.server.uploads import SIGNATURE_BYTES, Multipart, Part, body_of, sent_file, uploading, whole
from aegis.catalog.service import arrivals, releases, summaries
from aegis.catalog.service.catalog import Work, again_if_undone
from aegis.catalog.service.certificates import certificate_text
from aegis.errors import InputError, NotFoundError

PRESENT_POLICY = "Aegis-Present-Policy"
ARCHIVES = ("application/octet-stream", "application/x-tar", "application/gzip", "application/zip")
_BINARY = {"schema": {"type": "string", "format": "binary"}}
_ARCHIVE: dict[str, Any] = {"requestBody": {"required": True, "content": dict.fromkeys(ARCHIVES, _BINARY)}}

# Summaries

of_summaries = ApiRouter(prefix="/products/{product}", tags=["summaries"])
of_summaries.reads("/summaries", "All summaries", summaries.list_summaries)


@of_summaries.post(
    "/summaries", response_model=records.Summary, status_code=201, summary="Push a summary", openapi_extra=_ARCHIVE
)
async def push_summary(call: Write, request: Request, product: ProductPath) -> Response:
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


def current_summary(work: Work, *, product: str) -> records.Summary:
    """The summary that counts now."""
    summary = summaries.current(work, product=product)
    if summary is None:
        raise NotFoundError("the product has no summary yet; its provider pushes one with aegis push")
    return summary


of_summaries.reads("/summary", "The current summary", current_summary)


def summary_archive(work: Work, *, product: str) -> Response:
    """The archive as it was pushed, for those who work on the product."""
    opened = summaries.open_archive(work, product=product)
    return sent_file(opened.stream, name="summary", size_bytes=opened.summary.bytes)


of_summaries.reads(
    "/summary/file",
    "The current summary's archive",
    summary_archive,
    response_class=Response,
    response_model=None,
    responses={200: {"content": {"application/octet-stream": _BINARY}}},
)
of_summaries.reads("/histograms", "Published distributions", summaries.histograms)

# Releases

of_releases = ApiRouter(tags=["releases"])
of_releases.reads("/products/{product}/releases", "Releases of a product", releases.list_releases)
of_releases.reads("/releases/{release_id}", "One release", releases.release)
of_releases.reads("/releases/{release_id}/lineage", "Where it comes from", releases.lineage)
of_releases.writes("/releases/{release_id}/withdraw", "Withdraw a release", releases.withdraw, body=bodies.Withdrawal)
of_releases.writes(
    "/requests/{request_id}/fulfilment", "Fulfil with a known release", releases.fulfil, body=bodies.Fulfilment
)


def certificate(work: Work, *, release_id: str) -> Response:
    """The certificate as a file for `aegis verify`, with its own hash."""
    content = releases.release(work, release_id=release_id).certificate
    return Response(certificate_text(content), media_type="application/json")


of_releases.reads("/releases/{release_id}/certificate", "A certificate", certificate, response_model=dict[str, Any])

_FORM: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["certificate", "file"],
                    "properties": {
                        name: {"type": "string", "format": "binary", "description": words}
                        for name, words in (
                            ("certificate", "The .certificate.json; it comes before the file."),
                            ("signature", "The .sig beside the certificate, where it is signed; before the file."),
                            ("file", "The released table."),
                        )
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


@of_releases.post(
    "/products/{product}/releases",
    response_model=records.Release,
    status_code=201,
    summary="Push a release",
    openapi_extra=_FORM,
)
async def push_release(
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


@of_releases.get(
    "/releases/{release_id}/file",
    response_class=Response,
    responses={
        200: {
            "content": {"application/octet-stream": _BINARY},
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
    release = opened.release
    headers = {"ETag": f'"{release.digest}"', PRESENT_POLICY: release.present_policy.standing.value}
    return sent_file(opened.stream, name=release.file_name, size_bytes=release.bytes, headers=headers)
