"""The distinct values of a column, in order, with missing as a value of its own.

Everything past the engine speaks in codes: the position of a value in its domain. A record without a value has the
last code, ``len(values)``, in every layer: it is counted, it forms classes, it carries information about the label.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.data.kind import Kind, Values


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Domain:
    """The distinct values of one column.

    ``values`` holds them sorted and without missing; ``missing`` says that some records have none. ``discretised``
    says that the engine grouped a large numeric domain into ranges, and that each value stands for the range that
    starts there. ``order`` is the place of each value in an order that somebody declared.

    >>> domain = Domain.of(Kind.INTEGER, [30, 10, 30], missing=True)
    >>> domain, domain.size, domain.labels()
    (Domain(integer, 2 values and missing), 3, ['10', '30', 'missing'])
    """

    kind: Kind
    values: Values
    missing: bool = False
    discretised: bool = False
    order: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.values.dtype != self.kind.dtype or self.values.ndim != 1:
            raise ValueError(f"a domain of kind {self.kind} holds a vector of {self.kind.dtype}")
        self.values.flags.writeable = False

    @classmethod
    def of(cls, kind: Kind, values: Any, *, missing: bool = False, discretised: bool = False) -> Domain:
        """Sort and deduplicate ``values`` (none of them missing) into a domain."""
        return cls(
            kind=kind, values=distinct(np.asarray(values, dtype=kind.dtype)), missing=missing, discretised=discretised
        )

    def __repr__(self) -> str:
        # The values themselves are the data: never in a repr.
        more = " and missing" if self.missing else ""
        how = ", discretised" if self.discretised else ""
        return f"Domain({self.kind}, {len(self.values)} values{more}{how})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Domain)
            and (self.kind, self.missing, self.discretised) == (other.kind, other.missing, other.discretised)
            and np.array_equal(self.values, other.values)
        )

    __hash__ = None  # type: ignore[assignment]  # compared by content, never a key

    @property
    def size(self) -> int:
        """How many codes there are, missing included."""
        return len(self.values) + self.missing

    def labels(self) -> list[str]:
        """The values as people read them, in code order."""
        shown = [show(value) for value in self.values.tolist()]
        return [*shown, "missing"] if self.missing else shown

    def codes(self, values: Values) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The code of each of ``values``, all of which must be in the domain."""
        places = np.searchsorted(self.values, values)
        return places.astype(np.int64)


def show(value: object) -> str:
    """A domain value as text: whole numbers without a point, dates as ISO.

    >>> show(3.0), show(2.5), show("a"), show(True)
    ('3', '2.5', 'a', 'true')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return str(value)


def distinct(values: NDArray[Any]) -> NDArray[Any]:
    """The distinct values in order; numpy, where it is asked for nothing else, first loads its masked arrays.

    >>> distinct(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    return np.unique(values, return_counts=True)[0]
