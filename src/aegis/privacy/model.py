"""What a privacy model is: a threshold, and a way to find what a class table reaches.

Missing values are values. In a quasi-identifier, records without a value form classes of their own; in a sensitive
attribute, "missing" is one more value that a class may hold and an attacker may learn. No model skips them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import fields
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from aegis.counts.class_table import ClassTable
from aegis.counts.content import Content
from aegis.data.yaml_text import number_hint
from aegis.errors import MeasureError, PolicyError
from aegis.privacy.verdict import Bound, Verdict
from aegis.registry import Registry

Scores = NDArray[np.float64]

ROUNDING = 1e-9
"""How far sums of rounded shares may stray from a threshold that they meet exactly in whole numbers."""

MODELS: Registry[type[Model]] = Registry(
    "models",
    noun="privacy model",
    error=PolicyError,
    modules=tuple(
        f"aegis.privacy.{module}"
        for module in (
            "k_anonymity",
            "distinct_l_diversity",
            "entropy_l_diversity",
            "recursive_l_diversity",
            "t_closeness",
            "alpha_k_anonymity",
            "basic_beta_likeness",
            "enhanced_beta_likeness",
            "delta_disclosure",
            "prosecutor_risk",
            "journalist_risk",
            "marketer_risk",
            "linkage_risk",
            "homogeneity_risk",
        )
    ),
)


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

    @property
    @abstractmethod
    def threshold(self) -> float:
        """What is asked."""

    @property
    def subject(self) -> str | None:
        """The sensitive attribute it is about, if it is about one."""
        return getattr(self, "attribute", None)

    @property
    def needs(self) -> tuple[str, ...]:
        """The sensitive attributes whose counts it looks at."""
        return () if self.subject is None else (self.subject,)

    @property
    def monotone(self) -> bool:
        return True

    @property
    def absorbing(self) -> bool:
        return False

    @abstractmethod
    def judge(self, table: ClassTable) -> Verdict:
        """Hold the table against the threshold."""

    @classmethod
    def describe(cls) -> str:
        """What it promises, in a line."""
        return (cls.__doc__ or "").strip().split("\n")[0]

    def shown_parameters(self) -> dict[str, Any]:
        """What was set beside the threshold and the attribute, for verdicts."""
        return {}

    def parameters(self) -> dict[str, Any]:
        """Everything that was set, by name."""
        given = {item.name: getattr(self, item.name) for item in fields(cast(Any, self))}
        return {key: list(value) if isinstance(value, tuple) else value for key, value in given.items()}

    @classmethod
    def from_parameters(cls, given: dict[str, Any]) -> Self:
        """Build it from `parameters`."""
        known = {item.name for item in fields(cast(Any, cls))}
        unknown = sorted(set(map(str, given)) - known)
        if unknown:
            raise PolicyError(f"{cls.name} has no parameter {', '.join(unknown)}; it takes {', '.join(sorted(known))}")
        arguments = {key: tuple(value) if isinstance(value, list) else value for key, value in given.items()}
        try:
            return cls(**arguments)
        except TypeError:
            raise PolicyError(f"{cls.name} needs its parameters {', '.join(sorted(known))}; one is not given") from None

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


def content_of(table: ClassTable, attribute: str, *, model: str) -> Content:
    """What the classes hold of a sensitive attribute."""
    if attribute not in table.contents:
        known = ", ".join(sorted(table.contents)) or "none"
        raise MeasureError(
            f"{model} looks at {attribute!r}, which was not counted with the classes; counted were: {known}"
        )
    return table.contents[attribute]


def shares(content: Content, sizes: NDArray[np.int64]) -> tuple[Scores, Scores]:
    """For each entry its share of its class, and the share that its value has in the whole table."""
    reference = content.totals / max(int(content.totals.sum()), 1)
    return content.counts / np.repeat(sizes, content.distinct), reference[content.values]


def check_number(
    number: object,
    *,
    model: str,
    what: str,
    low: float,
    high: float = math.inf,
    low_open: bool = False,
    whole: bool = False,
) -> None:
    """Raise unless ``number`` is one in the range."""
    kind = "a whole number" if whole else "a number"
    allowed = (int,) if whole else (int, float)
    left = "above" if low_open else "from"
    place = f"{left} {low:g}" + (f" to {high:g}" if math.isfinite(high) else "" if low_open else " up")
    sentence = f"{what} of {model} must be {kind} {place}"
    if isinstance(number, bool) or not isinstance(number, allowed):
        raise PolicyError(sentence + number_hint(number))
    if not math.isfinite(number) or not low <= number <= high or (low_open and number == low):
        raise PolicyError(f"{sentence}, not {number:g}")


def check_attribute(attribute: object, *, model: str) -> None:
    """Raise unless ``attribute`` can be the name of a column."""
    if not isinstance(attribute, str) or not attribute:
        raise PolicyError(f"{model} needs the name of a sensitive attribute")
