"""What a mask is: a value that says what may happen to the values of one column.

A mask has two faces that must agree. The *domain face* acts on the distinct values, in numpy, and is what the advisor
uses; the *engine face* is a column expression that the database runs over the rows, and is what a release uses. Masks
see Ibis only as methods of the column they are given, so that this room can be imported where rows cannot be read.

There are four shapes of mask, by what their engine face is:

==================  =========================================  ====================================
shape               domain face                                engine face
==================  =========================================  ====================================
`ExpressionMask`    ``on_values(values)``                      ``expression(column, kind)``
`MappedMask`        ``on_values(values)``                      a mapping table joined to the rows
`RandomMask`        ``channel(domain, counts)``                ``expression(column, kind, draw)``
`PermutingMask`     ``channel(domain, counts)``                a random permutation of the rows
==================  =========================================  ====================================

Missing stays missing under every mask that does not set ``covers_missing``; the faces are never handed it.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from aegis.data.domain import Domain
from aegis.data.kind import ALL_KINDS, Kind, Values
from aegis.errors import MaskError
from aegis.masking.parameter import Rule, check_parameters, parameters_of
from aegis.registry import Registry

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from aegis.masking.transition import Channel

MASKS: Registry[type[Mask]] = Registry("masks", noun="mask", error=MaskError, package="aegis.masking.masks")

_Edge = TypeVar("_Edge")

Draw = Callable[[], "ir.FloatingColumn"]
"""Gives a fresh column of uniform random numbers in [0, 1) each time it is called.

