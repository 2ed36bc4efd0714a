"""What a certificate is of: masks, boxes, synthetic rows or a sanitizer, and what each of them says.

A certificate is of exactly one kind and has the parts of that kind, no others. A document that also has a part of
another kind could be read as either, and what one reading checks the other leaves open.
"""

from __future__ import annotations

import datetime
import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aegis.errors import VerificationError

FORMAT_VERSION = 1
MEASURED = "aegis_certificate"
SANITIZED = "aegis_sanitizer_certificate"
SYNTHESIZED = "aegis_synthesis_certificate"
MARKS = frozenset({MEASURED, SANITIZED, SYNTHESIZED})


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
        | {"fitted_configuration_id", "group_records", "group_values", "utility", "ledger", "attacks", "for"},
    ),
    CertificateKind.BOXES: _Parts(mark=MEASURED, own="recoding", needed=_JUDGED, possible=_ABOUT),
    CertificateKind.SYNTHETIC: _Parts(
        mark=SYNTHESIZED,
        needed=frozenset(
            {"release", "source", "promise", "private", "rho", "found_delta", "measured", "columns", "left_out"}
        ),
        possible=frozenset({"software", "date", "noise", "label", "ledger"}),
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
