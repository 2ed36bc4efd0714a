"""Which columns tell another: the label, what is masked, or what whoever knows somebody knows with it.

A column that tells the label, or what is masked, must not be overlooked, and neither must one that leaves as it is and
is told by what people are looked for by.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Codes, Floats
from aegis.counts.answer import ask
from aegis.data.dataset import Dataset
from aegis.data.schema import Roles, Schema
from aegis.inspection.first_rows import LOOKED_AT, FirstRows, first_rows

_TELLS = 0.95
"""A column tells another where it removes this share of the errors that guessing makes."""
_GIVES_AWAY = 0.8
"""A share that is too much for what is masked: a week tells the masked month, though some weeks have days of two."""
_RIGHT = 0.97
_FEWEST_ERRORS = 10
"""Fewer rows that guessing gets wrong show nothing: a column could be right in them by chance."""
_ENOUGH_AGAIN = 0.5
"""Where a value occurs again in this share of the rows, those alone say what it tells."""
_SAME = 1e-6
_ROWS_OF_A_PAIR = 10
"""A pair of values that so many rows have, on average, is no person: what else these rows share is told by the pair."""
_ROWS_OF_A_SKETCH, _WORTH_A_LOOK = 2_000, 0.5
"""Parts and pairs of columns are first tried on a few rows: there are many, and most tell nothing."""
_RARE = 0.01
"""What so few rows have as can be guessed wrongly is not tried on a few."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tells:
    """``column`` tells ``other``: the share of rows in which it is right, and in which guessing would be.

    The rows are others than those that it was learnt on. ``ranges`` says that it tells in which of so many ranges of
    equally many rows ``other`` lies; None where it tells the value. ``part`` is what of ``column`` tells it, where that
    is not the whole value; ``beside`` is a second column that is needed with it. ``nearly`` says that it tells the
    range or one of the two beside it, which counts as right.
    """

    column: str
    other: str
    right: float
    guessing: float
    ranges: int | None = None
    part: str | None = None
    beside: str | None = None
    nearly: bool = False

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
        what = self.other if self.ranges is None else f"in which of {self.ranges} ranges {self.other} lies"
        return f"tells {what} ({self._how_often()})"

    def as_known(self) -> str:
        """The same of ``other``, which whoever knows ``column`` knows.

        >>> Tells(column="day", other="week", right=1.0, guessing=0.025).as_known()
        'is known to whoever knows day (right in 100.0 % of rows, guessing in 2.5 %)'
        >>> Tells(column="day", other="shift", right=1.0, guessing=0.5, part="weekday").as_known()
        'is known to whoever knows day, by its weekday (right in 100.0 % of rows, guessing in 50.0 %)'
        >>> Tells(column="weight", other="dose", right=0.99, guessing=0.05, ranges=64, nearly=True).as_known()
        'is known, give or take one of 64 ranges, to whoever knows weight (right in 99.0 % of rows, guessing in 5.0 %)'
        """
        how = "give or take" if self.nearly else "in"
        about = "" if self.ranges is None else f", {how} one of {self.ranges} ranges,"
        by = "" if self.part is None else f", by its {self.part}"
        beside = "" if self.beside is None else f" and {self.beside}"
        return f"is known{about} to whoever knows {self.column}{beside}{by} ({self._how_often()})"

    def _how_often(self) -> str:
        return f"right in {100 * self.right:.1f} % of rows, guessing in {100 * self.guessing:.1f} %"


def tells(rows: FirstRows, column: str, other: str) -> Tells:
    """How well ``column`` tells ``other``: learnt on half of the rows, tried on the others.

    So a column with another value in every row tells nothing, however many there are.
    """
    return _learnt(column, other, rows.codes[column], rows.codes[other])


def gives_away(rows: FirstRows, column: str, other: str) -> Tells:
    """How well ``column`` tells ``other`` by its values or their parts: the value itself if it is told, or its range.

    A number may be a code: regions in ranges tell no country, regions one by one do.
    """
    left = rows.values(column)
    by_value = _learnt(column, other, left, rows.values(other))
    if by_value.share >= _GIVES_AWAY:
        return by_value
    by_part = max(_by_parts(rows, column, other), key=lambda answer: answer.share, default=by_value)
    if by_part.share >= _GIVES_AWAY or other not in rows.exact:
        return max(by_part, by_value, key=lambda answer: answer.share)
    return replace(_learnt(column, other, left, rows.codes[other]), ranges=_ranges(rows, other))


