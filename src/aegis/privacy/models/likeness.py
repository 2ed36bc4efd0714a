"""No sensitive value becomes much more likely by knowing the class: β-likeness; nor much less: δ-disclosure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aegis.counts.class_table import ClassTable
from aegis.privacy.class_bounds import ClassBounds, SecretShares
from aegis.privacy.model import MODELS, ROUNDING, ClassModel, OneOf, Range, Rule, Scores, Written, shares_of
from aegis.privacy.verdict import Bound


@MODELS.register("basic-beta-likeness")
@dataclass(frozen=True, slots=True, kw_only=True)
class BasicBetaLikeness(ClassModel):
    """In every class no value's share q exceeds its share p in the whole table by more than β times p."""

    attribute: str
    beta: float

    name: ClassVar[str] = "basic-beta-likeness"
    bound: ClassVar[Bound] = Bound.AT_MOST
    reference: ClassVar[str] = "Cao and Karras 2012"
    threshold_name: ClassVar[str] = "beta"
    rules: ClassVar[Mapping[str, Rule]] = {"beta": Range(above=True)}
    written: ClassVar[Written] = Written(word="beta", bare="beta", kind="basic", usual=True)

    def promise(self, *, on: str, of: str) -> str:
        return (
            f"No group of alike records makes a value of {of} more than {self.beta:g} times likelier on top of "
            "what it is."
        )

    def class_bounds(self, secrets: Mapping[str, SecretShares]) -> tuple[ClassBounds, ...]:
        most = secrets[self.attribute].shares * (1 + self.beta + ROUNDING)
        return (ClassBounds(attribute=self.attribute, most=most),)

    def scores(self, table: ClassTable) -> Scores:
        shares = shares_of(table, self.attribute, model=self.name)
        content, q, p = shares.content, shares.of_class, shares.of_table
        return np.maximum(content.largest(q / p - 1.0), 0.0)


@MODELS.register("enhanced-beta-likeness")
@dataclass(frozen=True, slots=True, kw_only=True)
class EnhancedBetaLikeness(ClassModel):
    """In every class no value's share q exceeds its share p in the table by more than min(β, −ln p) times p.

    The value shown is the smallest β that the table satisfies; it is infinite where a value exceeds −ln p, which no β
    allows.
    """

    attribute: str
    beta: float

    name: ClassVar[str] = "enhanced-beta-likeness"
    bound: ClassVar[Bound] = Bound.AT_MOST
    reference: ClassVar[str] = "Cao and Karras 2012"
    threshold_name: ClassVar[str] = "beta"
    rules: ClassVar[Mapping[str, Rule]] = {"beta": Range(above=True)}
    written: ClassVar[Written] = Written(word="beta", bare="beta", kind="enhanced")

    def promise(self, *, on: str, of: str) -> str:
        return (
            f"No group of alike records makes a value of {of} much likelier than it is: at most {self.beta:g} on top, "
            "and less for frequent values."
        )

    def class_bounds(self, secrets: Mapping[str, SecretShares]) -> tuple[ClassBounds, ...]:
        p = secrets[self.attribute].shares
        likelier = np.minimum(self.beta, -np.log(np.where(p > 0, p, 1.0)))
        return (ClassBounds(attribute=self.attribute, most=p * (1 + likelier + ROUNDING)),)

    def scores(self, table: ClassTable) -> Scores:
        shares = shares_of(table, self.attribute, model=self.name)
        content, q, p = shares.content, shares.of_class, shares.of_table
        gain = np.maximum(q / p - 1.0, 0.0)
        return content.largest(np.where(gain > ROUNDING - np.log(p), np.inf, gain))


@MODELS.register("delta-disclosure")
@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaDisclosure(ClassModel):
    """In every class |ln(q / p)| is below δ for every value, q its share of the class and p its share of the table.

    The definition speaks of every value of the table: one that a class does not hold has q = 0 and an infinite
    logarithm. With ``absent="ignored"`` only the values that a class holds are looked at, as some tools do; that is
    weaker, for learning that somebody does not have a value is learning something, and it is not monotone.
    """

    attribute: str
    delta: float
    absent: str = "counted"

    name: ClassVar[str] = "delta-disclosure"
    bound: ClassVar[Bound] = Bound.BELOW
    reference: ClassVar[str] = "Brickell and Shmatikov 2008"
    threshold_name: ClassVar[str] = "delta"
    rules: ClassVar[Mapping[str, Rule]] = {"delta": Range(above=True), "absent": OneOf(("counted", "ignored"))}
    written: ClassVar[Written] = Written(word="delta", bare="delta")

    @property
    def monotone(self) -> bool:
        return self.absent == "counted"

    def promise(self, *, on: str, of: str) -> str:
        return (
            f"No group of alike records makes a value of {of} much likelier or unlikelier than it is: "
            f"at most {self.delta:g} on the scale of logarithms."
        )

    def class_bounds(self, secrets: Mapping[str, SecretShares]) -> tuple[ClassBounds, ...]:
        p = secrets[self.attribute].shares
        least = np.where(p > 0, np.nextafter(p * np.exp(-self.delta), 1.0), 0.0)
        most = np.nextafter(p * np.exp(self.delta), 0.0)
        if self.absent == "ignored":
            return (ClassBounds(attribute=self.attribute, least_held=least, most=most),)
        return (ClassBounds(attribute=self.attribute, least=least, most=most),)

    def scores(self, table: ClassTable) -> Scores:
        shares = shares_of(table, self.attribute, model=self.name)
        content, q, p = shares.content, shares.of_class, shares.of_table
        scores = content.largest(np.abs(np.log(q / p)))
        if self.absent == "counted":
            scores = np.where(content.distinct < np.count_nonzero(content.totals), np.inf, scores)
        return scores
