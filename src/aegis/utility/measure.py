"""What a measure is: a pure function of counts, with the facts that ranking and plotting need declared beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from aegis.errors import MeasureError
from aegis.registry import Registry

Counts = NDArray[Any]


class MeasureFunction(Protocol):
    """Counts, attribute down and label across, to a number; leading axes are independent tables."""

    def __call__(self, counts: Counts, /) -> NDArray[np.float64]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A measure with its declared facts.

    ``invariant`` says that spreading each block of a partition by its own conditional distribution changes nothing
    (so a per-configuration reconstruction says nothing); ``monotone`` that merging values can only make it worse.
    ``blank`` gives the value of an attribute that says nothing, from the label's counts alone.
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

    def __call__(self, counts: Counts) -> NDArray[np.float64]:
        return self.function(counts)


MEASURES: Registry[Measure] = Registry(
    "measures",
    noun="measure",
    error=MeasureError,
    modules=("aegis.utility.information",),
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
            ),
        )
        return function

    return enter


def nothing(label: Counts) -> NDArray[np.float64]:
    """The value of a useless attribute for most measures: zero."""
    return np.zeros(label.shape[:-1])
