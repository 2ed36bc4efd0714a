"""Ed25519 signatures of certificates: who vouches for a release.

A certificate's own hash finds accidents and edits; whoever can replace the certificate can make a new hash. A signature
cannot be made without the provider's private key. It stands in a file of its own beside the certificate and covers the
certificate's hash, and with it the hash of the released file, the configuration, the policy and the request that the
release was made for. The cryptography is that of the package ``cryptography``; nothing of it is our own.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aegis.data.output import PRIVATE, PUBLIC, check_free, drafts_of
from aegis.errors import DataError, InputError, MissingExtraError, VerificationError
from aegis.operation import word
from aegis.releases.certificate import digest
from aegis.releases.hashed_json import without_repeated_keys

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

FORMAT_VERSION = 1
_ALGORITHM = "ed25519"
_PREFIX = "aegis-ed25519"
_PURPOSE = b"aegis release certificate v1\n"  # a signature made for this is good for nothing else


@dataclass(frozen=True, slots=True)
class PublicKey:
    """The part of a key that everybody may have: 32 bytes, written ``aegis-ed25519 BASE64``."""

    raw: bytes

    def __post_init__(self) -> None:
        if len(self.raw) != 32:
            raise InputError("an Ed25519 public key has 32 bytes; give the .pub file that aegis key new wrote")

    @property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that name the key."""
        return hashlib.sha256(self.raw).hexdigest()[:16]

    @property
    def text(self) -> str:
        """As a .pub file holds it."""
        return f"{_PREFIX} {base64.b64encode(self.raw).decode()}"

    @classmethod
    def parse(cls, text: str) -> PublicKey:
        """Read what `text` writes; `InputError` for anything else."""
        parts = text.split()
        if len(parts) != 2 or parts[0] != _PREFIX:
            raise InputError(f"this is no public key of Aegis; it is one line: {_PREFIX} and its base64 text")
        try:
            return cls(base64.b64decode(parts[1], validate=True))
        except (binascii.Error, ValueError):
            raise InputError("the public key is damaged: its base64 text cannot be read") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """A detached signature with the fingerprint of the key that made it."""

    key: str
    raw: bytes

    def to_json(self) -> str:
        """The file beside the certificate."""
        content = {
            "aegis_signature": FORMAT_VERSION,
            "algorithm": _ALGORITHM,
            "key": self.key,
            "signature": base64.b64encode(self.raw).decode(),
        }
        return json.dumps(content, indent=1) + "\n"

    @classmethod
    def parse(cls, text: str | bytes) -> Signature:
        """Read what `to_json` writes; `VerificationError` for anything else, cut files among it."""
        try:
            content = json.loads(text, object_pairs_hook=without_repeated_keys)
            if content["aegis_signature"] != FORMAT_VERSION or content["algorithm"] != _ALGORITHM:
                raise VerificationError("the signature is of another format; verify it with the Aegis that wrote it")
            return cls(key=str(content["key"]), raw=base64.b64decode(content["signature"], validate=True))
        except (ValueError, KeyError, TypeError, RecursionError):
            raise VerificationError("the signature cannot be read: it is damaged or cut short") from None


def signature_path(certificate: Path) -> Path:
    """Where the signature of a certificate stands.

    >>> signature_path(Path("clinic.csv.certificate.json")).name
    'clinic.csv.certificate.json.sig'
    """
    return certificate.with_name(f"{certificate.name}.sig")


def public_path(key: Path) -> Path:
    """Where the public part of a private key stands."""
    return key.with_name(f"{key.name}.pub")


def make_key(path: Path) -> PublicKey:
    """Write a new private key, readable by its owner only, and its public part beside it; nothing is overwritten."""
    _, serialization = _cryptography()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    check_free(path, public_path(path), overwrite=False)
    private_key = Ed25519PrivateKey.generate()
    public = _public_of(private_key)
    secret = private_key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    with drafts_of([path, public_path(path)], modes=[PRIVATE, PUBLIC]) as (private, shared):
        private.write_bytes(secret)
        shared.write_text(public.text + "\n", encoding="utf-8")
    return public


def read_private(path: Path) -> Ed25519PrivateKey:
    """A private key; refused where others could read the file."""
    _, serialization = _cryptography()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    try:
        if os.name == "posix" and path.stat().st_mode & 0o077:
            raise InputError(f"the key {path} can be read by others; chmod 600 it, and make a new one if they did")
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except OSError:
        raise DataError(f"there is no readable key {path}; make one with: aegis key new {word(path)}") from None
    except (ValueError, TypeError):
        raise DataError(f"{path.name} is no private key of Aegis; give the file that aegis key new wrote") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise DataError(f"{path.name} is a key of another kind than Ed25519; make one with aegis key new")
    return key


def read_public(path: Path) -> PublicKey:
    """A public key, from its own file or from a private key."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise DataError(f"there is no readable key {path}; check the path") from None
    return _public_of(read_private(path)) if "PRIVATE KEY" in text else PublicKey.parse(text)


def sign(content: Mapping[str, Any], key: Ed25519PrivateKey) -> Signature:
    """Sign the content of a certificate."""
    return Signature(key=_public_of(key).fingerprint, raw=key.sign(_message(content)))


def check_signature(content: Mapping[str, Any], signature: Signature, key: PublicKey) -> None:
    """Raise `VerificationError` unless ``key`` signed this very certificate."""
    _cryptography()
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    if signature.key != key.fingerprint:
        raise VerificationError(
            f"the certificate was signed with the key {signature.key[:16]!r} and not with {key.fingerprint!r}"
        )
    try:
        Ed25519PublicKey.from_public_bytes(key.raw).verify(signature.raw, _message(content))
    except (InvalidSignature, ValueError):
        raise VerificationError(
            "the signature is not of this certificate: one of them was changed or belongs to another release"
        ) from None


def _message(content: Mapping[str, Any]) -> bytes:
    return _PURPOSE + digest(dict(content)).encode()


def _public_of(key: Ed25519PrivateKey) -> PublicKey:
    _, serialization = _cryptography()
    return PublicKey(key.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw))


def _cryptography() -> tuple[Any, Any]:
    try:
        import cryptography
        from cryptography.hazmat.primitives import serialization
    except ImportError:
        raise MissingExtraError(feature="signing", extra="sign") from None
    return cryptography, serialization
