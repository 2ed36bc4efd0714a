"""Which columns go together, and which tell another, read off the first rows as codes.

A table report shows one number for each pair. A column that tells the label, or what is masked, must not be overlooked.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from aegis.arrays import Codes

_MOST_VALUES = 64
_FEWEST_ROWS = 50
WORTH_SAYING = 0.3
"""Weaker associations are ordinary, and are not shown."""
_TELLS = 0.95
"""A column tells another where it removes this share of the errors that guessing makes."""
_GIVES_AWAY = 0.8
"""A share that is too much for what is masked: a week tells the masked month, though some weeks have days of two."""
_RIGHT = 0.97
_FEWEST_ERRORS = 10
"""Fewer rows that guessing gets wrong show nothing: a column could be right in them by chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Association:
    """Two columns and how strongly they go together: 0 not at all, 1 each tells the other (Cramér's V, corrected)."""

    left: str
    right: str
    strength: float


def associations(columns: Mapping[str, Codes], *, most: int = 12) -> tuple[Association, ...]:
    """The strongest associations of a table, at most so many; columns with a value for every other row are left out.

    Cramér's V with Bergsma's correction: without it, columns of many values would seem to go together by chance.
    """
    few = {name: coded for name, codes in columns.items() if (coded := _few(codes)) is not None}
    pairs = [
        Association(left=left, right=right, strength=round(strength, 3))
        for left, right in itertools.combinations(few, 2)
        if (strength := cramers_v(few[left], few[right])) >= WORTH_SAYING
    ]
    return tuple(sorted(pairs, key=lambda association: -association.strength)[:most])


def cramers_v(left: Codes, right: Codes) -> float:
    """Cramér's V of two columns of codes from 0 on, with Bergsma's correction for chance.

    >>> ones = np.arange(100) % 2
    >>> round(cramers_v(ones, ones), 3), cramers_v(ones, np.arange(100) // 50)
    (1.0, 0.0)
    """
    rows = len(left)
    wide, high = int(right.max(initial=0)) + 1, int(left.max(initial=0)) + 1
    counts = np.bincount(left * wide + right, minlength=wide * high).reshape(high, wide).astype(float)
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0))
    square = float((counts**2 / expected).sum() - 1.0)
    height, width = counts.shape
    square = max(0.0, square - (height - 1) * (width - 1) / (rows - 1))
    room = min(side - (side - 1) ** 2 / (rows - 1) for side in (height, width)) - 1
    return 0.0 if room <= 0 else float(np.sqrt(min(1.0, square / room)))


def _few(codes: Codes) -> Codes | None:
    """The codes of the commonest values, the others as one; None where it says nothing or names rows."""
    values, places, counts = np.unique(codes, return_inverse=True, return_counts=True)
    if len(codes) < _FEWEST_ROWS or len(values) < 2 or 2 * len(values) > len(codes):
        return None
    if len(values) <= _MOST_VALUES:
        return places.astype(np.int64)
    order = np.argsort(np.argsort(-counts, kind="stable"), kind="stable")
    return np.minimum(order[places], _MOST_VALUES).astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tells:
    """``column`` tells ``other``: the share of rows in which it is right, and in which guessing would be.

    The rows are others than those that it was learnt on. ``ranges`` says that it tells in which of so many ranges of
    equally many rows ``other`` lies; None where it tells the value.
    """

    column: str
    other: str
    right: float
    guessing: float
    ranges: int | None = None

    @property
    def share(self) -> float:
        """The share of the errors of guessing that is gone."""
        return 0.0 if self.guessing >= 1 else max(0.0, (self.right - self.guessing) / (1 - self.guessing))

    def sentence(self) -> str:
        """What it tells, and how often it is right.

        >>> Tells(column="region", other="country", right=0.976, guessing=0.574).sentence()
        'tells country (right in 97.6 % of rows, guessing in 57.4 %)'
        >>> Tells(column="left", other="came", right=0.855, guessing=0.025, ranges=64).sentence()
        'tells in which of 64 ranges came lies (right in 85.5 % of rows, guessing in 2.5 %)'
        """
        subject = self.other if self.ranges is None else f"in which of {self.ranges} ranges {self.other} lies"
        return f"tells {subject} ({self._how_often()})"

    def as_known(self) -> str:
        """The same of ``other``, which whoever knows ``column`` knows.

        >>> Tells(column="day", other="week", right=1.0, guessing=0.025).as_known()
        'is known to whoever knows day (right in 100.0 % of rows, guessing in 2.5 %)'
        """
        about = "" if self.ranges is None else f", in one of {self.ranges} ranges,"
        return f"is known{about} to whoever knows {self.column} ({self._how_often()})"

    def _how_often(self) -> str:
        return f"right in {100 * self.right:.1f} % of rows, guessing in {100 * self.guessing:.1f} %"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class FirstRows:
    """The first rows of a table, every column as small codes; numbers and dates in ranges of equally many rows.

    ``exact`` has a code for each value of the columns that were put into ranges, in the order of the values.
    """

    rows: int
    codes: Mapping[str, Codes]
    exact: Mapping[str, Codes] = field(default_factory=dict)

    def tells(self, column: str, other: str) -> Tells:
        """How well ``column`` tells ``other``: learnt on half of the rows, tried on the others.

        So a column with another value in every row tells nothing, however many there are.
        """
        return _tells(column, other, self.codes[column], self.codes[other])

    def gives_away(self, column: str, other: str) -> Tells:
        """How well ``column`` tells ``other`` by its values: the value itself if it is told, or its range.

        A number may be a code: regions in ranges tell no country, regions one by one do.
        """
        left = self.exact.get(column, self.codes[column])
        if other not in self.exact:
            return _tells(column, other, left, self.codes[other])
        by_value = _tells(column, other, left, self.exact[other])
        if by_value.share >= _GIVES_AWAY:
            return by_value
        ranges = len(np.unique(self.codes[other][self.codes[other] > 0]))
        return replace(_tells(column, other, left, self.codes[other]), ranges=ranges)

    def lets_know(self, column: str, other: str) -> Tells:
        """How well whoever knows the value of ``column`` knows ``other``: the value, or else its range.

        A day that was not learnt is taken for the nearest that was: months are told by days, each of which is rare.
        """
        left, in_order = self.exact.get(column, self.codes[column]), column in self.exact
        by_value = _tells(column, other, left, self.exact.get(other, self.codes[other]), in_order=in_order)
        if other not in self.exact or by_value.share >= _TELLS:
            return by_value
        ranges = len(np.unique(self.codes[other][self.codes[other] > 0]))
        return replace(_tells(column, other, left, self.codes[other], in_order=in_order), ranges=ranges)


