"""What a privacy model is: a threshold, and a way to find what a class table reaches.

A model declares everything that others say of it: what its parameters may be (``rules``), which of them is the
threshold (``threshold_name``), how a policy writes it (``written``), and what it promises, in the field's words and in
plain ones. To add one, put a module into ``aegis.privacy.models``; policies, verdicts, certificates, the documentation
and the contract suite take it from there.

A model never counts for itself. ``table.persons`` is how many each class holds; what a class holds of a sensitive
attribute is one of three readings, which are the same where every person has one record:

=================  ================================================================================
`most_alike_of`    each person with one value, chosen so that the class is as alike as it can be
`drawn_of`         each person counting once, the values of a person in equal shares
`shares_of`        the share of a class that has a value, and that of the table; a person may have several
=================  ================================================================================

Missing values are values. In a quasi-identifier, records without a value form classes of their own; in a sensitive
attribute, "missing" is one more value that a class may hold and an attacker may learn. No model skips them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Protocol, Self, cast

import numpy as np
from numpy.typing import NDArray

from aegis.counts.class_table import ClassTable
from aegis.counts.content import Content
from aegis.counts.people import People
from aegis.data.yaml_text import number_hint
from aegis.errors import MeasureError, PolicyError
from aegis.privacy.class_bounds import ClassBounds, SecretShares
from aegis.privacy.verdict import Bound, Verdict
from aegis.registry import Registry

Scores = NDArray[np.float64]

ROUNDING = 1e-9
"""How far sums of rounded shares may stray from a threshold that they meet exactly in whole numbers."""

MODELS: Registry[type[Model]] = Registry(
    "models", noun="privacy model", error=PolicyError, package="aegis.privacy.models"
)


class Rule(Protocol):
    """What a parameter of a model may be."""

    def check(self, value: object, *, model: str, what: str) -> None:
        """Raise unless it is that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """A finite number from ``low`` to ``high``; ``above`` says that ``low`` itself is too low."""

    low: float = 0.0
    high: float = math.inf
    above: bool = False
    whole: bool = False

    def check(self, value: object, *, model: str, what: str) -> None:
        allowed = (int,) if self.whole else (int, float)
        sentence = f"{what} of {model} must be {self}"
        if isinstance(value, bool) or not isinstance(value, allowed):
            raise PolicyError(sentence + number_hint(value))
        if not math.isfinite(value) or not self.low <= value <= self.high or (self.above and value == self.low):
            raise PolicyError(f"{sentence}, not {value:g}")

    def __str__(self) -> str:
        kind = "a whole number" if self.whole else "a number"
        end = f" to {self.high:g}" if math.isfinite(self.high) else "" if self.above else " up"
        return f"{kind} {'above' if self.above else 'from'} {self.low:g}{end}"


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of some words."""

    choices: tuple[str, ...]

    def check(self, value: object, *, model: str, what: str) -> None:
        if value not in self.choices:
            raise PolicyError(f"{what} of {model} must be one of {', '.join(self.choices)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """How a policy writes a model in short.

    ``word`` is the key of the policy, with an entry for each attribute where the model is about one. Models that share
    a word have a ``kind``, of which one may be the ``usual`` one. ``bare`` is the parameter that an entry without
    names sets; ``inherits`` are parameters that take the policy's word of that name unless they are given.
    """

    word: str
    bare: str
    kind: str | None = None
    usual: bool = False
    inherits: tuple[str, ...] = ()


class Model(ABC):
    """The part all models share. Subclasses are frozen dataclasses registered in `MODELS`.

    ``monotone``: if a table satisfies the model, so does every table made from it by merging classes.
    ``absorbing``: more strongly, a class that stands in nobody's way still does so after it was merged with any other:
    merging never adds a record to those that must be suppressed. Several such models together have the same virtue.
    Searches prune by these two; the contract suite holds every model to what it declares, and to a counter-example
    where it declares that one does not hold.
    """

    __slots__ = ()

    name: ClassVar[str]
    bound: ClassVar[Bound]
    reference: ClassVar[str]
    threshold_name: ClassVar[str]
    """The parameter that is the threshold."""
    rules: ClassVar[Mapping[str, Rule]]
    """What each parameter but the attribute may be."""
    written: ClassVar[Written | None] = None
    """How a policy writes it in short; without that it stands under ``models``, by its name."""

    def __post_init__(self) -> None:
        for attribute in self.needs:
            if not isinstance(attribute, str) or not attribute:
                raise PolicyError(f"{self.name} needs the name of a sensitive attribute")
        for parameter, rule in self.rules.items():
            rule.check(getattr(self, parameter), model=self.name, what=parameter)

    @property
    def threshold(self) -> float:
        """The value of that parameter."""
        return getattr(self, self.threshold_name)

    @property
    def subject(self) -> str | None:
        """The sensitive attribute it is about, if it is about one."""
        return getattr(self, "attribute", None)

    @property
    def needs(self) -> tuple[str, ...]:
        """The sensitive attributes whose counts it looks at."""
        return (self.subject,) if hasattr(self, "attribute") else ()  # type: ignore[return-value]  # checked at once

    @property
    def needs_hierarchy(self) -> bool:
        """Whether it looks at the hierarchy of its attribute."""
        return False

    @property
    def monotone(self) -> bool:
        return True

    @property
    def absorbing(self) -> bool:
        return False

    @property
    def monotone_in_people(self) -> bool:
        """The same where people are counted, who may be in several classes and have several values."""
        return False

    @property
    def absorbing_in_people(self) -> bool:
        return False

    @abstractmethod
    def judge(self, table: ClassTable) -> Verdict:
        """Hold the table against the threshold."""

    def class_bounds(self, secrets: Mapping[str, SecretShares]) -> tuple[ClassBounds, ...] | None:
        """The model as bounds on every class by itself, where records are counted and there is no population.

        ``secrets`` are the sensitive attributes of the whole table by name. None where such bounds cannot say it: a
        search then asks `judge` about whole tables. The contract suite holds the bounds to what `judge` says.
        """
        return None

    @abstractmethod
    def promise(self, *, on: str, of: str) -> str:
        """What it promises in a sentence without the field's words.

        ``on`` names the quasi-identifiers, ``of`` the sensitive attributes that it is about.
        """

    @classmethod
    def describe(cls) -> str:
        """What it promises, in a line."""
        return (cls.__doc__ or "").strip().split("\n")[0]

    def shown_parameters(self) -> dict[str, Any]:
        """What was set beside the threshold and the attribute, for verdicts."""
        return {key: value for key, value in self.parameters().items() if key not in (self.threshold_name, "attribute")}

    def parameters(self) -> dict[str, Any]:
        """Everything that was set, by name."""
        values = {item.name: getattr(self, item.name) for item in fields(cast(Any, self))}
        return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}

    @classmethod
    def from_parameters(cls, parameters: dict[str, Any]) -> Self:
        """Build it from `parameters`."""
        names = {item.name for item in fields(cast(Any, cls))}
        unknown = sorted(set(map(str, parameters)) - names)
        if unknown:
            raise PolicyError(f"{cls.name} has no parameter {', '.join(unknown)}; it takes {', '.join(sorted(names))}")
        arguments = {key: tuple(value) if isinstance(value, list) else value for key, value in parameters.items()}
        try:
            return cls(**arguments)
        except TypeError:
            raise PolicyError(f"{cls.name} needs its parameters {', '.join(sorted(names))}; one is not given") from None

    def verdict(self, table: ClassTable, *, value: float | None, failing: NDArray[np.bool_]) -> Verdict:
        """The answer from what was found and which classes stand in the way."""
        return Verdict(
            name=self.name,
            attribute=self.subject,
            bound=self.bound,
            threshold=float(self.threshold),
            value=value,
            satisfied=not failing.any(),
            failing=failing,
            records_failing=int(np.dot(failing, table.sizes)),
            parameters=self.shown_parameters(),
        )


class ClassModel(Model):
    """A model that every class must satisfy by itself: the table is as good as its worst class."""

    __slots__ = ()

    @abstractmethod
    def scores(self, table: ClassTable) -> Scores:
        """What each class reaches."""

    def failing(self, table: ClassTable, scores: Scores) -> NDArray[np.bool_]:
        """The classes that miss the threshold."""
        if self.bound is Bound.AT_LEAST:
            return scores < self.threshold * (1 - ROUNDING)
        if self.bound is Bound.AT_MOST:
            return scores > self.threshold + ROUNDING
        return scores >= self.threshold

    def judge(self, table: ClassTable) -> Verdict:
        scores = self.scores(table)
        worst = None
        if len(scores):
            worst = float(scores.min() if self.bound is Bound.AT_LEAST else scores.max())
        return self.verdict(table, value=worst, failing=self.failing(table, scores))


class ShareModel(Model):
    """A model on the mean over records of a risk that every record of a class shares.

    Where people are counted it is the mean over people of the highest risk among the classes that they are in.
    """

    __slots__ = ()

    @abstractmethod
    def risks(self, table: ClassTable) -> Scores:
        """The risk of a record of each class, from 0 to 1."""

    def judge(self, table: ClassTable) -> Verdict:
        risks = self.risks(table)
        if not len(risks):
            return self.verdict(table, value=None, failing=np.zeros(0, dtype=bool))
        order = np.lexsort((table.sizes, -risks))  # the riskiest first, of equal ones the smallest
        left = (
            _means_left(table, risks, order) if table.people is None else _means_of_people(table.people, risks, order)
        )
        enough = left <= self.threshold + ROUNDING
        enough[-1] = True
        failing = np.zeros(table.classes, dtype=bool)
        failing[order[: int(enough.argmax())]] = True
        return self.verdict(table, value=float(left[0]), failing=failing)


def _means_left(table: ClassTable, risks: Scores, order: NDArray[np.intp]) -> Scores:
    """The mean risk of the records that are left without the first classes of the order: none, one, … all of them."""
    expected = np.concatenate([[0.0], np.cumsum(risks[order] * table.sizes[order])])
    records = np.concatenate([[0], np.cumsum(table.sizes[order])])
    means = (expected[-1] - expected) / np.maximum(records[-1] - records, 1)
    means[0] = float(risks @ table.sizes / table.records)
    return np.asarray(means)


def _means_of_people(people: People, risks: Scores, order: NDArray[np.intp]) -> Scores:
    """The same over people: of each the highest risk among his classes that are left."""
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    by_person = np.lexsort((rank[people.owners], people.persons))
    place, person = rank[people.owners[by_person]], people.persons[by_person]
    first = np.concatenate([[True], person[1:] != person[:-1]])
    since = np.where(first, 0, np.concatenate([[0], place[:-1] + 1]))  # his riskiest while so many classes are gone
    risk = risks[order][place]
    steps = np.zeros(len(order) + 2)
    np.add.at(steps, since, risk)
    np.add.at(steps, place + 1, -risk)
    counted = np.zeros(len(order) + 2)
    np.add.at(counted, since, 1.0)
    np.add.at(counted, place + 1, -1.0)
    return np.asarray(np.cumsum(steps)[:-1] / np.maximum(np.rint(np.cumsum(counted)[:-1]), 1.0))


def content_of(table: ClassTable, attribute: str, *, model: str) -> Content:
    """What the classes hold of a sensitive attribute."""
    if attribute not in table.contents:
        names = ", ".join(sorted(table.contents)) or "none"
        raise MeasureError(
            f"{model} looks at {attribute!r}, which was not counted with the classes; counted were: {names}"
        )
    return table.contents[attribute]


def most_alike_of(table: ClassTable, attribute: str, *, model: str) -> Content:
    """What the classes hold of a sensitive attribute, one value for each person: chosen as alike as it can be."""
    content = content_of(table, attribute, model=model)
    return content if table.people is None else table.people.held[attribute].most_alike(table.people.sizes)


def drawn_of(table: ClassTable, attribute: str, *, model: str) -> Content:
    """What the classes hold of a sensitive attribute, every person counting once, with all values in equal shares."""
    content = content_of(table, attribute, model=model)
    return content if table.people is None else table.people.held[attribute].drawn(content.levels)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shares:
    """For each entry of a content the share of its class that has the value, and the share of the whole table."""

    content: Content
    of_class: Scores
    of_table: Scores


def shares_of(table: ClassTable, attribute: str, *, model: str) -> Shares:
    """How many of a class, and of the table, have each value of a sensitive attribute: records, or people."""
    content = content_of(table, attribute, model=model)
    everybody = max(int(content.totals.sum()), 1)
    if table.people is not None:
        content, everybody = table.people.held[attribute].having(), max(table.people.everybody, 1)
    return Shares(
        content=content,
        of_class=content.counts / np.repeat(table.persons, content.distinct),
        of_table=(content.totals / everybody)[content.values],
    )
