"""What the advisor answers: configurations from best to worst, with how sure it is and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeLoss:
    """What a configuration does to one attribute.

    ``original`` and ``deviation`` are None where nothing is known of the unmasked attribute. Where χ² is the measure,
    ``degrees_of_freedom`` and ``p_value`` are those of Pearson's test of the masked attribute with the label.
    """

    name: str
    mask: str
    original: float | None
    masked: float
    deviation: float | None
    standard_error: float
    degrees_of_freedom: int | None = None
    p_value: float | None = None

    def test(self) -> dict[str, float]:
        """Degrees of freedom and p-value, where the measure has them."""
        if self.degrees_of_freedom is None or self.p_value is None:
            return {}
        return {"degrees_of_freedom": self.degrees_of_freedom, "p_value": self.p_value}


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedConfiguration:
    """A configuration with its place.

    ``utility`` is the mean of the measure over the masked attributes, ``deviation`` what that is worse than the
    original, ``interval`` a 95 % interval of the deviation (of the utility where there is no deviation). Equal places
    are ties; ``like_best`` says that the data cannot tell it from the first.
    """

    rank: int
    configuration: str
    id: str
    utility: float
    deviation: float | None
    retained: float | None
    borrowed: bool
    interval: tuple[float, float]
    like_best: bool
    attributes: tuple[AttributeLoss, ...]
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedConfiguration:
    """A configuration that models were trained on: their mean accuracy on other rows and its 95 % interval."""

    configuration: str
    accuracy: float
    interval: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The advisor's answer.

    Where the first ones were tried on rows, ``verified`` says how well, best first; the others stand behind them in the
    order of their counts.
    """

    label: str
    measure: str
    unit: str
    higher_is_better: bool
    reference: str
    rows: int
    ranking: tuple[RankedConfiguration, ...]
    skipped: dict[str, str] = field(default_factory=dict)
    rejected: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    verified: tuple[VerifiedConfiguration, ...] = ()
    timing: dict[str, float] = field(default_factory=dict)

    @property
    def best(self) -> RankedConfiguration:
        return self.ranking[0]

    def to_json(self) -> dict[str, Any]:
        """The object that ``aegis advise --json`` prints."""
        return {
            "label": self.label,
            "measure": self.measure,
            "unit": self.unit,
            "reference": self.reference,
            "rows": self.rows,
            "ranking": [
                {
                    "rank": one.rank,
                    "configuration": one.configuration,
                    "id": one.id,
                    "deviation": one.deviation,
                    "retained": one.retained,
                    "borrowed": one.borrowed,
                    "utility": one.utility,
                    "interval": list(one.interval),
                    "like_best": one.like_best,
                    "reasons": list(one.reasons),
                    "attributes": [
                        {
                            "name": attribute.name,
                            "mask": attribute.mask,
                            "original": attribute.original,
                            "masked": attribute.masked,
                            "deviation": attribute.deviation,
                            "standard_error": attribute.standard_error,
                            **attribute.test(),
                        }
                        for attribute in one.attributes
                    ],
                }
                for one in self.ranking
            ],
            "skipped": self.skipped,
            "rejected": self.rejected,
            "notes": list(self.notes),
            **self._verified_json(),
            "timing": self.timing,
        }

    def _verified_json(self) -> dict[str, Any]:
        if not self.verified:
            return {}
        return {
            "verified": [
                {"configuration": one.configuration, "accuracy": one.accuracy, "interval": list(one.interval)}
                for one in self.verified
            ]
        }
