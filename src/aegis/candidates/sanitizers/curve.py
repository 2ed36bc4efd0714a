"""A trade-off curve as data: one audited point for each target distortion, and what it cost to compute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, Self

from aegis.arrays import Floats
from aegis.candidates.sanitizers.audit import AuditReport, Exposure
from aegis.candidates.sanitizers.mixtures import Mixture
from aegis.errors import SanitizerError
from aegis.result import UNWRITTEN, Result, plain

if TYPE_CHECKING:
    from aegis.candidates.sanitizers.finite import FiniteProblem
    from aegis.candidates.sanitizers.gaussian import GaussianProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """One target: what the audit measured, and the closed forms beside it.

    ``theory`` is Proposition 1 (or 2) at the target; ``ratio`` divides the audited worst loss by the proposition at the
    target or at the audited distortion, whichever is larger, so that spending distortion is never counted as privacy.
    Where the exact attack's loss can be computed, the figures are computed and ``drawn_distortion`` and
    ``drawn_worst`` are what the same attack had on fresh rows; otherwise both pairs are measured.
    ``baselines`` holds the other closed forms by name, ``learned`` the best release that training alone found.
    Points of the paper's protocol hold there, and in ``claimed_distortion``, what the protocol itself would publish.
    ``mixture`` (a number) or ``table`` (a category) is the release itself, ``learned_mixture`` the learned one: for
    pictures, not part of the JSON.
    """

    target: float
    distortion: float
    adversary_losses: tuple[float, ...]
    worst: float
    theory: float
    erasure: float
    ratio: float
    interval: tuple[float, float]
    exposure: Exposure
    attacker: str
    method: str
    drawn_distortion: float
    drawn_worst: float
    learned: float | None = None
    claimed_distortion: float | None = None
    baselines: dict[str, float] = field(default_factory=dict)
    mixture: Mixture | None = field(default=None, repr=False, compare=False, metadata=UNWRITTEN)
    learned_mixture: Mixture | None = field(default=None, repr=False, compare=False, metadata=UNWRITTEN)
    table: Floats | None = field(default=None, repr=False, compare=False, metadata=UNWRITTEN)

    @classmethod
    def audited(cls, report: AuditReport, **figures: Any) -> CurvePoint:
        """A point whose measured figures are those of a report; ``figures`` are the others."""
        return cls(
            distortion=report.distortion.loss,
            adversary_losses=tuple(party.loss for party in report.adversaries),
            worst=report.worst,
            interval=report.strongest.interval,
            exposure=report.exposure,
            attacker=report.strongest.attacker,
            drawn_distortion=report.distortion.drawn_loss,
            drawn_worst=report.strongest.drawn_loss,
            **figures,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Seconds:
    """Where the time went."""

    compile: float
    train: float
    audit: float


class Training(Protocol):
    """What a curve tells of a run of trainings."""

    @property
    def device(self) -> str: ...
    @property
    def compile_seconds(self) -> float: ...
    @property
    def train_seconds(self) -> float: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve(Result):
    """All points of one run."""

    kind: str
    points: tuple[CurvePoint, ...]
    device: str
    seconds: Seconds
    seed: int
    capped: bool
    saturation_distortion: float
    saturation_losses: tuple[float, ...]
    private_mean: float | None = None
    private_std: float | None = None

    @classmethod
    def of(
        cls,
        problem: GaussianProblem | FiniteProblem,
        points: Sequence[CurvePoint],
        *,
        kind: str,
        training: Training | None,
        audit_seconds: float,
        seed: int,
        capped: bool = False,
    ) -> Self:
        """The curve of a problem; ``training`` is the run that found its releases, None for closed forms."""
        return cls(
            kind=kind,
            points=tuple(points),
            device="none" if training is None else training.device,
            seconds=Seconds(
                compile=0.0 if training is None else training.compile_seconds,
                train=0.0 if training is None else training.train_seconds,
                audit=audit_seconds,
            ),
            seed=seed,
            capped=capped,
            saturation_distortion=problem.max_distortion,
            saturation_losses=tuple(float(loss) for loss in problem.saturation_losses),
        )

    @property
    def mean_ratio(self) -> float:
        """The ratio averaged over the points."""
        return sum(point.ratio for point in self.points) / len(self.points)

    @property
    def headline(self) -> str:
        """How near the releases come to the proposition."""
        return f"{self.kind}: {len(self.points)} points, mean ratio to theory {self.mean_ratio:.3f}"

    def table_rows(self) -> list[dict[str, Any]]:
        """One row for each target distortion."""
        return [
            {
                "target": point.target,
                "distortion": point.distortion,
                "worst_loss": point.worst,
                "theory": point.theory,
                "erasure": point.erasure,
                "ratio": point.ratio,
                "pinned_share": point.exposure.pinned_share,
                "pinned_share_of_noise": point.exposure.reference_pinned_share,
                "attacker": point.attacker,
                "method": point.method,
            }
            for point in self.points
        ]

    def to_json(self) -> dict[str, Any]:
        """The whole curve as the command line prints it."""
        return {
            "kind": self.kind,
            "points": plain(self.points),
            "mean_ratio": self.mean_ratio,
            "device": self.device,
            "seconds": plain(self.seconds),
            "seed": self.seed,
            "exposure_capped": self.capped,
            "saturation": {"distortion": self.saturation_distortion, "losses": list(self.saturation_losses)},
        }

    @classmethod
    def fields_in(cls, content: Mapping[str, Any]) -> Mapping[str, Any]:
        """The fields as the JSON has them; the releases themselves, which pictures need, are not there."""
        return {
            **content,
            "capped": content["exposure_capped"],
            "saturation_distortion": content["saturation"]["distortion"],
            "saturation_losses": content["saturation"]["losses"],
        }


def targets(max_distortion: float, points: int) -> tuple[float, ...]:
    """D_max·i/points for i = 1 … points.

    >>> targets(6.0, 3)
    (2.0, 4.0, 6.0)
    """
    if points < 1:
        raise SanitizerError("a curve needs at least one point")
    return tuple(max_distortion * i / points for i in range(1, points + 1))


def check_counts(*, points: int, trials: int) -> None:
    """Refuse counts that make no curve."""
    if points < 1 or points > 1000:
        raise SanitizerError("a curve needs between 1 and 1000 points")
    if trials < 0 or trials > 1000:
        raise SanitizerError("a curve takes between 0 and 1000 trials a point; 0 uses the closed forms alone")
