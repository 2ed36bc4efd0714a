"""What a privacy model says about a table: what was asked, what was found, and which classes stand in the way."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.result import plain


class Bound(StrEnum):
    """How a value must stand to its threshold."""

    AT_LEAST = "at least"
    AT_MOST = "at most"
    BELOW = "below"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Verdict:
    """One model's judgement of one table.

    ``value`` is what the table reaches: that of its worst class, or the share of all records for models that speak of
    shares; None where there is no class to judge. ``failing`` marks the classes whose suppression the model asks for:
    none exactly if the model is satisfied.
    """

    name: str
    attribute: str | None
    bound: Bound
    threshold: float
    value: float | None
    satisfied: bool
    failing: NDArray[np.bool_]
    records_failing: int
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Verdict({self.sentence()})"

    @property
    def title(self) -> str:
        """The model and what it is about."""
        return f"{self.name} of {self.attribute}" if self.attribute else self.name

    def sentence(self) -> str:
        """The verdict as people read it."""
        more = ", ".join(f"{key} = {value}" for key, value in self.parameters.items())
        outcome = "nothing to judge" if self.value is None else f"found {shown(self.value)}"
        required = f"{self.bound.value} {shown(self.threshold)} asked"
        end = "satisfied" if self.satisfied else "NOT satisfied"
        return f"{self.title}{f' ({more})' if more else ''}: {required}, {outcome}: {end}"

    def stated(self) -> StatedVerdict:
        """The verdict as certificates and results state it, without saying which classes fail."""
        return StatedVerdict(
            name=self.name,
            attribute=self.attribute,
            parameters=dict(self.parameters),
            bound=self.bound,
            threshold=self.threshold,
            value=self.value if self.value is None or math.isfinite(self.value) else "infinite",
            satisfied=self.satisfied,
            classes_failing=int(self.failing.sum()),
            records_failing=self.records_failing,
        )

    def as_certificate(self) -> dict[str, Any]:
        """The verdict for a JSON document."""
        return dict(plain(self.stated()))


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedVerdict:
    """A verdict in figures. An infinite value is the word "infinite", for JSON has no number for it."""

    name: str
    attribute: str | None
    parameters: Mapping[str, Any]
    bound: Bound
    threshold: float
    value: str | float | None
    satisfied: bool
    classes_failing: int
    records_failing: int

    @property
    def found(self) -> str:
        """The value as people read it."""
        if self.value is None:
            return "nothing to judge"
        return self.value if isinstance(self.value, str) else shown(self.value)

    def as_row(self) -> dict[str, Any]:
        """The verdict as a row of a table."""
        return {
            "model": self.name,
            "attribute": self.attribute,
            "asked": f"{self.bound.value} {shown(self.threshold)}",
            "found": self.found,
            "satisfied": self.satisfied,
        }


def shown(number: float) -> str:
    """A threshold or value in at most four digits.

    >>> shown(5.0), shown(0.12345), shown(float("inf"))
    ('5', '0.1235', 'infinite')
    """
    if math.isinf(number):
        return "infinite"
    return f"{number:.0f}" if float(number).is_integer() else f"{number:.4g}"


def percent(share: float) -> str:
    """A share as people read it.

    >>> percent(0.2), percent(0.025)
    ('20 %', '2.5 %')
    """
    return f"{100 * share:g} %"
