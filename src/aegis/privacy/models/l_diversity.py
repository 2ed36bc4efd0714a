"""A class does not give the sensitive value away: it holds several, none of them too frequent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aegis.counts.class_table import ClassTable
from aegis.privacy.class_bounds import ClassBounds, Outweighed, SecretShares
from aegis.privacy.model import MODELS, ROUNDING, ClassModel, Range, Rule, Scores, Written, most_alike_of
from aegis.privacy.verdict import Bound

_SOURCE = "Machanavajjhala et al. 2007"


@MODELS.register("distinct-l-diversity")
@dataclass(frozen=True, slots=True, kw_only=True)
class DistinctLDiversity(ClassModel):
    """Every class holds at least l different values of the attribute."""

    attribute: str
    l: int

    name: ClassVar[str] = "distinct-l-diversity"
    bound: ClassVar[Bound] = Bound.AT_LEAST
    reference: ClassVar[str] = _SOURCE
    threshold_name: ClassVar[str] = "l"
    rules: ClassVar[Mapping[str, Rule]] = {"l": Range(low=1, whole=True)}
    written: ClassVar[Written] = Written(word="l", bare="l", kind="distinct", usual=True)
    absorbing = True

    def promise(self, *, on: str, of: str) -> str:
        return f"In every group of alike records {of} has at least {self.l} different values."

    def class_bounds(self, secrets: Mapping[str, SecretShares]) -> tuple[ClassBounds, ...]:
        return (ClassBounds(attribute=self.attribute, distinct=self.l),)

    def scores(self, table: ClassTable) -> Scores:
        return most_alike_of(table, self.attribute, model=self.name).distinct.astype(np.float64)


@MODELS.register("entropy-l-diversity")
@dataclass(frozen=True, slots=True, kw_only=True)
class EntropyLDiversity(ClassModel):
    """In every class the entropy of the attribute is at least log l.

    The value shown is exp(H) with H in nats, the number of equally frequent values with the same entropy: the same
    number in every base of the logarithm, and comparable with l itself.
    """

    attribute: str
    l: float

    name: ClassVar[str] = "entropy-l-diversity"
    bound: ClassVar[Bound] = Bound.AT_LEAST
    reference: ClassVar[str] = _SOURCE
    threshold_name: ClassVar[str] = "l"
    rules: ClassVar[Mapping[str, Rule]] = {"l": Range(low=1)}
    written: ClassVar[Written] = Written(word="l", bare="l", kind="entropy")

    def promise(self, *, on: str, of: str) -> str:
        return f"In every group of alike records {of} is as uncertain as between {self.l:g} equally frequent values."

    def class_bounds(self, secrets: Mapping[str, SecretShares]) -> tuple[ClassBounds, ...]:
        return (ClassBounds(attribute=self.attribute, nats=float(np.log(self.l * (1 - ROUNDING)))),)

    def scores(self, table: ClassTable) -> Scores:
        content = most_alike_of(table, self.attribute, model=self.name)
        counts = content.counts.astype(np.float64)
        within = content.per_class(counts * np.log(counts))
        return np.exp(np.maximum(np.log(table.persons) - within / table.persons, 0.0))


@MODELS.register("recursive-l-diversity")
@dataclass(frozen=True, slots=True, kw_only=True)
class RecursiveLDiversity(ClassModel):
    """In every class the largest count is below c times the sum of all from the l-th largest on.

    With the counts of a class in falling order r1 ≥ r2 ≥ … the value shown is r1 / (r_l + r_(l+1) + …): the number
    that c must exceed. It is infinite where the class holds fewer than l values.
    """

    attribute: str
    c: float
    l: int

    name: ClassVar[str] = "recursive-l-diversity"
    bound: ClassVar[Bound] = Bound.BELOW
    reference: ClassVar[str] = _SOURCE
    threshold_name: ClassVar[str] = "c"
    rules: ClassVar[Mapping[str, Rule]] = {"c": Range(above=True), "l": Range(low=1, whole=True)}
    written: ClassVar[Written] = Written(word="l", bare="c", kind="recursive")

    def promise(self, *, on: str, of: str) -> str:
        return (
            f"In no group of alike records does the most frequent value of {of} outweigh the rarer ones: "
            f"it stays below {self.c:g} times all from the {self.l}th on."
        )

    def class_bounds(self, secrets: Mapping[str, SecretShares]) -> tuple[ClassBounds, ...]:
        return (ClassBounds(attribute=self.attribute, outweighed=Outweighed(times=self.c, first=self.l)),)

    def scores(self, table: ClassTable) -> Scores:
        content = most_alike_of(table, self.attribute, model=self.name)
        falling = content.counts[np.lexsort((-content.counts, content.owners))].astype(np.float64)
        rank = np.arange(len(falling)) - np.repeat(content.starts[:-1], content.distinct)
        tail = content.per_class(np.where(rank >= self.l - 1, falling, 0.0))
        with np.errstate(divide="ignore"):
            return falling[content.starts[:-1]] / tail