It must be a stored column, not an expression: engines draw again wherever an expression is repeated."""


class Mask(ABC):
    """The part all masks share. Subclasses are frozen dataclasses registered in `MASKS`."""

    __slots__ = ()

    name: ClassVar[str]
    """The name in configurations."""
    aliases: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Names that people know from warehouses and other tools, each with the parameters that it sets."""
    accepts: ClassVar[frozenset[Kind]] = ALL_KINDS
    """The kinds of column it fits."""
    kind_written: ClassVar[Kind | None] = None
    """The kind of the masked column; None where it is the column's own."""
    covers_missing: ClassVar[bool] = False
    """Whether missing values are masked as well; otherwise missing stays missing."""
    shows_nothing: ClassVar[bool] = False
    """Whether nothing of any value is left: all become the same, or missing."""
    injective: ClassVar[bool] = False
    """Whether different values always stay different, under names that mean nothing (tokens, pseudonyms)."""
    example: ClassVar[tuple[str, str]] = ("", "")
    """A value and what becomes of it, for the documentation."""
    example_parameters: ClassVar[Mapping[str, Any]] = {}
    """The parameters of that example, as a configuration writes them."""
    rules: ClassVar[Mapping[str, Rule]] = {}
    """What each parameter may be; one without a rule may be anything until the mask itself refuses it."""
    one_of: ClassVar[tuple[str, ...]] = ()
    """Parameters of which exactly one is given."""
    together: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Parameters that are given both, or neither."""
    goes_with: ClassVar[Mapping[str, str]] = {}
    """Parameters that may only be set beside another."""
    needs_hierarchy: ClassVar[bool] = False
    """Whether it takes the hierarchy of its column, which a configuration names or leaves out."""
    lists_values: ClassVar[bool] = False
    """Whether its parameters list values of the column, which a certificate leaves out: it states `labels` alone."""
    needs_secret: ClassVar[bool] = False
    """Whether it reads a secret that only the provider's machine has."""

    def __post_init__(self) -> None:
        check_parameters(self)

    @abstractmethod
    def describe(self) -> str:
        """What it does, in a few words."""

    @property
    def steps(self) -> tuple[Mask, ...]:
        """The masks that it applies one after the other: those of a chain, or itself."""
        return (self,)

    @property
    def hides(self) -> bool:
        """Whether it shows nothing of any value."""
        return any(step.shows_nothing for step in self.steps)

    @property
    def names_values(self) -> bool:
        """Whether one of its steps lists values of the column."""
        return any(step.lists_values for step in self.steps)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that its parameters name, of lists of values and of intervals between edges; else none."""
        return ()

    def without_values(self, written: Collection[str] | None = None) -> Mask:
        """The mask with those of its labels that are ``written`` (all of them for None), and no value behind any.

        A hierarchy or a list of groups names every value of its column, those of a single record among them. Edges tell
        where the values lie between them, also of groups that were suppressed. Whoever gets a release needs none of
        that to check it.
        """
        return self

    def gives(self, groups: Mapping[str, Collection[str]]) -> bool:
        """Whether each of some values gets the label that it stands under."""
        return not groups

    @property
    def is_random(self) -> bool:
        """Whether it draws at random."""
        return any(isinstance(step, RandomMask | PermutingMask) for step in self.steps)

    def is_fitted(self, kind: Kind) -> bool:
        """Whether it reads nothing more off a column of this kind: buckets of a width do not, quantiles do."""
        for step in self.steps:
            # A mask that reads nothing off a column stays as it is when shown one.
            any_column = Domain.of(kind, np.array(["" if kind is Kind.TEXT else 0], dtype=object).astype(kind.dtype))
            if step.resolve(any_column, np.ones(1)) != step:
                return False
            kind = step.kind_after(kind)
        return True

    def kind_after(self, kind: Kind) -> Kind:
        """The kind of the masked column."""
        return self.kind_written or kind

    def resolve(self, domain: Domain, counts: NDArray[Any]) -> Self:
        """The same mask with everything it reads off a domain made explicit; ``counts`` are per code of the domain.

        A resolved mask gives the same answer on rows that come later.
        """
        return self

    def check(self, kind: Kind, *, column: str) -> None:
        """Raise unless it fits a column of this kind."""
        if kind not in self.accepts:
            fits = ", ".join(sorted(k.value for k in self.accepts))
            raise MaskError(f"mask {self.name!r} does not fit column {column!r}: it takes {fits}, the column is {kind}")

    def check_domain(self, domain: Domain, *, column: str) -> None:
        """Raise unless it fits a column with these values."""
        self.check(domain.kind, column=column)

    @abstractmethod
    def could_write(self, texts: Sequence[str]) -> list[bool]:
        """Which of a released column's distinct texts this mask could have written, whatever the value was.

        A mask that reads edges or limits off a column answers for all of them together: too many buckets, or buckets
        that overlap, are not its work.
        """

    def parameters(self) -> dict[str, Any]:
        """What was set, by name, for a configuration file: defaults left out."""
        stated: dict[str, Any] = {}
        for item in fields(cast(Any, self)):
            value = getattr(self, item.name)
            default = item.default_factory() if item.default_factory is not MISSING else item.default
            if default is MISSING or value != default:
                stated[item.name] = list(value) if isinstance(value, tuple) else value
        return stated

    def spec(self) -> Any:
        """The mask as a configuration writes it: ``suppress`` or ``{bucketize: {width: 10}}``."""
        parameters = self.parameters()
        return {self.name: parameters} if parameters else self.name

    def fingerprint(self) -> Any:
        """What the content id of a configuration is made of; shorter than `spec` where that holds a whole hierarchy."""
        return self.spec()

    @classmethod
    def from_parameters(cls, parameters: dict[str, Any]) -> Self:
        """Build it from a configuration's parameters."""
        return cls._build(parameters)

    @classmethod
    def _build(cls, values: dict[str, Any]) -> Self:
        assert is_dataclass(cls)
        parameters = parameters_of(cls)
        unknown = sorted(set(values) - {parameter.name for parameter in parameters})
        if unknown:
            takes = ", ".join(sorted(parameter.name for parameter in parameters)) or "no parameters"
            raise MaskError(f"mask {cls.name!r} has no parameter {', '.join(map(repr, unknown))}; it takes {takes}")
        arguments = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
        try:
            return cast(Self, cls(**arguments))
        except TypeError:
            absent = sorted(p.name for p in parameters if p.required and p.name not in values)
            if absent:
                raise MaskError(f"mask {cls.name!r} needs the parameter {', '.join(absent)}") from None
            raise MaskError(f"mask {cls.name!r} has a parameter of the wrong type") from None


