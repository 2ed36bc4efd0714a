"""What is promised of a released file: the policy, what was measured on the written table, and hashes.

A certificate detects accidents and edits, of the file and of itself. Whoever can replace both can forge both, unless
it is signed (`aegis.releases.signature`). It holds column names, counts, thresholds and masks, and never a value of a
record.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aegis.errors import DataError, VerificationError
from aegis.releases.certificate_kinds import MARKS, SANITIZED, CertificateKind, kind_of
from aegis.releases.hashed_json import RepeatedKeyError, without_repeated_keys


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """The content of a certificate, as written."""

    content: dict[str, Any]

    @property
    def file_sha256(self) -> str:
        return str(self.content["release"]["sha256"])

    @property
    def kind(self) -> CertificateKind:
        """What the certificate is of; `VerificationError` where it is not of exactly one kind."""
        return kind_of(self.content, name="the certificate")

    def to_json(self) -> str:
        """The document, with the hash of its own content."""
        whole = {**self.content, "certificate_sha256": digest(self.content)}
        return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def digest(content: dict[str, Any]) -> str:
    """The hash of a document, whatever the order of its keys.

    >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    True
    """
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def read_certificate(path: Path) -> Certificate:
    """Read a certificate and check that nobody changed it.

    A file that is no certificate at all is bad input (`DataError`); one that was changed, or is not of exactly one
    kind, is a failed verification.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=without_repeated_keys)
    except FileNotFoundError:
        raise DataError(f"there is no certificate {path}; give the .certificate.json beside the release") from None
    except RepeatedKeyError:
        raise VerificationError(
            f"{path.name} says something twice, so that two readers may read it differently; ask for the original"
        ) from None
    except (OSError, ValueError):
        raise DataError(
            f"{path.name} is not a certificate: it is not readable JSON; give the .certificate.json"
        ) from None
    # Either mark is enough to take it for a certificate, so that one without the other counts as changed.
    if not isinstance(content, dict) or not (MARKS | {"certificate_sha256"}) & set(content):
        raise DataError(f"{path.name} is not a certificate of Aegis; give the .certificate.json")
    stated = content.pop("certificate_sha256", None)
    if stated != digest(content):
        raise VerificationError(
            f"{path.name} was changed after it was written: its own hash does not match; ask for the original"
        )
    kind_of(content, name=path.name)
    return Certificate(content=content)


def certificate_paths(release: Path) -> tuple[Path, Path]:
    """Where the certificate of a release stands: JSON and HTML.

    >>> [path.name for path in certificate_paths(Path("out/clinic.parquet"))]
    ['clinic.parquet.certificate.json', 'clinic.parquet.certificate.html']
    """
    return (
        release.with_name(f"{release.name}.certificate.json"),
        release.with_name(f"{release.name}.certificate.html"),
    )


def sanitized_columns(release: Path) -> tuple[tuple[str, ...], str | None]:
    """The columns of a file that hold what a sanitizer released, and the policy that their true values satisfy.

    They are named by the certificate beside the file; a file without one, or one that was changed since, has none.
    """
    path = certificate_paths(release)[0]
    if not path.is_file() or not release.is_file():
        return (), None
    try:
        content = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=without_repeated_keys)
        if SANITIZED not in content or content["release"]["sha256"] != hash_of(release):
            return (), None
        return tuple(str(name) for name in content["released"]), content["policy_id"]
    except (OSError, ValueError, KeyError, TypeError):
        return (), None


def hash_of(path: Path) -> str:
    """The SHA-256 of a file, as certificates state it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
