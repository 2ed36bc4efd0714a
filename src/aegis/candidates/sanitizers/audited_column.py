"""What is known about the release of one column: its audit, what was proved, what parties believe; what is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np

from aegis.arrays import Ints
from aegis.candidates.sanitizers.audit import AuditReport
from aegis.candidates.sanitizers.encoding import Encoder
from aegis.candidates.sanitizers.mechanism import Mechanism
from aegis.candidates.sanitizers.posterior import Belief, CertainPart, Certainty
from aegis.candidates.sanitizers.proof import Proof
from aegis.errors import VerificationError
from aegis.plural import count
from aegis.result import rebuilt

CERTAIN_CAP = 0.01  # records whose value is determined, beyond those that side information alone determines
VALUE_CAP = 0.05  # the same among the records of any one category
MEASURED_ROWS = 4_000
_FEWEST = 20  # measured records of a category from which its own share is judged
Loss = Literal["zero-one", "costs", "log", "squared"]
_LITTLE = 1.05  # times the error of the authorised party: an adversary that errs less is hardly kept from anything


@dataclass(frozen=True, slots=True, kw_only=True)
class TooCertain:
    """An adversary for whom a release determines too many records: their share without it and with it, and the cap."""

    adversary: int
    before: float
    after: float
    allowed: float
    of_one_value: bool


def too_certain(before: Sequence[Certainty], after: Sequence[Certainty], *, codes: Ints | None) -> TooCertain | None:
    """The first adversary for whom too many records are determined; None where none is."""
    for number, (then, now) in enumerate(zip(before, after, strict=True), start=1):
        if now.certain > then.certain + CERTAIN_CAP:
            return TooCertain(
                adversary=number, before=then.certain, after=now.certain, allowed=CERTAIN_CAP, of_one_value=False
            )
        if codes is not None:
            held = np.bincount(codes[:MEASURED_ROWS], minlength=len(now.by_value))
            for was, share, records in zip(then.by_value, now.by_value, held, strict=True):
                if records >= _FEWEST and share > was + VALUE_CAP:
                    return TooCertain(adversary=number, before=was, after=share, allowed=VALUE_CAP, of_one_value=True)
    return None


def refuse_certain(column: str, before: Sequence[Certainty], after: Sequence[Certainty], *, codes: Ints | None) -> None:
    """Refuse a release that determines too many records for an adversary that knows how it was made."""
    excess = too_certain(before, after, codes=codes)
    if excess is not None:
        whose = "the records with one value" if excess.of_one_value else "the records"
        raise VerificationError(
            f"the release of column '{column}' would determine {100 * excess.after:.1f} % of {whose} for adversary "
            f"{excess.adversary}, who knows how it was made and is sure of {100 * excess.before:.1f} % without it; at "
            f"most {count(round(100 * excess.allowed), 'point')} more may be: allow more distortion"
        )


def too_certain_part(parts: Sequence[CertainPart], *, records: int | None = None) -> CertainPart | None:
    """The first column of tuples that is determined by itself for too many records; None where none is.

    ``records`` allows for the chance of a drawing that was measured on so many.
    """
    for part in parts:
        chance = 0.0 if records is None else 3 * np.sqrt(max(part.after * (1 - part.after), 1e-4) / records)
        if part.after > part.before + CERTAIN_CAP + chance:
            return part
    return None


def refuse_certain_parts(column: str, parts: Sequence[CertainPart], *, records: int | None = None) -> None:
    """Refuse tuples that stay in doubt while a column of them does not."""
    part = too_certain_part(parts, records=records)
    if part is not None:
        raise VerificationError(
            f"the tuples of column '{column}' determine '{part.column}' by itself for {100 * part.after:.1f} % of the "
            f"records ({100 * part.before:.1f} % without them), although no tuple is; nothing is written: allow more "
            "distortion, ask for --local-dp, or release the columns one after the other (without --jointly)"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Protection:
    """What the exact posterior of one adversary comes to on rows of its own: without and with the release.

    ``noise`` is plain noise of the same *measured* distortion, for a number.
    """

    before: Certainty
    after: Certainty
    noise: Certainty | None = None


def protections(
    before: Sequence[Certainty], after: Sequence[Certainty], noise: Sequence[Certainty] | None = None
) -> tuple[Protection, ...]:
    """What each adversary comes to without and with the release."""
    beside: Sequence[Certainty | None] = [None] * len(before) if noise is None else noise
    return tuple(
        Protection(before=then, after=now, noise=other) for then, now, other in zip(before, after, beside, strict=True)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconstruction:
    """The error of the reconstructor that the authorised party gets, on rows that nothing was fitted on."""

    loss: float
    interval: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizedGroup:
    """How much one authorised group may err, what it errs by without any release, and what its reconstructor reaches.

    Squared units of the column for a number; shares of wrong guesses, mean costs or bits for a category.
    """

    distortion: float
    max_distortion: float
    reconstruction: Reconstruction


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Party:
    """What one party knows, as numbers, and what it believes."""

    encoder: Encoder
    belief: Belief


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedColumn:
    """The audit of one column's release and the figures that frame it.

    ``groups`` are the authorised groups, mostly one. ``saturation_losses`` are the adversaries' errors when nothing is
    released, ``protection`` is what each adversary that knows the mechanism comes to. ``proof`` is there for releases
    that the program under caps found. ``loss`` is how errors are counted: ``squared`` for a number; for a category the
    share of wrong guesses (``zero-one``), a mean of given ``costs``, or the ``log`` loss in bits.
    """

    column: str
    method: str
    groups: tuple[AuthorizedGroup, ...]
    saturation_losses: tuple[float, ...]
    audit: AuditReport
    protection: tuple[Protection, ...]
    proof: Proof | None = None
    loss: Loss = "zero-one"

    @property
    def distortion(self) -> float:
        """What was asked for the first group."""
        return self.groups[0].distortion

    @property
    def max_distortion(self) -> float:
        """What the first group errs by when nothing is released."""
        return self.groups[0].max_distortion

    @property
    def reconstruction(self) -> Reconstruction:
        """What the reconstructor of the first group reaches."""
        return self.groups[0].reconstruction

    @property
    def determined(self) -> float:
        """The share of records whose value is determined for the adversary that knows most."""
        return max(protection.after.certain for protection in self.protection)

    @property
    def determined_before(self) -> float:
        """The share of records whose value the same adversary is sure of without the release."""
        return max(self.protection, key=lambda protection: protection.after.certain).before.certain

    @property
    def unprotected(self) -> tuple[str, ...]:
        """From which adversaries the release protects nothing, or next to nothing, in a sentence each."""
        if self.method.startswith("silence"):
            return ()
        least = min(group.reconstruction.loss for group in self.groups)
        words = []
        for number, party in enumerate(self.audit.adversaries, start=1):
            if party.loss <= least:
                words.append(f"adversary {number} errs no more than the authorised party: nothing protects from it")
            elif party.loss < _LITTLE * least:
                words.append(
                    f"adversary {number} errs by {party.loss:.4g}, hardly more than the authorised party "
                    f"({least:.4g}): next to nothing protects from it"
                )
        return tuple(words)

    @property
    def cautions(self) -> tuple[str, ...]:
        """What is to be known of a release that is only a candidate: as above, and that it would not be written."""
        try:
            refuse_unprotected(self)
        except VerificationError:
            return (*self.unprotected, "aegis sanitize would refuse it (unless --despite-adversary is said)")
        return self.unprotected

    def to_json(self) -> dict[str, Any]:
        """The audit report as plain numbers; shares by value are in the order of the column's values."""
        return {
            "column": self.column,
            "method": self.method,
            "loss": self.loss,
            "target": self.distortion,
            "max_distortion": self.max_distortion,
            "saturation_losses": list(self.saturation_losses),
            "reconstruction": asdict(self.reconstruction),
            "groups": [asdict(group) for group in self.groups],
            "protection": [asdict(protection) for protection in self.protection],
            "proof": None if self.proof is None else self.proof.to_json(),
            "audit": self.audit.to_json(),
        }

    @staticmethod
    def from_json(content: Mapping[str, Any]) -> AuditedColumn:
        """What `to_json` wrote."""
        proof = content.get("proof")
        audited: AuditedColumn = rebuilt(
            AuditedColumn, content if proof is None else {**content, "proof": Proof.fields_in(proof)}
        )
        return audited


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted(AuditedColumn):
    """A mechanism with its audit, and what every party believes."""

    mechanism: Mechanism
    authorized: tuple[Party, ...] = field(repr=False, compare=False)
    adversaries: tuple[Party, ...] = field(repr=False, compare=False)


def refuse_unprotected(audited: AuditedColumn) -> None:
    """Refuse a release from which an adversary learns as much as the best authorised group; silence tells nobody."""
    least = min(group.reconstruction.loss for group in audited.groups)
    for number, party in enumerate(audited.audit.adversaries, start=1):
        if party.loss <= least and not audited.method.startswith("silence"):
            raise VerificationError(
                f"the release of column '{audited.column}' does not protect from adversary {number}, who would err by "
                f"{party.loss:.4g} and the authorised party by {least:.4g}; nothing is written: allow more distortion, "
                "give the authorised party columns of its own, or say --despite-adversary"
            )