def lets_know(rows: FirstRows, column: str, other: str) -> Tells:
    """How well whoever knows the value of ``column`` knows ``other``: the value, or else its range, or about it.

    A day that was not learnt is taken for the nearest that was: months are told by days, each of which is rare. What
    comes round, such as weekdays, is told by parts of the value, and the nearest day has another.
    """
    best = _best(_by_value_or_part(rows, column, other))
    return _with_ranges(rows, best, rows.values(column), in_order=column in rows.exact)


def leaks(rows: FirstRows, label: str, columns: Sequence[str]) -> tuple[Tells, ...]:
    """The columns that tell the label by themselves: copies of it, or what was written down after it was known."""
    if label not in rows.codes:
        return ()
    shares = (tells(rows, column, label) for column in columns if column in rows.codes and column != label)
    return tuple(share for share in shares if share.share >= _TELLS and share.right >= _RIGHT)


def following(rows: FirstRows, known: Sequence[str], others: Sequence[str]) -> tuple[Tells, ...]:
    """The columns among ``others`` that one of ``known`` tells, or two: whoever knows a day knows its week, and counts
    by both; whoever knows a birthday knows the age on a day that he knows, and by height and weight the mass index.

    One that several tell is named once, by the first of those that do not tell it only nearly.
    """
    telling: dict[str, Tells] = {}
    about: dict[str, Tells] = {}
    present = [column for column in known if column in rows.codes]
    wanted = [other for other in others if other in rows.codes]

    def note(shares: Iterable[Tells]) -> None:
        for share in shares:
            if _shows(share, rows.rows):
                (about if share.nearly else telling).setdefault(share.other, share)

    for column in present:
        note(lets_know(rows, column, other) for other in wanted if other not in telling and column != other)
    for left, right in itertools.combinations(present, 2):
        for way in (_by_both, _by_pairs):
            note(way(rows, left, right, [other for other in wanted if other not in {left, right, *telling}]))
    return tuple({**about, **telling}.values())


def dependent(rows: FirstRows, masked: Sequence[str], others: Sequence[str]) -> tuple[Tells, ...]:
    """The columns among ``others`` that tell one of ``masked``: what is masked there could be read here."""
    return tuple(
        share
        for other in masked
        for column in others
        if column in rows.codes and other in rows.codes and column != other
        for share in (gives_away(rows, column, other),)
        if share.share >= _GIVES_AWAY
    )


def readable_columns(original: Dataset, masked: Sequence[str], shown: Sequence[str]) -> tuple[Tells, ...]:
    """Which of the ``shown`` columns tell one of the ``masked`` ones: what is masked there could be read here."""
    if not masked or not shown:
        return ()
    return dependent(_rows_of(original, {*masked, *shown}), masked, shown)


def readable_words(tells: Sequence[Tells]) -> str:
    """What such columns tell, in a sentence."""
    told = "; ".join(f"{each.column} {each.sentence()}" for each in tells)
    masked = ", ".join(dict.fromkeys(each.other for each in tells))
    return f"{told}: what is masked in {masked} can be read there"


def told_columns(original: Dataset, roles: Roles, shown: Collection[str]) -> tuple[Tells, ...]:
    """Which of the ``shown`` columns are told by quasi-identifiers and have no role that counts.

    Sensitive columns and the label are what an attacker wants to know, so he is not given them.
    """
    counted = {*roles.quasi_identifying, *roles.identifying, *roles.sensitive, roles.label}
    others = [name for name in original.schema.names if name in shown and name not in counted]
    known = [name for name in roles.quasi_identifying if name in original.schema]
    if not others or not known:
        return ()
    return following(_rows_of(original, {*known, *others}), known, others)


def known_values(told: Sequence[Tells]) -> tuple[str, ...]:
    """Those whose value is told: an attack finds people by it. By a range it does not, though somebody could."""
    return tuple(tells.other for tells in told if tells.ranges is None)


def told_warning(told: Tells) -> str:
    """What is to be said of one of them."""
    return (
        f"{told.other} {told.as_known()}: k does not count what it adds; name it under quasi_identifying in the "
        "policy, and it does"
    )


