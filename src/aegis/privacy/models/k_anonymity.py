"""Nobody stands out: classes are large, and where asked no sensitive value fills one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from aegis.counts.class_table import ClassTable
from aegis.privacy.class_bounds import ClassBounds, SecretShares
from aegis.privacy.model import MODELS, ROUNDING, ClassModel, Range, Rule, Scores, Written, shares_of
from aegis.privacy.verdict import Bound, percent


@MODELS.register("k-anonymity")
@dataclass(frozen=True, slots=True, kw_only=True)
class KAnonymity(ClassModel):
    """Every class has at least k records."""

    k: int

    name: ClassVar[str] = "k-anonymity"
    bound: ClassVar[Bound] = Bound.AT_LEAST
    reference: ClassVar[str] = "Samarati and Sweeney 1998"
    threshold_name: ClassVar[str] = "k"
    rules: ClassVar[Mapping[str, Rule]] = {"k": Range(low=1, whole=True)}
    written: ClassVar[Written] = Written(word="k", bare="k")
    absorbing = True
    monotone_in_people = True
    absorbing_in_people = True

    def promise(self, *, on: str, of: str) -> str:
        return f"Every combination of {on} is shared by at least {self.k} records."

    def class_bounds(self, secrets: Mapping[str, SecretShares]) -> tuple[ClassBounds, ...]:
        return (ClassBounds(records=self.k),)

    def scores(self, table: ClassTable) -> Scores:
        return table.persons.astype(np.float64)


@MODELS.register("alpha-k-anonymity")
@dataclass(frozen=True, slots=True, kw_only=True)
class AlphaKAnonymity(ClassModel):
    """Every class has at least k records, and no value of the attribute more than the share α of them."""

    attribute: str
    alpha: float
    k: int = 1

    name: ClassVar[str] = "alpha-k-anonymity"
    bound: ClassVar[Bound] = Bound.AT_MOST
    reference: ClassVar[str] = "Wong et al. 2006"
    threshold_name: ClassVar[str] = "alpha"
    rules: ClassVar[Mapping[str, Rule]] = {"alpha": Range(above=True, high=1), "k": Range(low=1, whole=True)}
    written: ClassVar[Written] = Written(word="alpha", bare="alpha", inherits=("k",))

    def promise(self, *, on: str, of: str) -> str:
        return f"In no group of alike records does one value of {of} make up more than {percent(self.alpha)}."

    def class_bounds(self, secrets: Mapping[str, SecretShares]) -> tuple[ClassBounds, ...]:
        most = np.full(len(secrets[self.attribute].shares), self.alpha + ROUNDING)
        return (ClassBounds(attribute=self.attribute, records=self.k, most=most),)

    def scores(self, table: ClassTable) -> Scores:
        shares = shares_of(table, self.attribute, model=self.name)
        return shares.content.largest(shares.of_class)

    def failing(self, table: ClassTable, scores: Scores) -> NDArray[np.bool_]:
        # Written out: with super() a dataclass with slots would look for a class that slots replaced.
        return ClassModel.failing(self, table, scores) | (table.persons < self.k)
