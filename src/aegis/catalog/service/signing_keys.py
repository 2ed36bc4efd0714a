"""The keys that providers sign certificates with: registered by themselves, asked for when something arrives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import select

from aegis.catalog import records
from aegis.catalog.database.tables import ProviderKey, Release
from aegis.catalog.records import record_of
from aegis.catalog.service.catalog import Work
from aegis.catalog.service.checks import checked_line
from aegis.catalog.service.permissions import Permission, require
from aegis.errors import ConflictError, InputError, NotFoundError, VerificationError
from aegis.releases.signature import PublicKey, Signature, check_signature

MOST_KEYS = 20


def register(work: Work, *, name: str, public: str) -> records.SigningKey:
    """Register the public part of a key as one's own, as `aegis key show` prints it. Not with a token."""
    require(work.actor, Permission.MANAGE_OWN_KEYS)
    named = checked_line(name, what="the key's name", most=80)
    if not isinstance(public, str) or len(public) > 200:
        raise InputError("a public key is one line, as aegis key show prints it")
    key = PublicKey.parse(public)
    if len(_mine(work)) >= MOST_KEYS:
        raise ConflictError(f"nobody needs more than {MOST_KEYS} keys; revoke one first")
    if work.session.scalar(select(ProviderKey.id).where(ProviderKey.fingerprint == key.fingerprint)) is not None:
        raise ConflictError("this key is registered already, and one that was revoked never counts again")
    row = work.add(
        ProviderKey(user_id=work.user_id, name=named, public=key.text, fingerprint=key.fingerprint, created_at=work.now)
    )
    work.record("signing key registered", row, fingerprint=row.fingerprint)
    return _view(row)


def list_keys(work: Work) -> tuple[records.SigningKey, ...]:
    """One's own keys, the newest first."""
    require(work.actor, Permission.MANAGE_OWN_KEYS)
    return tuple(_view(row) for row in _mine(work))


def revoke(work: Work, *, key_id: str) -> records.SigningKey:
    """What is signed with it counts no longer when it arrives; releases that are there stay. Twice is no error."""
    require(work.actor, Permission.MANAGE_OWN_KEYS)
    row = next((key for key in _mine(work) if key.id == key_id), None)
    if row is None:
        raise NotFoundError("there is no such key of yours; look at the list")
    if row.revoked_at is None:
        row.revoked_at = work.now
        work.record("signing key revoked", row, fingerprint=row.fingerprint)
    return _view(row)


def check_signed(
    work: Work, *, certificate: Mapping[str, Any], signature: bytes | str | None, user_id: str
) -> dict[str, Any] | None:
    """Raise unless the certificate is signed with a key of this person, where one is asked for; gives the signature.

    A signature that is there is always checked. ``signature`` is the .sig file beside the certificate.
    """
    if signature is None:
        if work.settings.signatures_required:
            raise VerificationError(
                "this catalog takes signed releases only; register a key (aegis key new), and release with --sign"
            )
        return None
    read = Signature.parse(signature)
    row = work.session.scalar(
        select(ProviderKey).where(ProviderKey.fingerprint == read.key, ProviderKey.user_id == user_id)
    )
    if row is None:
        raise VerificationError(
            "the release is signed with a key that whoever pushed it did not register; register it under Your account"
        )
    if row.revoked_at is not None:
        raise VerificationError("the release is signed with a key that was revoked; sign it with another one")
    check_signature(certificate, read, PublicKey.parse(row.public))
    return {"key": read.key, "text": read.to_json()}


def check_still_signed(work: Work, release: Release) -> None:
    """Raise where the key that a release was signed with was revoked since, or a signature is asked for by now."""
    text = None if release.signature is None else release.signature["text"]
    check_signed(work, certificate=release.certificate, signature=text, user_id=release.pushed_by)


def _mine(work: Work) -> list[ProviderKey]:
    mine = select(ProviderKey).where(ProviderKey.user_id == work.actor.user_id)
    return list(work.session.scalars(mine.order_by(ProviderKey.created_at.desc())))


def _view(row: ProviderKey) -> records.SigningKey:
    return record_of(records.SigningKey, row, valid=row.revoked_at is None)
