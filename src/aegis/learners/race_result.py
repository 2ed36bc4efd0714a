"""What a race found: for each candidate what models reach on it, and which candidates may be the best."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol

from aegis.errors import SummaryError
from aegis.learners.goal import GOALS, goal_called

NO_LOSS = "no loss found"
"""Said where a masked table is not worse than the unmasked one within a small noise: never that it is better."""
LOSS_NOT_CERTAIN = "loss not certain"
"""Said where it may be no worse, and may as well be worse by more than a little."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """What models reach: the mean over the learners, and the interval that holds it with 95 % probability.

    ``half_width`` is half of that interval, before it ends at what a goal can be at all.
    """

    performance: float
    interval: tuple[float, float]
    half_width: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Raced:
    """One candidate after the race.

    ``performance`` is what models are expected to reach with as many rows as the last stage had; a candidate that was
    out before is shifted by what the others gained since. ``stage`` is the one after which it was out, or the last, and
    ``rows`` how many rows its figures rest on. ``half_width`` is half of the interval, before it ends at what the goal
    can be. ``kept`` is the share of the gain over guessing that is left of the unmasked table's, from 0 to 1; None
    where the unmasked table itself is no better than guessing by more than chance.
    ``loss_interval`` holds what is lost against the unmasked table with 95 % probability, in the unit of the goal.
    ``no_loss_found`` says that it reaches down to none and not up to a tenth of that table's gain over guessing.
    ``protocol`` says what it was tested on, and ``doubt`` why it cannot be compared, where it cannot.
    """

    rank: int
    name: str
    kind: str
    performance: float
    interval: tuple[float, float]
    half_width: float
    kept: float | None
    no_loss_found: bool
    in_best_group: bool
    stage: int
    rows: int
    protocol: str = ""
    loss_interval: tuple[float, float] | None = None
    doubt: str | None = None

    @property
    def loss_certain(self) -> bool:
        """Whether it is worse than the unmasked table by more than chance, as far as is known."""
        return self.loss_interval is None or self.loss_interval[0] > 0

    def to_json(self) -> dict[str, Any]:
        return {
            "rank": self.rank,
            "configuration": self.name,
            "kind": self.kind,
            "protocol": self.protocol,
            "performance": self.performance,
            "interval": list(self.interval),
            "half_width": self.half_width,
            "kept": self.kept,
            "loss_interval": None if self.loss_interval is None else list(self.loss_interval),
            "no_loss_found": self.no_loss_found,
            "in_best_group": self.in_best_group,
            "doubt": self.doubt,
            "stage": self.stage,
            "rows": self.rows,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceStage:
    """One stage: on so many rows, cut into so many parts, so many times; who came in and who was out after it.

    One that is ``for_order`` looks again at those that were out first, and decides nothing about the best.
    """

    number: int
    rows: int
    folds: int
    repeats: int
    candidates: int
    out: tuple[str, ...]
    for_order: bool = False

    def to_json(self) -> dict[str, Any]:
        return {
            "stage": self.number,
            "rows": self.rows,
            "folds": self.folds,
            "repeats": self.repeats,
            "candidates": self.candidates,
            "out": list(self.out),
            "for_order": self.for_order,
        }


class Placed(Protocol):
    """A candidate with its place in a race."""

    @property
    def performance(self) -> float | None: ...

    @property
    def half_width(self) -> float: ...

    @property
    def kept(self) -> float | None: ...

    @property
    def no_loss_found(self) -> bool: ...

    @property
    def loss_certain(self) -> bool: ...

    @property
    def doubt(self) -> str | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceFacts:
    """How a race went, whoever took part.

    The candidates in the best group hold the best one with ``probability``. ``guessing`` is what can be reached without
    any column, ``unmasked`` what the table itself gives. ``goal_reason`` says why the goal was taken. Where models of
    the unmasked table are not better than guessing by more than chance the label is not told (``label_told``): then
    nothing is known of what is kept, and all candidates may be the best. An ``interrupted`` race tells what it knew by
    then. Beside the ``sample_rows`` there were ``further_rows`` of rare labels, which only test.
    """

    goal: str
    goal_reason: str
    label_told: bool = True
    unmasked: Reached
    guessing: float
    probability: float
    stages: tuple[RaceStage, ...]
    learners: tuple[str, ...]
    sample_rows: int
    further_rows: int = 0
    interrupted: bool = False

    @property
    def title(self) -> str:
        """The goal as it is printed."""
        return goal_called(self.goal).title

    def shown(self, value: float) -> str:
        """A performance as people read it."""
        return goal_called(self.goal).shown(value)

    def shown_width(self, place: Placed) -> str:
        """Half of a candidate's interval, in points where the goal is a percentage."""
        return goal_called(self.goal).shown_width(place.half_width)

    def sentence(self, place: Placed) -> str:
        """What models reach on a candidate, beside the unmasked table and guessing."""
        assert place.performance is not None
        return goal_called(self.goal).sentence(
            place.performance, place.half_width, unmasked=self.unmasked.performance, guessing=self.guessing
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceResult(RaceFacts):
    """A race with its candidates in order, the best first."""

    ranking: tuple[Raced, ...]
    label: str
    table_rows: int
    rows_without_label: int
    seed: int
    notes: tuple[str, ...]

    @property
    def facts(self) -> RaceFacts:
        """What is true of the race whoever took part."""
        return RaceFacts(**{field.name: getattr(self, field.name) for field in fields(RaceFacts)})

    @property
    def best(self) -> Raced:
        return self.ranking[0]

    @property
    def best_group(self) -> tuple[Raced, ...]:
        """The candidates that may be the best."""
        return tuple(candidate for candidate in self.ranking if candidate.in_best_group)

    def to_json(self) -> dict[str, Any]:
        return {
            "goal": self.goal,
            "goal_reason": self.goal_reason,
            "label": self.label,
            "label_told": self.label_told,
            "unmasked": {
                "performance": self.unmasked.performance,
                "interval": list(self.unmasked.interval),
                "half_width": self.unmasked.half_width,
            },
            "guessing": self.guessing,
            "probability": self.probability,
            "ranking": [candidate.to_json() for candidate in self.ranking],
            "stages": [stage.to_json() for stage in self.stages],
            "learners": list(self.learners),
            "sample_rows": self.sample_rows,
            "further_rows": self.further_rows,
            "table_rows": self.table_rows,
            "rows_without_label": self.rows_without_label,
            "seed": self.seed,
            "notes": list(self.notes),
            "interrupted": self.interrupted,
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> RaceResult:
        """The race that `to_json` wrote; raises SummaryError if it is none, because it came with a summary."""
        try:
            made = cls(
                **{name: content[name] for name in ("goal", "goal_reason", "probability", "guessing", "label", "seed")},
                **{name: content[name] for name in ("sample_rows", "table_rows", "rows_without_label", "interrupted")},
                unmasked=Reached(
                    performance=float(content["unmasked"]["performance"]),
                    interval=_pair(content["unmasked"]["interval"]),
                    half_width=half_width_in(content["unmasked"]),
                ),
                ranking=tuple(_raced(place) for place in content["ranking"]),
                stages=tuple(
                    RaceStage(
                        number=int(stage["stage"]),
                        out=tuple(stage["out"]),
                        for_order=bool(stage.get("for_order", False)),  # earlier versions had none
                        **{name: int(stage[name]) for name in ("rows", "folds", "repeats", "candidates")},
                    )
                    for stage in content["stages"]
                ),
                learners=tuple(content["learners"]),
                notes=tuple(content["notes"]),
                label_told=bool(content.get("label_told", True)),  # this and what follows: earlier versions did not say
                further_rows=int(content.get("further_rows", 0)),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise SummaryError(f"the race of the summary is damaged ({type(error).__name__}); write it again") from None
        reached: list[Reached | Raced] = [made.unmasked, *made.ranking]
        numbers = [n for each in reached for n in (each.performance, each.half_width, *each.interval)]
        numbers.append(made.guessing)
        if not made.ranking or not made.stages or made.goal not in GOALS or not all(map(math.isfinite, numbers)):
            raise SummaryError("the race of the summary holds no finite figures of a known goal; write it again")
        return made


def kept_words(place: Placed) -> str:
    """How much of the gain over guessing is kept, in words: never more than all of it."""
    if place.doubt is not None:
        return "not compared"
    if place.kept is None:
        return "nothing to keep"
    if place.no_loss_found:
        return NO_LOSS
    return f"{place.kept:.0%} kept" if place.loss_certain else f"{place.kept:.0%} kept, {LOSS_NOT_CERTAIN}"


def _pair(content: Sequence[float]) -> tuple[float, float]:
    low, high = content
    return float(low), float(high)


def half_width_in(content: Mapping[str, Any]) -> float:
    """Half of an interval; earlier versions did not say it, and let the interval pass what a goal can be."""
    low, high = _pair(content["interval"])
    return float(content.get("half_width", (high - low) / 2))


def _raced(content: Mapping[str, Any]) -> Raced:
    return Raced(
        rank=int(content["rank"]),
        name=str(content["configuration"]),
        kind=str(content["kind"]),
        performance=float(content["performance"]),
        interval=_pair(content["interval"]),
        half_width=half_width_in(content),
        kept=None if content["kept"] is None else float(content["kept"]),
        no_loss_found=bool(content["no_loss_found"]),
        in_best_group=bool(content["in_best_group"]),
        stage=int(content["stage"]),
        rows=int(content["rows"]),
        protocol=str(content.get("protocol", "")),  # this and what follows: earlier versions did not say
        loss_interval=None if content.get("loss_interval") is None else _pair(content["loss_interval"]),
        doubt=None if content.get("doubt") is None else str(content["doubt"]),
    )
