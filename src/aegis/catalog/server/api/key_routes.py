"""The keys that one signs certificates with."""

from __future__ import annotations

from aegis.catalog import records
from aegis.catalog.server.api import bodies
from aegis.catalog.server.api.bodies import IdPath
from aegis.catalog.server.api.calls import ApiRouter
from aegis.catalog.service import signing_keys
from aegis.catalog.service.catalog import Work

router = ApiRouter(prefix="/keys", tags=["keys"])


@router.reads("", "Signing keys")
def list_keys(work: Work) -> records.SigningKeys:
    """One's own keys, the newest first."""
    return records.SigningKeys(items=signing_keys.list_keys(work))


@router.writes("", "Register a signing key", status=201)
def register(work: Work, body: bodies.NewSigningKey) -> records.SigningKey:
    """The public part, as `aegis key show` prints it. A token registers no keys: this needs a session."""
    return signing_keys.register(work, **body.keywords())


@router.writes("/{key_id}/revoke", "Revoke a signing key")
def revoke(work: Work, key_id: IdPath) -> records.SigningKey:
    """What arrives signed with it counts no longer; twice is no error."""
    return signing_keys.revoke(work, key_id=key_id)
