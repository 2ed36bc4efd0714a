"""The chance to be found: by a prosecutor, a journalist or a marketer; and the share of records that are exposed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from aegis.counts.class_table import ClassTable
from aegis.counts.grouping import group_rows
from aegis.errors import MeasureError, PolicyError
from aegis.privacy.class_bounds import ClassBounds, SecretShares
from aegis.privacy.model import (
    MODELS,
    ROUNDING,
    ClassModel,
    Model,
    Range,
    Rule,
    Scores,
    ShareModel,
    Written,
    most_alike_of,
)
from aegis.privacy.verdict import Bound, percent

_CHANCE = Range(above=True, high=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ChanceInClass(ClassModel):
    """Nobody is found with a chance above the limit; subclasses say by whom."""

    limit: float

    bound: ClassVar[Bound] = Bound.AT_MOST
    reference: ClassVar[str] = "El Emam and Dankar 2008"
    threshold_name: ClassVar[str] = "limit"
    rules: ClassVar[Mapping[str, Rule]] = {"limit": _CHANCE}
    absorbing = True
    monotone_in_people = True

    def class_bounds(self, secrets: Mapping[str, SecretShares]) -> tuple[ClassBounds, ...]:
        return (ClassBounds(records=_records_for(self.limit + ROUNDING)),)


@MODELS.register("prosecutor-risk")
@dataclass(frozen=True, slots=True, kw_only=True)
class ProsecutorRisk(_ChanceInClass):
    """Nobody known to be in the table is found with a chance above the limit: 1 / size of every class."""

    name: ClassVar[str] = "prosecutor-risk"
    written: ClassVar[Written] = Written(word="risk", kind="prosecutor", bare="limit")

    def promise(self, *, on: str, of: str) -> str:
        return (
            "Whoever knows that a person is in the table finds that person's record with at most "
            f"{percent(self.limit)}."
        )

    def scores(self, table: ClassTable) -> Scores:
        return table.chances


@MODELS.register("journalist-risk")
@dataclass(frozen=True, slots=True, kw_only=True)
class JournalistRisk(_ChanceInClass):
    """Nobody of the population is found in the table with a chance above the limit: 1 / size in the population.

    Without a population the table is its own, and the risk that of the prosecutor: never less than the true one.
    """

    name: ClassVar[str] = "journalist-risk"
    written: ClassVar[Written] = Written(word="risk", kind="journalist", bare="limit")

    def promise(self, *, on: str, of: str) -> str:
        return f"Whoever looks for anybody in the population finds a record with at most {percent(self.limit)}."

    def scores(self, table: ClassTable) -> Scores:
        return table.chances if table.population is None else 1.0 / population_sizes(table)


@MODELS.register("marketer-risk")
@dataclass(frozen=True, slots=True, kw_only=True)
class MarketerRisk(ShareModel):
    """On average over the records the chance to be found is at most the limit.

    A record's chance is 1 / the size of its class in the population; without one that makes classes / records.
    """

    limit: float

    name: ClassVar[str] = "marketer-risk"
    bound: ClassVar[Bound] = Bound.AT_MOST
    reference: ClassVar[str] = "Dankar and El Emam 2010"
    threshold_name: ClassVar[str] = "limit"
    rules: ClassVar[Mapping[str, Rule]] = {"limit": _CHANCE}
    written: ClassVar[Written] = Written(word="risk", kind="marketer", bare="limit")

    def promise(self, *, on: str, of: str) -> str:
        return f"Whoever guesses for everybody is right for at most {percent(self.limit)}."

    def risks(self, table: ClassTable) -> Scores:
        return 1.0 / population_sizes(table)


@MODELS.register("linkage-risk")
@dataclass(frozen=True, slots=True, kw_only=True)
class LinkageRisk(ShareModel):
    """At most a share of the records is at linkage risk: in a class with 1 / size above τ, strictly."""

    tau: float
    share: float = 0.0

    name: ClassVar[str] = "linkage-risk"
    bound: ClassVar[Bound] = Bound.AT_MOST
    reference: ClassVar[str] = "MO-OBAM, section on disclosure risk"
    threshold_name: ClassVar[str] = "share"
    rules: ClassVar[Mapping[str, Rule]] = {"tau": _CHANCE, "share": Range(high=1)}
    written: ClassVar[Written] = Written(word="risk", kind="linkage", bare="tau")

    @property
    def absorbing(self) -> bool:
        return self.share == 0.0  # with a share to spare, which classes stand in the way depends on all of them

    def promise(self, *, on: str, of: str) -> str:
        return (
            f"At most {percent(self.share)} of the records stand in groups where a guess is right "
            f"with more than {percent(self.tau)}."
        )

    def class_bounds(self, secrets: Mapping[str, SecretShares]) -> tuple[ClassBounds, ...] | None:
        return None if self.share else (ClassBounds(records=_records_for(self.tau)),)

    def risks(self, table: ClassTable) -> Scores:
        return (table.chances > self.tau).astype(np.float64)


@MODELS.register("homogeneity-risk")
@dataclass(frozen=True, slots=True, kw_only=True)
class HomogeneityRisk(ShareModel):
    """At most a share of the records is in a class where some sensitive attribute is constant, singletons included."""

    attributes: tuple[str, ...]
    share: float = 0.0

    name: ClassVar[str] = "homogeneity-risk"
    bound: ClassVar[Bound] = Bound.AT_MOST
    reference: ClassVar[str] = "MO-OBAM, section on disclosure risk"
    threshold_name: ClassVar[str] = "share"
    rules: ClassVar[Mapping[str, Rule]] = {"share": Range(high=1)}
    written: ClassVar[Written] = Written(word="risk", kind="homogeneity", bare="share")

    def __post_init__(self) -> None:
        if not isinstance(self.attributes, tuple) or not self.attributes:
            raise PolicyError(f"{self.name} needs at least one sensitive attribute")
        Model.__post_init__(self)

    @property
    def subject(self) -> str | None:
        return self.attributes[0] if len(self.attributes) == 1 else None

    @property
    def needs(self) -> tuple[str, ...]:
        return self.attributes

    @property
    def absorbing(self) -> bool:
        return self.share == 0.0

    def shown_parameters(self) -> dict[str, Any]:
        return {} if len(self.attributes) == 1 else {"attributes": ", ".join(self.attributes)}

    def promise(self, *, on: str, of: str) -> str:
        return f"At most {percent(self.share)} of the records stand in groups that all share one value of {of}."

    def class_bounds(self, secrets: Mapping[str, SecretShares]) -> tuple[ClassBounds, ...] | None:
        if self.share:
            return None
        return tuple(ClassBounds(attribute=attribute, distinct=2) for attribute in self.attributes)

    def risks(self, table: ClassTable) -> Scores:
        constant = np.zeros(table.classes, dtype=bool)
        for attribute in self.attributes:
            constant |= most_alike_of(table, attribute, model=self.name).distinct == 1
        return constant.astype(np.float64)


def _records_for(chance: float) -> int:
    """The fewest records of a class in which the chance to be found is at most that."""
    records = max(1, math.floor(1 / chance))
    return records if 1 / records <= chance else records + 1


def population_sizes(table: ClassTable) -> NDArray[np.int64]:
    """How many people of the population are in each class, never fewer than in the table itself.

    The population has one record a person. Suppressed records could be anybody whose tuple is not in the table; they
    are counted as their own population.
    """
    people = table.population
    if people is None:
        return table.persons
    if people.columns != table.columns or [d.size for d in people.domains] != [d.size for d in table.domains]:
        raise MeasureError("the population must be counted by the same columns and coded alike; count it again")
    if table.star and table.classes == 1:  # everybody is suppressed, so they could be anybody
        return np.maximum(table.persons, people.records)
    codes = table.codes[:-1] if table.star else table.codes
    _, group = group_rows(np.concatenate([people.codes, codes]), [domain.size for domain in table.domains])
    counts = np.zeros(int(group.max(initial=-1)) + 1, dtype=np.int64)
    counts[group[: people.classes]] = people.sizes
    sizes = table.persons.copy()
    sizes[: len(codes)] = np.maximum(counts[group[people.classes :]], sizes[: len(codes)])
    return sizes
