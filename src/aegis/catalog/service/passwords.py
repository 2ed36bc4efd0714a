"""Passwords and other secrets: argon2 for what people choose, a plain hash for what is drawn at random."""

from __future__ import annotations

import hashlib
import secrets
import threading
from functools import lru_cache
from typing import Any

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError, VerifyMismatchError

from aegis.catalog.settings import Settings
from aegis.errors import InputError

MOST_CHARACTERS = 512
_AT_ONCE = threading.BoundedSemaphore(4)
"""Each argon2 hash takes tens of megabytes: a crowd that signs in together waits its turn."""


def new_secret() -> str:
    """256 random bits as text."""
    return secrets.token_urlsafe(32)


def hash_of(secret: str) -> str:
    """How a random secret is remembered. It cannot be guessed, so it needs no slow hash."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def hash_password(settings: Settings, password: Any) -> str:
    """The slow hash of a password that is good enough."""
    if not isinstance(password, str) or not settings.password_characters <= len(password) <= MOST_CHARACTERS:
        raise InputError(f"a password has {settings.password_characters} to {MOST_CHARACTERS} characters")
    if len(set(password)) < 4:
        raise InputError("the password repeats a few characters; choose another one")
    with _AT_ONCE:
        return _hasher(settings).hash(password.encode("utf-8", "surrogatepass"))


def is_password(settings: Settings, password_hash: str | None, password: Any) -> bool:
    """Whether the password is the known one; as slow where none is known, so that names cannot be probed."""
    if not isinstance(password, str) or len(password) > MOST_CHARACTERS:
        return False
    expected = password_hash or _decoy(settings)
    try:
        with _AT_ONCE:
            _hasher(settings).verify(expected, password.encode("utf-8", "surrogatepass"))
    except (VerifyMismatchError, VerificationError, InvalidHashError):
        return False
    return password_hash is not None


@lru_cache(maxsize=8)
def _hasher(settings: Settings) -> PasswordHasher:
    return PasswordHasher(
        time_cost=settings.argon2_time_cost,
        memory_cost=settings.argon2_memory_kib,
        parallelism=settings.argon2_lanes,
    )


@lru_cache(maxsize=8)
def _decoy(settings: Settings) -> str:
    return _hasher(settings).hash(secrets.token_bytes(32))