class ValueMask(Mask):
    """A deterministic mask: every value has one masked value."""

    __slots__ = ()

    @abstractmethod
    def on_values(self, values: Values) -> Values:
        """The masked value of each value; none of ``values`` is missing. None in the answer means missing."""


class ExpressionMask(ValueMask):
    """A deterministic mask that engines can compute."""

    __slots__ = ()

    @abstractmethod
    def expression(self, column: ir.Column, kind: Kind) -> ir.Column:
        """The masked column; what it gives for missing rows is overwritten unless ``covers_missing``."""


class MappedMask(ValueMask):
    """A deterministic mask with no portable expression: computed on the domain and joined to the rows."""

    __slots__ = ()


class RandomMask(Mask):
    """A mask that draws: given the true value, each masked value has a known probability."""

    __slots__ = ()

    draws: ClassVar[int]
    """How many uniform random numbers a row needs."""

    @abstractmethod
    def channel(self, domain: Domain, counts: NDArray[Any]) -> Channel:
        """P(masked | value) over the domain; ``counts`` are per code, for masks that depend on the distribution."""

    @abstractmethod
    def expression(self, column: ir.Column, kind: Kind, draw: Draw) -> ir.Column:
        """The masked column, with randomness from ``draw``."""


class PermutingMask(Mask):
    """A mask that hands the values to other rows at random; scored by its expectation."""

    __slots__ = ()

    @abstractmethod
    def channel(self, domain: Domain, counts: NDArray[Any]) -> Channel:
        """P(masked | value) for a row chosen at random."""


def as_number(text: str) -> float | None:
    """A written number; None where it is none."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def is_multiple(number: float | None, step: float) -> bool:
    """Whether a written number is a multiple of a step, as exactly as it could be written.

    >>> is_multiple(0.3, 0.1), is_multiple(0.35, 0.1), is_multiple(-40.0, 20)
    (True, False, True)
    """
    return number is not None and abs(number - round(number / step) * step) <= 1e-9 * max(abs(number), step)


def apart(intervals: Sequence[tuple[float, float] | None], *, most: int) -> list[bool]:
    """Which of some intervals could be the buckets of one mask: none overlaps another, and they are not too many."""
    ordered = sorted(interval for interval in intervals if interval is not None)
    overlapping = {
        interval
        for first, second in itertools.pairwise(ordered)
        if second[0] < first[1]
        for interval in (first, second)
    }
    if len(ordered) > most:
        return [False] * len(intervals)
    return [interval is not None and interval not in overlapping for interval in intervals]


def as_objects(values: Any) -> Values:
    """A vector of Python objects (text), even where numpy would make something else of them."""
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def constant(column: ir.Column, value: Any) -> ir.Column:
    """A column that holds ``value`` in every row."""
    return column.isnull().ifelse(value, value)


def by_threshold(number: ir.Column, cuts: Sequence[Any], leaves: Sequence[Any]) -> ir.Column:
    """``leaves[i]`` where ``i`` of the sorted ``cuts`` are at or below the number.

    A balanced tree of conditions: its depth, and the work per row, grow with the logarithm of the number of leaves.
    """
    assert len(leaves) == len(cuts) + 1
    if not cuts:
        return constant(number, leaves[0])
    return _branch(number, cuts, leaves)


def _branch(number: ir.Column, cuts: Sequence[Any], leaves: Sequence[Any]) -> Any:
    if not cuts:
        return leaves[0]
    middle = len(cuts) // 2
    below = _branch(number, cuts[:middle], leaves[: middle + 1])
    above = _branch(number, cuts[middle + 1 :], leaves[middle + 1 :])
    return (number < cuts[middle]).ifelse(below, above)


def beside_written(edges: tuple[_Edge, ...], labels: Sequence[str], written: Collection[str]) -> tuple[_Edge, ...]:
    """The edges at which an interval begins or ends that is ``written``; ``labels`` are those of all, in order.

    What lies between two of the others is suppressed, and the edge only told where.

    >>> beside_written((10, 20, 30), ["below 10", "10 to 20", "20 to 30", "from 30"], {"20 to 30"})
    (20, 30)
    """
    sides = itertools.pairwise(label in written for label in labels)
    return tuple(edge for edge, beside in zip(edges, sides, strict=True) if any(beside))