def _rows_of(original: Dataset, names: Collection[str]) -> FirstRows:
    """The first rows of some columns."""
    schema = Schema(columns=tuple(column for column in original.schema if column.name in names))
    return first_rows(ask(original.table.select(*schema.names).limit(LOOKED_AT)), schema)


def _shows(share: Tells, rows: int) -> bool:
    return share.share >= _TELLS and (1 - share.guessing) * rows / 2 >= _FEWEST_ERRORS


def _ranges(rows: FirstRows, other: str) -> int:
    return len(np.unique(rows.codes[other][rows.codes[other] > 0]))


def _best(shares: Iterator[Tells]) -> Tells:
    """The first that tells enough, or else the one that tells most."""
    best = None
    for share in shares:
        if best is None or share.share > best.share:
            best = share
        if best.share >= _TELLS:
            break
    assert best is not None
    return best


def _with_ranges(rows: FirstRows, by_value: Tells, left: Codes, *, in_order: bool) -> Tells:
    """The same, or how well the range is told where the value is not, or about the range where that is not."""
    column, other = by_value.column, by_value.other
    if other not in rows.exact or by_value.share >= _TELLS:
        return by_value
    in_range = _learnt(column, other, left, rows.codes[other], in_order=in_order)
    if in_range.share < _TELLS:
        in_range = _learnt(column, other, left, rows.codes[other], in_order=in_order, nearly=True)
    return replace(in_range, ranges=_ranges(rows, other))


def _by_value_or_part(rows: FirstRows, column: str, other: str) -> Iterator[Tells]:
    yield from _both_ways(column, other, rows.values(column), rows.values(other), in_order=column in rows.exact)
    yield from _by_parts(rows, column, other)


def _by_parts(rows: FirstRows, column: str, other: str) -> Iterator[Tells]:
    for part, left in rows.parts.get(column, {}).items():
        if not _is_worth_a_look(left, rows.codes[other]):
            continue
        for learnt in _both_ways(column, other, left, rows.values(other)):
            yield replace(learnt, part=part)


def _both_ways(column: str, other: str, left: Codes, right: Codes, *, in_order: bool = True) -> Iterator[Tells]:
    yield _learnt(column, other, left, right, in_order=in_order)
    yield _learnt(column, other, left, right, again=True)


def _by_both(rows: FirstRows, left: str, right: str, others: Sequence[str]) -> Iterator[Tells]:
    """What the differences, the sum, the quotients and the product of two columns of numbers or dates tell."""
    if not others or left not in rows.numbers or right not in rows.numbers:
        return
    for made in _made_of(rows.numbers[left], rows.numbers[right]):
        codes = _in_order(made)
        for other in others:
            if _is_apart_by_one_number(made, rows.numbers.get(other, {})):
                guessing = float((np.bincount(rows.values(other)) / rows.rows).max())
                yield Tells(column=left, other=other, right=1.0, guessing=guessing, beside=right)
                continue
            if not _is_worth_a_look(codes, rows.codes[other]):
                continue
            whole = _learnt(left, other, codes, rows.values(other), in_order=True)
            yield replace(_with_ranges(rows, whole, codes, in_order=True), beside=right)


def _by_pairs(rows: FirstRows, left: str, right: str, others: Sequence[str]) -> Iterator[Tells]:
    """What the values of two columns tell together, by no rule: a stratum is told by age and sex.

    Only where many rows have each pair: rows that share a rare one may all be of one person.
    """
    if not others:
        return
    first, second = rows.values(left), rows.values(right)
    pairs, codes = np.unique(first * (int(second.max()) + 1) + second, return_inverse=True)
    if len(pairs) * _ROWS_OF_A_PAIR > rows.rows:
        return
    for other in others:
        if not _is_worth_a_look(codes + 1, rows.codes[other]):
            continue
        whole = _learnt(left, other, codes + 1, rows.values(other))
        yield replace(_with_ranges(rows, whole, codes + 1, in_order=False), beside=right)


def _is_apart_by_one_number(made: Floats, other: Mapping[str, Floats]) -> bool:
    """Whether a column is what was made, or differs from it by the same number in every row that has both."""
    for measure in other.values():
        apart = (measure - made)[~np.isnan(measure - made)]
        if len(apart) >= _FEWEST_ERRORS and np.ptp(made[~np.isnan(made)]) > 0 and np.ptp(apart) < _SAME:
            return True
    return False


