"""What a measure is: a pure function of counts, with the facts that ranking and plotting need declared beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from aegis.errors import MeasureError
from aegis.registry import Registry

Counts = NDArray[Any]


class MeasureFunction(Protocol):
    """Counts, attribute down and label across, to a number; leading axes are independent tables."""

    def __call__(self, counts: Counts, /) -> NDArray[np.float64]: ...


class Scaling(StrEnum):
    """What happens to a measure when every count is multiplied by the same number."""

    FREE = "free"  # nothing: it is a function of the distribution
    LINEAR = "linear"  # it is multiplied by that number too
    SAMPLE = "sample"  # it moves: more records are more evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A measure with its declared facts.

    ``invariant`` says that spreading each block of a partition by its own conditional distribution changes nothing
    (so a per-configuration reconstruction says nothing); ``monotone`` that merging values can only make it worse.
    ``blank`` gives the value of an attribute with a single value, from the label's counts alone.
    """

    name: str
    function: MeasureFunction
    unit: str
    higher_is_better: bool
    lower: float
    upper: float
    invariant: bool
    monotone: bool
    reference: str
    summary: str
    blank: Callable[[Counts], NDArray[np.float64]]
    scaling: Scaling = Scaling.FREE

    def __call__(self, counts: Counts) -> NDArray[np.float64]:
        return self.function(counts)


MEASURES: Registry[Measure] = Registry(
    "measures",
    noun="measure",
    error=MeasureError,
    modules=(
        "aegis.measures.information",
        "aegis.measures.chi_square",
        "aegis.measures.functional_dependency",
        "aegis.measures.divergence",
        "aegis.measures.leave_one_out",
    ),
)

F = TypeVar("F", bound=MeasureFunction)


def measure(
    name: str,
    *,
    unit: str,
    higher_is_better: bool = True,
    lower: float = 0.0,
    upper: float = float("inf"),
    invariant: bool,
    monotone: bool,
    reference: str,
    blank: Callable[[Counts], NDArray[np.float64]] | None = None,
    scaling: Scaling = Scaling.FREE,
) -> Callable[[F], F]:
    """Enter a function into `MEASURES` and give it back unchanged."""

    def enter(function: F) -> F:
        MEASURES.add(
            name,
            Measure(
                name=name,
                function=function,
                unit=unit,
                higher_is_better=higher_is_better,
                lower=lower,
                upper=upper,
                invariant=invariant,
                monotone=monotone,
                reference=reference,
                summary=(function.__doc__ or "").strip().split("\n")[0],
                blank=blank or nothing,
                scaling=scaling,
            ),
        )
        return function

    return enter


def nothing(label: Counts) -> NDArray[np.float64]:
    """The value of a useless attribute for most measures: zero."""
    return np.zeros(label.shape[:-1])


def at_least_one(total: NDArray[np.float64]) -> NDArray[np.float64]:
    """A divisor: the total where there are records, 1 where a table is empty (its numerators are then 0)."""
    return np.where(total > 0, total, 1.0)
