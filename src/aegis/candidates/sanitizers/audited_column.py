"""What is known about the release of one column: its audit, what was proved, and what every party believes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from aegis.candidates.sanitizers.audit import AuditReport
from aegis.candidates.sanitizers.encoding import Encoder
from aegis.candidates.sanitizers.mechanism import Mechanism
from aegis.candidates.sanitizers.posterior import Belief, Certainty
from aegis.candidates.sanitizers.proof import Proof
from aegis.result import rebuilt


@dataclass(frozen=True, slots=True, kw_only=True)
class Protection:
    """What the exact posterior of one adversary comes to on rows of its own: without and with the release.

    ``noise`` is plain noise of the same *measured* distortion, for a number.
    """

    before: Certainty
    after: Certainty
    noise: Certainty | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconstruction:
    """The error of the reconstructor that the authorised party gets, on rows that nothing was fitted on."""

    loss: float
    interval: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Party:
    """What one party knows, as numbers, and what it believes."""

    encoder: Encoder
    belief: Belief


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedColumn:
    """The audit of one column's release and the figures that frame it.

    ``distortion`` is what was asked for; ``max_distortion`` and ``saturation_losses`` are those of releasing nothing:
    squared units of the column for a number, shares of wrong guesses for a category. ``reconstruction`` is what the
    authorised party's file reaches, ``protection`` what each adversary that knows the mechanism comes to. ``proof`` is
    there for releases that the program under caps found.
    """

    column: str
    method: str
    distortion: float
    max_distortion: float
    saturation_losses: tuple[float, ...]
    audit: AuditReport
    reconstruction: Reconstruction
    protection: tuple[Protection, ...]
    proof: Proof | None = None

    @property
    def determined(self) -> float:
        """The share of records whose value is determined for the adversary that knows most."""
        return max(protection.after.certain for protection in self.protection)

    def to_json(self) -> dict[str, Any]:
        """The audit report as plain numbers; shares by value are in the order of the column's values."""
        return {
            "column": self.column,
            "method": self.method,
            "target": self.distortion,
            "max_distortion": self.max_distortion,
            "saturation_losses": list(self.saturation_losses),
            "reconstruction": asdict(self.reconstruction),
            "protection": [asdict(protection) for protection in self.protection],
            "proof": None if self.proof is None else self.proof.to_json(),
            "audit": self.audit.to_json(),
        }

    @staticmethod
    def from_json(content: Mapping[str, Any]) -> AuditedColumn:
        """What `to_json` wrote."""
        audited: AuditedColumn = rebuilt(AuditedColumn, {**content, "distortion": content["target"]})
        return audited


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted(AuditedColumn):
    """A mechanism with its audit, and what every party believes."""

    mechanism: Mechanism
    authorized: Party = field(repr=False, compare=False)
    adversaries: tuple[Party, ...] = field(repr=False, compare=False)