def _made_of(left: Mapping[str, Floats], right: Mapping[str, Floats]) -> Iterator[Floats]:
    """Differences, sums, quotients and products of two columns, and quotients by a square, as in a body mass index; of
    two dates the days, the full years and the years between them."""
    if "date" in left and "date" in right:
        yield left[""] - right[""]
        for earlier, later in ((left, right), (right, left)):
            yield np.floor((later["date"] - earlier["date"]) / 10_000)
        yield left["year"] - right["year"]
        return
    for first, second in itertools.product(("", "year"), repeat=2):
        if first in left and second in right:
            yield left[first] - right[second]
            yield left[first] + right[second]
    if "date" in left or "date" in right:
        return
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        one, two = left[""], right[""]
        for made in (one * two, one / two, one / two**2, two / one**2):
            yield np.where(np.isfinite(made), made, np.nan)


def _is_worth_a_look(left: Codes, right: Codes) -> bool:
    """Whether something may be told, judged by some of the rows."""
    if len(left) <= _ROWS_OF_A_SKETCH:
        return True
    some = _some(len(left))
    told = _learnt("", "", left[some], right[some], in_order=True)
    return told.share >= _WORTH_A_LOOK or told.guessing > 1 - _RARE


@lru_cache(maxsize=4)
def _some(rows: int) -> Codes:
    return np.random.default_rng(1).choice(rows, size=_ROWS_OF_A_SKETCH, replace=False)


def _in_order(numbers: Floats) -> Codes:
    """A code for every number, a smaller one for a smaller number; 0 where there is none."""
    codes = np.unique(numbers, return_inverse=True)[1].astype(np.int64) + 1
    return np.where(np.isnan(numbers), 0, codes)


@lru_cache(maxsize=4)
def _half(rows: int) -> NDArray[np.bool_]:
    return np.asarray(np.random.default_rng(0).random(rows) < 0.5)  # by chance: the order of rows may have a rhythm


def _learnt(
    column: str,
    other: str,
    left: Codes,
    right: Codes,
    *,
    in_order: bool = False,
    again: bool = False,
    nearly: bool = False,
) -> Tells:
    """Learnt on half of the rows, tried on the others; with ``nearly`` the next code counts as right as well.

    With ``in_order`` a code that was not learnt is taken for the nearest that was; with ``again`` rows of such a code
    are left out, unless too many would be: two rows of a day show what the day tells, and one shows nothing.
    """
    learn = _half(len(left))
    test = ~learn
    nothing = Tells(column=column, other=other, right=0.0, guessing=1.0)
    if not learn.any() or not test.any():
        return nothing
    guess = int(np.bincount(right[learn]).argmax())
    size = int(right.max(initial=0)) + 1
    pairs, counts = np.unique(left[learn] * size + right[learn], return_counts=True)
    best = np.full(int(left.max(initial=0)) + 1, guess, dtype=np.int64)
    order = np.argsort(counts, kind="stable")  # the most common comes last and stays
    best[pairs[order] // size] = pairs[order] % size
    if again:
        seen = np.zeros(len(best), dtype=bool)
        seen[pairs // size] = True
        tried = test & seen[left]
        if tried.sum() < _ENOUGH_AGAIN * test.sum():
            return nothing
        test = tried
    elif in_order:
        best = best[_nearest(np.unique(left[learn]), len(best))]
    if nearly:
        return _about(
            Tells(column=column, other=other, right=0.0, guessing=1.0, nearly=True), best[left[test]], right[test]
        )
    hits = float((best[left[test]] == right[test]).mean())
    return Tells(column=column, other=other, right=hits, guessing=float((right[test] == guess).mean()))


def _about(nothing: Tells, told: Codes, true: Codes) -> Tells:
    """How often a range or one beside it is told, and would be guessed; a missing value is beside nothing."""
    sizes = np.bincount(true)
    beside = np.convolve(sizes[1:], [1, 1, 1], mode="same") if len(sizes) > 1 else sizes
    guessing = float(max(beside.max(initial=0), sizes[0]) / len(true))
    right = (told == true) | ((np.abs(told - true) == 1) & (told > 0) & (true > 0))
    return replace(nothing, right=float(right.mean()), guessing=guessing)


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
