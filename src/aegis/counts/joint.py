"""Counts of one column, and of one column with the label: all that a ranking looks at, and what it needs of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Floats
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.errors import DataError, LabelError, SummaryError
from aegis.masking.mask import Mask
from aegis.masking.transition import Transition, transition

Counts = NDArray[Any]

_COINCIDENCES = 10.0  # numbers that would meet so often by chance and never do are the numbers of rows


def checked_counts(counts: Counts, shape: tuple[int, ...], *, what: str) -> Counts:
    """``counts`` as they are, or an error that says which rule of counting they break."""
    array = np.asarray(counts)
    if array.shape != shape:
        raise SummaryError(f"{what} has {array.shape} counts where its values need {shape}; write the summary again")
    if array.dtype.kind not in "iuf" or not np.isfinite(array).all():
        raise SummaryError(f"{what} holds counts that are not finite numbers; write the summary again")
    if (array < 0).any():
        raise SummaryError(f"{what} holds negative counts, which no table gives; write the summary again")
    array = np.ascontiguousarray(array)
    array.flags.writeable = False
    return array


def divisor(counts: Counts) -> NDArray[np.float64]:
    """What may be divided by: the counts where there are records, 1 where there are none (what is divided is then 0).

    >>> divisor(np.array([4, 0, 0.5])).tolist()
    [4.0, 1.0, 0.5]
    """
    return np.where(counts > 0, counts, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Histogram:
    """How often each value of a column occurs, one count per code of the domain."""

    domain: Domain
    counts: Counts
    _changes: dict[Mask, Transition] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", checked_counts(self.counts, (self.domain.size,), what="a histogram"))

    def changed_by(self, mask: Mask) -> Transition:
        """What a mask does to the column: worked out once, whoever asks."""
        if mask not in self._changes:
            self._changes[mask] = transition(mask, self.domain, self.counts)
        return self._changes[mask]

    @property
    def rows(self) -> float:
        return float(self.counts.sum())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Joint:
    """How often each value of an attribute occurs with each value of the label: attribute down, label across."""

    attribute: Domain
    label: Domain
    counts: Counts
    _alone: list[Histogram] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        shape = (self.attribute.size, self.label.size)
        object.__setattr__(self, "counts", checked_counts(self.counts, shape, what="a joint"))

    @property
    def rows(self) -> float:
        return float(self.counts.sum())

    def histogram(self) -> Histogram:
        """The attribute alone."""
        if not self._alone:
            self._alone.append(Histogram(domain=self.attribute, counts=self.counts.sum(axis=1)))
        return self._alone[0]

    def masked(self, on_attribute: Transition | None = None, on_label: Transition | None = None) -> Joint:
        """The joint of the masked attribute and the masked label, expected counts where a mask draws."""
        counts, attribute, label = self.counts, self.attribute, self.label
        if on_attribute is not None:
            counts, attribute = on_attribute.push(counts, axis=0), on_attribute.target
        if on_label is not None:
            counts, label = on_label.push(counts, axis=1), on_label.target
        return Joint(attribute=attribute, label=label, counts=counts)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TableCounts:
    """One pass over a table: each attribute with the label, and why some columns were left out."""

    rows: int
    label: str
    label_histogram: Histogram
    joints: Mapping[str, Joint]
    skipped: Mapping[str, str]


def check_filled(columns: Mapping[str, Domain], *, what_to_do: str | None = None) -> None:
    """Raise if some column is missing in every row: most likely it was read wrongly, or is a leftover.

    ``what_to_do`` replaces the usual advice.
    """
    empty = [name for name, domain in columns.items() if not len(domain.values)]
    if empty:
        which = f"column {empty[0]!r} has" if len(empty) == 1 else f"columns {', '.join(map(repr, empty))} have"
        pronoun = "it" if len(empty) == 1 else "them"
        usual = (
            f"drop {pronoun}, or leave {pronoun} out by naming {pronoun} identifying "
            f"(--identifying {','.join(empty)}, or in the roles file)"
        )
        raise DataError(f"{which} no value in any row; {what_to_do or usual}")


def check_classes(label: str, counts: Counts) -> None:
    """Raise if no two rows share a value of the label: it names no classes, and nothing predicts it."""
    if counts.max(initial=0) <= 1:
        raise LabelError(
            f"the label {label!r} has another value in every row, so no two rows are alike; choose a column of classes"
        )


def check_no_numbering(label: str, kind: Kind, numbers: Floats) -> None:
    """Raise if whole numbers or dates, one of each row, are all different where chance would make many of them meet."""
    rows = len(numbers)
    if kind not in (Kind.INTEGER, Kind.DATE) or not rows or len(np.unique(numbers)) < rows:
        return
    span = float(numbers.max() - numbers.min()) + 1.0
    if rows * rows / (2 * span) >= _COINCIDENCES:
        raise LabelError(
            f"the label {label!r} has another value in every row, as numbers of rows have; choose a column to predict"
        )