def leaks(rows: FirstRows, label: str, columns: Sequence[str]) -> tuple[Tells, ...]:
    """The columns that tell the label by themselves: copies of it, or what was written down after it was known."""
    if label not in rows.codes:
        return ()
    shares = (rows.tells(column, label) for column in columns if column in rows.codes and column != label)
    return tuple(tells for tells in shares if tells.share >= _TELLS and tells.right >= _RIGHT)


def following(rows: FirstRows, known: Sequence[str], others: Sequence[str]) -> tuple[Tells, ...]:
    """The columns among ``others`` that one of ``known`` tells: whoever knows a day knows its week, and counts by both.

    One that several tell is named once, by the first.
    """
    followers: dict[str, Tells] = {}
    for column in known:
        for other in others:
            if other in followers or column == other or column not in rows.codes or other not in rows.codes:
                continue
            share = rows.lets_know(column, other)
            if share.share >= _TELLS and (1 - share.guessing) * rows.rows / 2 >= _FEWEST_ERRORS:
                followers[other] = share
    return tuple(followers.values())


def dependent(rows: FirstRows, masked: Sequence[str], others: Sequence[str]) -> tuple[Tells, ...]:
    """The columns among ``others`` that tell one of ``masked``: what is masked there could be read here."""
    return tuple(
        share
        for other in masked
        for column in others
        if column in rows.codes and other in rows.codes and column != other
        for share in (rows.gives_away(column, other),)
        if share.share >= _GIVES_AWAY
    )


def _tells(column: str, other: str, left: Codes, right: Codes, *, in_order: bool = False) -> Tells:
    """Learnt on half of the rows; with ``in_order`` a code that was not learnt is taken for the nearest that was."""
    learn = np.random.default_rng(0).random(len(left)) < 0.5  # by chance: the order of rows may have a rhythm
    test = ~learn
    if not learn.any() or not test.any():
        return Tells(column=column, other=other, right=0.0, guessing=1.0)
    guess = int(np.bincount(right[learn]).argmax())
    guessing = float((right[test] == guess).mean())
    size = int(right.max(initial=0)) + 1
    pairs, counts = np.unique(left[learn] * size + right[learn], return_counts=True)
    best = np.full(int(left.max(initial=0)) + 1, guess, dtype=np.int64)
    order = np.argsort(counts, kind="stable")  # the most common comes last and stays
    best[pairs[order] // size] = pairs[order] % size
    if in_order:
        best = best[_nearest(np.unique(left[learn]), len(best))]
    hits = float((best[left[test]] == right[test]).mean())
    return Tells(column=column, other=other, right=hits, guessing=guessing)


def _nearest(learnt: Codes, size: int) -> Codes:
    """The nearest of ``learnt`` for every code below ``size``; 0, a missing value, is near to nothing."""
    values = learnt[learnt > 0]
    codes = np.arange(size)
    if not len(values):
        return codes
    above = np.clip(np.searchsorted(values, codes), 0, len(values) - 1)
    below = np.maximum(above - 1, 0)
    nearest = np.where(codes - values[below] < values[above] - codes, values[below], values[above])
    return np.where(codes > 0, nearest, 0)
