"""What is promised of a released file: the policy, what was measured on the written table, and hashes.

A certificate detects accidents and edits, of the file and of itself. Whoever can replace both can forge both, unless
it is signed (`aegis.releases.signature`). It holds column names, counts, thresholds and masks, and never a value of a
record.

It is of exactly one kind (masks, boxes, synthetic rows or a sanitizer) and has the parts of that kind, no others. A
document that also has a part of another kind could be read as either, and what one reading checks the other leaves
open.
"""

from __future__ import annotations

import datetime
import enum
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aegis._version import __version__
from aegis.errors import DataError, VerificationError
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


def certificate_beside(release: Path, *, otherwise: str) -> Certificate | None:
    """The certificate beside a released file; None where there is none.

    Raises where it is of another file: ``otherwise`` says what to do then.
    """
    path = certificate_paths(release)[0]
    if not path.is_file():
        return None
    certificate = read_certificate(path)
    if certificate.file_sha256 != hash_of(release):
        raise VerificationError(f"the certificate beside {release.name} is not of this file; {otherwise}")
    return certificate


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


FORMAT_VERSION = 1
MEASURED = "aegis_certificate"
SANITIZED = "aegis_sanitizer_certificate"
SYNTHESIZED = "aegis_synthesis_certificate"
MARKS = frozenset({MEASURED, SANITIZED, SYNTHESIZED})


def certificate_head(
    mark: str, *, release: Mapping[str, Any], source: Mapping[str, Any], engine: str | None = None
) -> dict[str, Any]:
    """What every certificate begins with: its mark, what made it and when, the release and its source."""
    return {
        mark: FORMAT_VERSION,
        "software": {"aegis": __version__, **({} if engine is None else {"engine": engine})},
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "release": release,
        "source": source,
    }


class CertificateKind(enum.StrEnum):
    """How the table was made that a certificate speaks of."""

    MASKS = "masks"
    BOXES = "boxes"
    SYNTHETIC = "synthetic rows"
    SANITIZER = "a sanitizer"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """``mark`` says the format, ``own`` the part by which kinds of one mark are told apart."""

    mark: str
    own: str | None = None
    needed: frozenset[str]
    possible: frozenset[str] = frozenset()

    @property
    def all(self) -> frozenset[str]:
        return frozenset({self.mark}) | ({self.own} if self.own is not None else set()) | self.needed | self.possible


_JUDGED = frozenset({"release", "source", "roles", "kinds", "hierarchies", "policy", "suppressed", "verdicts"})
_JUDGED |= {"classes", "smallest_class"}
_ABOUT = frozenset({"software", "date", "policy_id", "unit"})
_KINDS = {
    CertificateKind.MASKS: _Parts(
        mark=MEASURED,
        own="configuration",
        needed=_JUDGED,
        possible=_ABOUT
        # Certificates had a digest of the fitted masks once, by which whoever guessed an edge could confirm it.
        | {"fitted_configuration_id", "group_records", "group_values", "utility", "ledger", "attacks", "for"},
    ),
    CertificateKind.BOXES: _Parts(mark=MEASURED, own="recoding", needed=_JUDGED, possible=_ABOUT),
    CertificateKind.SYNTHETIC: _Parts(
        mark=SYNTHESIZED,
        needed=frozenset(
            {"release", "source", "promise", "private", "rho", "found_delta", "measured", "columns", "left_out"}
        ),
        possible=frozenset({"software", "date", "noise", "label", "ledger", "types_read_off_rows"}),
    ),
    CertificateKind.SANITIZER: _Parts(
        mark=SANITIZED,
        needed=frozenset({"release", "source", "recipients", "released", "caps", "audits", "policy", "policy_id"}),
        possible=frozenset(
            {"software", "date", "sanitized", "loss", "filled", "written", "judged", "ledger", "verdicts"}
        ),
    ),
}


def kind_of(content: Mapping[str, Any], *, name: str) -> CertificateKind:
    """The one kind that a certificate is of; ``name`` is what sentences call it.

    `VerificationError` where it has the marks of two kinds or of none, another format, or a part that its kind does
    not have.
    """
    marks = MARKS & set(content)
    possible = [
        kind for kind, parts in _KINDS.items() if parts.mark in marks and (parts.own is None or parts.own in content)
    ]
    if len(marks) > 1 or len(possible) > 1:
        raise VerificationError(
            f"{name} has the marks of more than one kind of certificate and could be read in two ways; ask for the "
            "original, which is of one kind"
        )
    if not possible:
        raise VerificationError(
            f"{name} does not say what it is of (masks, boxes, synthetic rows or a sanitizer): it was changed after it "
            "was written; ask for the original"
        )
    kind = possible[0]
    parts = _KINDS[kind]
    version = content[parts.mark]
    if isinstance(version, bool) or version != FORMAT_VERSION:
        raise VerificationError(f"{name} has another certificate format; verify it with the Aegis that wrote it")
    foreign = set(content) - parts.all
    if foreign:
        misplaced = sorted(foreign & frozenset().union(*(kind.all for kind in _KINDS.values())))
        which = f"the part {misplaced[0]!r}" if misplaced else "a part"
        raise VerificationError(
            f"{name} is a certificate of {kind.value} and has {which} that such a one does not have; ask for the "
            "original, or verify it with the Aegis that wrote it"
        )
    lacking = sorted(parts.needed - set(content))
    if lacking:
        raise VerificationError(
            f"{name} lacks the part {lacking[0]!r} of a certificate of {kind.value}: it was changed after it was "
            "written; ask for the original"
        )
    if not isinstance(content["release"], dict) or not isinstance(content["release"].get("sha256"), str):
        raise VerificationError(f"{name} does not name the hash of its release; ask for the original")
    if "date" in content and not _is_date(content["date"]):
        raise VerificationError(
            f"{name} has a date that is none: it was changed after it was written; ask for the original"
        )
    return kind


def _is_date(text: Any) -> bool:
    """Whether it is a time as certificates write it, the zone included."""
    try:
        return datetime.datetime.fromisoformat(text).tzinfo is not None
    except (TypeError, ValueError):
        return False
