"""What a measure is: a pure function of what was counted, with the facts that ranking and plotting need beside it.

There is one registry, `MEASURES`, and an entry for each kind of question:

==================  ==============================  ====================================================
entry               is computed from                and scores
==================  ==============================  ====================================================
`AttributeMeasure`  an attribute's joint with the   single attributes; a configuration by their mean
                    label
`PairMeasure`       pairs of attributes with the    whole configurations: what attributes say together
                    label, on a sample of rows
==================  ==============================  ====================================================

To add one, write a function in a module of this package and put `attribute_measure` or `pair_measure` above it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from aegis.counts.joint import Counts
from aegis.errors import MeasureError
from aegis.registry import Registry

if TYPE_CHECKING:
    from aegis.measures.pair_ground import PairGround


class Basis(StrEnum):
    """What a measure is computed from."""

    JOINT = "joint"  # of each attribute with the label
    PAIRS = "pairs"  # of attributes with the label


class Scaling(StrEnum):
    """What happens to a measure when every count is multiplied by the same number."""

    FREE = "free"  # nothing: it is a function of the distribution
    LINEAR = "linear"  # it is multiplied by that number too
    SAMPLE = "sample"  # it moves: more records are more evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """The declared facts of every measure: its unit, its direction and its bounds.

    ``reference`` says where it comes from, ``summary`` what it says in a sentence.
    """

    basis: ClassVar[Basis]

    name: str
    unit: str
    higher_is_better: bool
    lower: float
    upper: float
    reference: str
    summary: str

    @property
    def of_whole_configurations(self) -> bool:
        """Whether it scores configurations as a whole, and says nothing of their single attributes."""
        return self.basis is not Basis.JOINT

    def facts(self) -> dict[str, Any]:
        """What is declared, as a record for JSON."""
        return {
            "name": self.name,
            "basis": self.basis.value,
            "unit": self.unit,
            "higher_is_better": self.higher_is_better,
            "bounds": [self.lower, self.upper],
            "reference": self.reference,
            "summary": self.summary,
        }


class AttributeFunction(Protocol):
    """Counts, attribute down and label across, to a number; leading axes are independent tables."""

    def __call__(self, counts: Counts, /) -> NDArray[np.float64]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeMeasure(Measure):
    """A measure of one attribute, from its joint with the label.

    ``invariant`` says that spreading each block of a partition by its own conditional distribution changes nothing
    (so a per-configuration reconstruction says nothing); ``monotone`` that merging values can only make it worse.
    ``blank`` gives the value of an attribute with a single value, from the label's counts alone.
    """

    basis: ClassVar[Basis] = Basis.JOINT

    function: AttributeFunction
    invariant: bool
    monotone: bool
    blank: Callable[[Counts], NDArray[np.float64]]
    scaling: Scaling = Scaling.FREE

    def __call__(self, counts: Counts) -> NDArray[np.float64]:
        """The measure of a table of counts, attribute down and label across; leading axes are further tables."""
        return self.function(counts)

    def facts(self) -> dict[str, Any]:
        """What is declared, as a record for JSON."""
        return Measure.facts(self) | {"invariant": self.invariant, "monotone": self.monotone}


class PairFunction(Protocol):
    """Pair tables to one utility per configuration and resamples of it, configurations down."""

    def __call__(
        self, ground: PairGround, rng: np.random.Generator, /
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PairMeasure(Measure):
    """A measure of whole configurations, from pairs of attributes; `pair_scores` applies it."""

    basis: ClassVar[Basis] = Basis.PAIRS

    function: PairFunction


MEASURES: Registry[Measure] = Registry("measures", noun="measure", error=MeasureError, package="aegis.measures")

A = TypeVar("A", bound=AttributeFunction)
P = TypeVar("P", bound=PairFunction)
M = TypeVar("M", bound=Measure)


def measures_of(kind: type[M]) -> dict[str, M]:
    """The measures of one kind by name, in alphabetical order.

    >>> "g3" in measures_of(AttributeMeasure), "label-probe" in measures_of(PairMeasure)
    (True, True)
    """
    return {name: measure for name, measure in MEASURES.items() if isinstance(measure, kind)}


def find_attribute_measure(name: str) -> AttributeMeasure:
    """The measure of single attributes called ``name``; `MeasureError` where it scores whole configurations.

    >>> find_attribute_measure("g3").unit
    'share of records'
    """
    measure = MEASURES[name]
    if not isinstance(measure, AttributeMeasure):
        raise MeasureError(
            f"{name} scores whole configurations; here a measure of single attributes is needed: "
            f"{', '.join(measures_of(AttributeMeasure))}"
        )
    return measure


def find_pair_measure(name: str) -> PairMeasure:
    """The measure of whole configurations called ``name``; `MeasureError` where it scores single attributes."""
    measure = MEASURES[name]
    if not isinstance(measure, PairMeasure):
        raise MeasureError(
            f"{name} scores single attributes; here a measure of whole configurations is needed: "
            f"{', '.join(measures_of(PairMeasure))}"
        )
    return measure


def attribute_measure(
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
) -> Callable[[A], A]:
    """Enter a function of a joint into `MEASURES` and give it back unchanged; its docstring says what it measures."""

    def enter(function: A) -> A:
        measure = AttributeMeasure(
            name=name,
            function=function,
            unit=unit,
            higher_is_better=higher_is_better,
            lower=lower,
            upper=upper,
            invariant=invariant,
            monotone=monotone,
            reference=reference,
            summary=_first_line(function),
            blank=blank or nothing,
            scaling=scaling,
        )
        MEASURES.add(name, measure)
        return function

    return enter


def pair_measure(name: str, *, unit: str, upper: float = float("inf"), reference: str) -> Callable[[P], P]:
    """Enter a function of pair tables into `MEASURES` and give it back unchanged; higher is better, 0 is nothing."""

    def enter(function: P) -> P:
        measure = PairMeasure(
            name=name,
            function=function,
            unit=unit,
            higher_is_better=True,
            lower=0.0,
            upper=upper,
            reference=reference,
            summary=_first_line(function),
        )
        MEASURES.add(name, measure)
        return function

    return enter


def _first_line(function: object) -> str:
    return (function.__doc__ or "").strip().split("\n")[0]


def nothing(label: Counts) -> NDArray[np.float64]:
    """The value of a useless attribute for most measures: zero."""
    return np.zeros(label.shape[:-1])
