"""What the advisor answers: candidates from best to worst, with how sure it is and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from aegis.errors import ConfigurationError, InputError
from aegis.learners.goal import goal_called
from aegis.learners.race_result import RaceFacts, half_width_in, kept_words
from aegis.masking.configuration import Configuration
from aegis.masking.configuration_file import configurations_from_mapping, to_mapping
from aegis.registry import did_you_mean
from aegis.result import Result, plain, rebuilt


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

    def to_json(self) -> dict[str, Any]:
        tested = ("degrees_of_freedom", "p_value")
        return {name: value for name, value in plain(self).items() if name not in tested} | self.test()


@dataclass(frozen=True, slots=True, kw_only=True)
class Privacy:
    """What the policy's class table says of a candidate: its smallest class, and how many records are suppressed.

    ``satisfied`` is None where no policy was given. ``average_risk`` is the share of rows that somebody names rightly
    who knows everybody's quasi-identifiers and guesses among the rows that fit; None where that was not counted.
    """

    satisfied: bool | None
    smallest_class: int
    suppressed: int
    average_risk: float | None = None

    @property
    def risk(self) -> float:
        """The chance to name the record of somebody whose quasi-identifiers are known, at its highest."""
        return 1.0 / max(self.smallest_class, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedConfiguration:
    """A candidate with its place; ``like_best`` says that the data cannot tell it from the first.

    In a ranking by what models reach, ``performance`` is in the unit of the goal, ``kept`` the share of the gain over
    guessing that is left, ``loss_interval`` what is lost against the unmasked table with 95 % probability, ``stage``
    the last stage of the race it was in, ``protocol`` what it was tested on, and ``doubt`` why it cannot be compared,
    where it cannot; ``command`` makes it again where it is no configuration of masks. In a ranking by a measure on
    counts, ``utility`` is the measure, ``deviation`` what that is worse than the original, ``retained`` the share that
    is left.
    ``interval`` is the 95 % interval of the performance, or of the deviation (of the utility where there is none), and
    ``half_width`` half of it, before it ends at what a goal can be.
    ``privacy`` is what was counted of it, where quasi-identifiers are known.
    """

    rank: int
    configuration: str
    id: str
    interval: tuple[float, float]
    half_width: float
    like_best: bool
    reasons: tuple[str, ...]
    kind: str = "masks"
    performance: float | None = None
    kept: float | None = None
    loss_interval: tuple[float, float] | None = None
    no_loss_found: bool = False
    stage: int | None = None
    protocol: str = ""
    doubt: str | None = None
    command: str = ""
    utility: float | None = None
    deviation: float | None = None
    retained: float | None = None
    borrowed: bool = False
    privacy: Privacy | None = None
    attributes: tuple[AttributeLoss, ...] = ()

    @property
    def loss_certain(self) -> bool:
        """Whether it is worse than the unmasked table by more than chance, as far as is known."""
        return self.loss_interval is None or self.loss_interval[0] > 0

    @property
    def kept_shown(self) -> str:
        """How much is kept, as a cell of a table shows it."""
        return "–" if self.kept is None else kept_words(self).replace(" kept", "")

    def to_json(self) -> dict[str, Any]:
        content: dict[str, Any] = {"rank": self.rank, "configuration": self.configuration, "id": self.id}
        if self.performance is not None:
            content |= {
                "kind": self.kind,
                "protocol": self.protocol,
                "performance": self.performance,
                "interval": list(self.interval),
                "half_width": self.half_width,
                "kept": self.kept,
                "loss_interval": plain(self.loss_interval),
                "no_loss_found": self.no_loss_found,
                "in_best_group": self.like_best,
                "doubt": self.doubt,
                "stage": self.stage,
            }
        else:
            content |= {
                "deviation": self.deviation,
                "retained": self.retained,
                "borrowed": self.borrowed,
                "utility": self.utility,
                "interval": list(self.interval),
                "half_width": self.half_width,
                "like_best": self.like_best,
            }
        content["reasons"] = list(self.reasons)
        content["privacy"] = plain(self.privacy)
        content["attributes"] = [attribute.to_json() for attribute in self.attributes]
        return content


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking(Result):
    """The advisor's answer, best first.

    ``race`` says how it was found where models decided; otherwise ``measure`` did, from counts, and ``reference`` says
    what its losses are compared with. ``rejected`` names the candidates that do not satisfy the policy, with the
    reason, ``skipped`` the columns that were not counted. For several labels ``labels`` holds a ranking for each.
    ``configurations`` are the ranked candidates that are masks, to be released or saved; JSON has each as the
    ``definition`` of its candidate, in the form of a configuration file, and for other candidates that were made on the
    spot the ``command`` that makes them. A ranking of a summary has none.
    """

    label: str
    measure: str
    unit: str
    higher_is_better: bool
    reference: str
    rows: int
    ranking: tuple[RankedConfiguration, ...]
    race: RaceFacts | None = None
    skipped: dict[str, str] = field(default_factory=dict)
    rejected: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    timing: dict[str, float] = field(default_factory=dict)
    labels: tuple[Ranking, ...] = ()
    configurations: Mapping[str, Configuration] = field(default_factory=dict, repr=False, compare=False)

    @property
    def best(self) -> RankedConfiguration:
        return self.ranking[0]

    @property
    def best_group(self) -> tuple[RankedConfiguration, ...]:
        """The candidates that may be the best as far as the rows can tell."""
        return tuple(place for place in self.ranking if place.like_best)

    @property
    def best_of_masks(self) -> RankedConfiguration | None:
        """The best candidate that is made of masks alone, by whomever: given, generated, or found by a search."""
        return next(
            (place for place in self.ranking if place.kind == "masks" or place.configuration in self.configurations),
            None,
        )

    def configuration(self, name: str | None = None) -> Configuration:
        """The masks of the best ranked configuration, or of the one of this name: ``aegis.release(…, config=…)``."""
        if name is None:
            best = self.best_of_masks
            if best is None:
                raise ConfigurationError("no configuration of masks was ranked; the candidates are made otherwise")
            name = best.configuration
        if name in self.configurations:
            return self.configurations[name]
        if any(place.configuration == name for place in self.ranking):
            raise ConfigurationError(
                f"the masks of {name!r} are not known here: it is a finished table, or the ranking was made from a "
                "summary, which may hide them; ask whoever holds the table, or save them with advise(..., save=FILE)"
            )
        raise ConfigurationError(f"no candidate is called {name!r}" + did_you_mean(name, self.configurations))

    @property
    def exit_status(self) -> int:
        return 130 if self.race is not None and self.race.interrupted else 0

    @property
    def headline(self) -> str:
        """The answer in one sentence."""
        best = self.best
        if self.race is None:
            share = "" if best.retained is None else f" keeps {min(best.retained, 1.0):.1%} by {self.measure}"
            return f"{best.configuration}{share or ' comes first'}, of {len(self.ranking)} candidates for {self.label}"
        return f"{best.configuration}: {self.race.sentence(best)}, {kept_words(best)}"

    def to_json(self) -> dict[str, Any]:
        """The object that ``aegis advise --json`` prints."""
        content: dict[str, Any] = {"label": self.label, "rows": self.rows}
        if self.race is None:
            content |= {
                "measure": self.measure,
                "unit": self.unit,
                "higher_is_better": self.higher_is_better,
                "reference": self.reference,
            }
        else:
            content |= plain(self.race)
        return content | {
            "ranking": [self._with_definition(place) for place in self.ranking],
            "skipped": self.skipped,
            "rejected": self.rejected,
            "notes": list(self.notes),
            "timing": self.timing,
            **({"labels": [ranking.to_json() for ranking in self.labels]} if self.labels else {}),
        }

    def _with_definition(self, place: RankedConfiguration) -> dict[str, Any]:
        masks = self.configurations.get(place.configuration)
        if masks is None:
            return place.to_json() | ({"definition": {"command": place.command}} if place.command else {})
        return place.to_json() | {"definition": to_mapping(masks)}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """The ranking that `to_json` wrote."""
        try:
            fields = {name: value for name, value in content.items() if name != "configurations"}
            if "goal" in fields:
                fields["race"] = {name: fields[name] for name in RaceFacts.__dataclass_fields__ if name in fields}
                goal = goal_called(fields["goal"])
                fields |= {"measure": fields["goal"], "unit": goal.title, "reference": "exact"}
                fields["higher_is_better"] = goal.higher_is_better
                unmasked = fields["race"]["unmasked"]
                fields["race"]["unmasked"] = unmasked | {"half_width": half_width_in(unmasked)}
            labels = tuple(cls.from_json(ranking) for ranking in fields.pop("labels", ()))
            definitions = {
                place["configuration"]: _defined(place["definition"])
                for place in fields["ranking"]
                if "command" not in place.get("definition", {"command": ""})
            }
            fields["ranking"] = [
                {
                    **{name: value for name, value in place.items() if name != "definition"},
                    "half_width": half_width_in(place),
                    "like_best": place.get("in_best_group", place.get("like_best")),
                    "command": place.get("definition", {}).get("command", ""),
                }
                for place in fields["ranking"]
            ]
            return replace(rebuilt(cls, fields), labels=labels, configurations=definitions)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"this is no JSON of a ranking ({type(error).__name__})") from None

    def table_rows(self) -> list[dict[str, Any]]:
        """A row per candidate: its place and the figures of the ranking."""
        longer = ("attributes", "privacy", "reasons", "interval", "loss_interval")
        return [
            {name: value for name, value in place.to_json().items() if name not in longer}
            | {"low": place.interval[0], "high": place.interval[1], "why": "; ".join(place.reasons)}
            for place in self.ranking
        ]


def _defined(definition: Mapping[str, Any]) -> Configuration:
    return configurations_from_mapping(definition, name="configuration")[0]


LOSES, BEHIND = "loses on ", "behind the best on "
"""What a reason begins with that names attributes, or goes on with after what is done to the label."""
NOTHING_LOST = "no attribute loses anything"
LOST_TOGETHER = "no attribute loses anything by itself; what is lost they tell together"
GAINS = "can gain from merging values"
_WORTH_SAYING = 0.05  # smaller parts of a loss are not named


def reasons(
    cards: Sequence[AttributeLoss],
    behind: Sequence[float],
    *,
    retained: float | None,
    label: str,
    label_mask: str | None = None,
) -> tuple[str, ...]:
    """What is kept overall, and which attributes put the configuration behind the best, or cost the best most.

    ``behind`` says per attribute by how much the best configuration is better, all zero for the best itself;
    ``label_mask`` what is done to the label, which costs every attribute something.

    >>> age = AttributeLoss(name="age", mask="suppressed", original=0.4, masked=0.0, deviation=0.4, standard_error=0.0)
    >>> zip = AttributeLoss(name="zip", mask="unchanged", original=0.1, masked=0.1, deviation=0.0, standard_error=0.0)
    >>> reasons([age, zip], [0.0, 0.0], retained=0.2, label="health")
    ('keeps 20.0 % of what the attributes say about health', 'loses on age (suppressed)')
    >>> reasons([age, zip], [0.3, 0.0], retained=0.2, label="health")[1]
    'behind the best on age (suppressed)'
    """
    reasons: list[str] = []
    if retained is not None and retained > 1 + 1e-9:
        reasons.append(f"keeps all that the attributes say about {label}: merging rare values even makes them clearer")
    elif retained is not None:
        reasons.append(f"keeps {100 * retained:.1f} % of what the attributes say about {label}")
    if any(gap > 1e-12 for gap in behind):
        reasons.append(f"{BEHIND}{_worst(cards, behind)}")
    else:
        lost = [card.deviation or 0.0 for card in cards]
        if any(amount > 1e-12 for amount in lost):
            reasons.append(f"{LOSES}{_worst(cards, lost)}")
        elif retained is not None and retained < 1 - 1e-9:
            reasons.append(LOST_TOGETHER)
        elif retained is not None:
            reasons.append(NOTHING_LOST)
    if label_mask is not None:
        last = f"; {reasons.pop()}" if len(reasons) > 1 or (retained is None and reasons) else ""
        reasons.append(f"{label} itself is masked ({label_mask}){last}")
    return tuple(reasons)


def _worst(cards: Sequence[AttributeLoss], amounts: Sequence[float]) -> str:
    """The attributes that make up most of a loss, with their share of it where several do."""
    total = sum(amount for amount in amounts if amount > 0)
    ordered = sorted(zip(amounts, cards, strict=True), key=lambda pair: -pair[0])
    # Where many lose a little each, the first is named all the same.
    named = [
        (amount / total, card)
        for place, (amount, card) in enumerate(ordered[:2])
        if place == 0 or amount / total >= _WORTH_SAYING
    ]
    if named[0][0] > 0.995:
        return f"{named[0][1].name} ({named[0][1].mask})"
    return ", ".join(f"{card.name} ({card.mask}; {100 * share:.0f} %)" for share, card in named)
