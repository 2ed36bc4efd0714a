"""The keys that one signs certificates with."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from aegis.catalog import records
from aegis.catalog.server.api import bodies
from aegis.catalog.server.api.bodies import IdPath
from aegis.catalog.server.api.calls import JsonRoute, Read, Write
from aegis.catalog.service import signing_keys

router = APIRouter(prefix="/keys", tags=["keys"], route_class=JsonRoute)


@router.get("", response_model=records.SigningKeys, summary="Signing keys")
def list_keys(call: Read) -> Any:
    """One's own keys, the newest first."""
    with call.read() as work:
        return records.SigningKeys(items=signing_keys.list_keys(work))


@router.post("", response_model=records.SigningKey, status_code=201, summary="Register a signing key")
def register(call: Write, body: bodies.NewSigningKey) -> Response:
    """The public part, as `aegis key show` prints it. A token registers no keys: this needs a session."""
    return call.once(
        records.SigningKey,
        lambda work: signing_keys.register(work, name=body.name, public=body.public),
        body=body,
        status=201,
    )


@router.post("/{key_id}/revoke", response_model=records.SigningKey, summary="Revoke a signing key")
def revoke(call: Write, key_id: IdPath) -> Response:
    """What arrives signed with it counts no longer; twice is no error."""
    return call.once(records.SigningKey, lambda work: signing_keys.revoke(work, key_id=key_id))
