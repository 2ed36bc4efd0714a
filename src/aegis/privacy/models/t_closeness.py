"""A class tells little about the sensitive value that the whole table does not tell.

How far the values of a class are from those of the table is the earth mover's distance: the least amount of probability
that must be moved, times how far, to turn the distribution Q of a class into the distribution P of the table. The
distances differ in how far apart two values are:

equal         1 for any two values.
ordered       the number of steps between them in the order of the values that occur, over the largest such number.
hierarchical  the height of the lowest node that covers both, over the height of the hierarchy.

Only the values that occur in a class are visited: the gaps between them have closed forms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from aegis.counts.class_table import ClassTable
from aegis.counts.content import Content
from aegis.data.kind import Kind
from aegis.errors import MeasureError
from aegis.masking.transition import Partition
from aegis.privacy.class_bounds import ClassBounds, SecretShares
from aegis.privacy.model import MODELS, ROUNDING, ClassModel, OneOf, Range, Rule, Scores, Written, drawn_of
from aegis.privacy.verdict import Bound


@MODELS.register("t-closeness")
@dataclass(frozen=True, slots=True, kw_only=True)
class TCloseness(ClassModel):
    """In every class the distribution of the attribute is within t of that in the whole table."""

    attribute: str
    t: float
    distance: str = "equal"

    name: ClassVar[str] = "t-closeness"
    bound: ClassVar[Bound] = Bound.AT_MOST
    reference: ClassVar[str] = "Li, Li and Venkatasubramanian 2007"
    threshold_name: ClassVar[str] = "t"
    rules: ClassVar[Mapping[str, Rule]] = {
        "t": Range(high=1),
        "distance": OneOf(("equal", "ordered", "hierarchical")),
    }
    written: ClassVar[Written] = Written(word="t", bare="t")

    @property
    def needs_hierarchy(self) -> bool:
        return self.distance == "hierarchical"

    def promise(self, *, on: str, of: str) -> str:
        return (
            f"In every group of alike records {of} is distributed nearly as in the whole table: "
            f"at most {self.t:g} apart."
        )

    def class_bounds(self, secrets: Mapping[str, SecretShares]) -> tuple[ClassBounds, ...] | None:
        most = self.t + ROUNDING
        if self.distance == "equal":
            return (ClassBounds(attribute=self.attribute, apart=most),)
        if self.distance == "ordered" and secrets[self.attribute].in_order:
            return (ClassBounds(attribute=self.attribute, steps_apart=most),)
        return None  # a hierarchy, or missing values, which have no place in the order

    def scores(self, table: ClassTable) -> Scores:
        return distances(drawn_of(table, self.attribute, model=self.name), self.distance)


def equal_distance(content: Content) -> Scores:
    """Half the sum of |q − p|, which is the sum of q − p over the values where the class has more than its share."""
    q = content.counts / np.repeat(_sizes(content), content.distinct)
    p = content.totals / _records(content)
    return content.per_class(np.maximum(q - p[content.values], 0.0))


def ordered_distance(content: Content) -> Scores:
    """The sum over the steps of the order of |cumulated q − cumulated p|, over the number of steps.

    A missing value has no place in the order and counts as one whole order away from every value: the share of missing
    values that differs is moved at cost 1, the rest along the order. That is the cost of one way to move the earth, so
    never less than the least; without missing values it is the least. Ranks are those of the values that occur in the
    table, so that unused codes do not dilute the distance.
    """
    if not (content.domain.kind.is_ordered or content.domain.kind is Kind.BOOLEAN):
        raise MeasureError(
            "the ordered distance needs a column of numbers, dates or truth values; "
            "use the distance 'equal' or 'hierarchical' for text"
        )
    sizes = _sizes(content).astype(np.float64)
    values = len(content.domain.values)
    occurring = np.flatnonzero(content.totals[:values])
    present = content.values < values
    missing_p = 1.0 - content.totals[:values].sum() / _records(content)
    missing_q = content.per_class(np.where(present, 0.0, content.counts)) / sizes
    moved = np.abs(missing_q - missing_p)
    steps = len(occurring) - 1
    if steps < 1:
        return moved

    reference = content.totals[occurring] / content.totals[occurring].sum()
    cumulated = np.minimum(np.cumsum(reference)[:-1], 1.0)  # after each step of the order
    below = np.concatenate([[0.0], np.cumsum(cumulated)])  # sums of the first j of them
    rank = np.searchsorted(occurring, content.values)

    # Within a class the cumulated share q of the known values is constant between the values that occur: entry i holds
    # it from its own rank to that of the next entry; before the first it is zero.
    owners = content.owners
    running = np.cumsum(np.where(present, content.counts, 0))
    before_class = np.concatenate([[0], running])[content.starts[:-1]]
    known_sizes = np.maximum(sizes * (1.0 - missing_q), 1e-300)
    q = (running - before_class[owners]) / known_sizes[owners]
    start = np.minimum(rank, steps)
    end = np.full(len(rank), steps)
    end[:-1] = np.where(owners[1:] == owners[:-1], start[1:], steps)
    inside = present & (end > start)
    crossing = np.clip(np.searchsorted(cumulated, q), start, np.maximum(end, start))
    gap = (
        q * (crossing - start)
        - (below[crossing] - below[start])
        + (below[end.clip(min=0)] - below[crossing])
        - q * (end - crossing)
    )
    along = content.per_class(np.where(inside, gap, 0.0))
    along += below[start[content.starts[:-1]]]  # before the first entry q is zero, so the distance is p itself
    along = np.where(missing_q < 1.0, along, 0.0)
    return np.minimum(moved + (1.0 - missing_q) * np.maximum(along, 0.0) / steps, 1.0)


def hierarchical_distance(content: Content) -> Scores:
    """The mean over the levels below the top of the equal distance between the generalised values.

    In a hierarchy of height H two values under a node of height h are h / H apart, which is what the equal distance
    charges at each of the h levels where they still differ, over H.
    """
    if not content.levels:
        raise MeasureError(
            "the hierarchical distance needs a hierarchy of the column; give one, or use the distance 'equal'"
        )
    below_top: tuple[Partition, ...] = content.levels[:-1]
    total = equal_distance(content)
    for level in below_top:
        total = total + equal_distance(content.masked(level))
    return total / (len(below_top) + 1)


DISTANCES = {"equal": equal_distance, "ordered": ordered_distance, "hierarchical": hierarchical_distance}


def distances(content: Content, distance: str) -> Scores:
    """How far each class is from the whole table.

    A class with a single value is as far as that value, however many records hold it: where most classes are such, one
    look at each value of the domain answers for all of them.
    """
    measure = DISTANCES[distance]
    several = np.flatnonzero(content.distinct > 1)
    classes = len(content.starts) - 1
    if 2 * len(several) > classes or content.domain.size > classes:
        return measure(content)
    scores = measure(content.one_value_each())[content.values[content.starts[:-1]]]
    if len(several):
        scores[several] = measure(content.selected(several))
    return scores


def _sizes(content: Content) -> NDArray[np.int64]:
    return np.add.reduceat(content.counts, content.starts[:-1]) if len(content.starts) > 1 else np.zeros(0, np.int64)


def _records(content: Content) -> int:
    return max(int(content.totals.sum()), 1)
