"""What a consumer makes of a released table: intervals, sets and stars as numbers that any model can use.

A linear model does worse on boxes than trees do when it is given two ends of an interval and nothing else: it cannot
bend, and a box says more than its sides. So that a line can use what was released,

- an interval becomes its two ends and, for some knots along the column, the mean of ``max(x − knot, 0)`` over it:
  a line through these bends at the knots. A single number is an interval without width;
- a set ``{a, b}`` becomes one over its size for each of its values, a star the same for all values of the column;
- a class of equally published records becomes, where ``of_label`` asks for it, what its records say of the label, drawn
  to the whole table's where they are few: the logarithm of the odds of each value, or the mean of numbers. Training
  rows are told what the classes say without their own fold of the rows. A line gains by it, trees do not need it.

Everything is read off the released table itself, so nothing is learnt that its receiver does not have.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError

from aegis.arrays import Floats
from aegis.candidates.clusters.records import columns_by_name
from aegis.data.published_values import MISSING, Interval, ValueSet
from aegis.errors import DataError

STAR, OR_MISSING = "*", " or missing"
_NOT_A_NUMBER = (math.nan, math.nan, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class _Line:
    """A column of numbers and intervals: where ends without end are put, and the knots."""

    lowest: float
    highest: float
    knots: Floats

    def features(self, values: Sequence[Any]) -> Floats:
        low, high, unknown = np.array([_ends(value) for value in values]).reshape(-1, 3).T
        low = np.where(np.isinf(low), self.lowest, low)
        high = np.where(np.isinf(high), self.highest, high)
        high = np.maximum(high, low)  # a value of other rows may lie beyond
        hinges = _mean_above(low, high, self.knots)
        return np.column_stack([low, high, unknown, hinges])

    def names(self, column: str) -> list[str]:
        return [f"{column}_low", f"{column}_high", f"{column}_missing", *(f"{column}_above_{k:g}" for k in self.knots)]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class _Sets:
    """A column of categories and sets of them; the values that have a feature of their own."""

    values: tuple[str, ...]
    all_values: frozenset[str]

    def features(self, values: Sequence[Any]) -> Floats:
        place = {value: at for at, value in enumerate(self.values)}
        made = np.zeros((len(values), len(self.values) + 1))
        for row, value in enumerate(values):
            held = _members(value, self.all_values)
            for member in held:
                made[row, place.get(member, len(self.values))] += 1.0 / len(held)
        return made

    def names(self, column: str) -> list[str]:
        return [*(f"{column}_{at}" for at in range(len(self.values))), f"{column}_others"]


class ReleasedFeatures(TransformerMixin, BaseEstimator):
    """Turn the columns of a released table into numbers.

    Fit it to the released training rows, with the label if there is one, and transform any rows that were recoded
    alike. Columns are a DataFrame or a mapping from names to values. What `fit_transform` says of the label comes from
    other rows than those it says it of; `transform` uses all fitted rows, because the rows it is given are others.

    >>> released = {"age": ["[20, 30)", "[30, 40)", "*"], "town": ["{a, b}", "c", "*"]}
    >>> ReleasedFeatures(knots=1).fit_transform(released).shape
    (3, 8)
    """

    def __init__(
        self,
        *,
        knots: int = 9,
        most_values: int = 40,
        of_label: bool = False,
        drawn_by_records: float = 10.0,
        folds: int = 5,
        random_state: int = 0,
    ) -> None:
        self.knots = knots
        self.most_values = most_values
        self.of_label = of_label
        self.drawn_by_records = drawn_by_records
        self.folds = folds
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike | None = None) -> ReleasedFeatures:
        """Learn the values and the knots of each column, and what each class says of the label."""
        columns = columns_by_name(X)
        self.columns_ = tuple(columns)
        self.parts_ = {name: self._part(name, values) for name, values in columns.items()}
        self.classes_seen_: dict[tuple[Any, ...], int] = {}
        self.held_ = np.zeros((0, 0))
        if self.of_label:
            if y is None:
                raise DataError("what classes say of the label needs the label; give y, or leave of_label out")
            classes = [self.classes_seen_.setdefault(row, len(self.classes_seen_)) for row in _rows(columns)]
            self.label_ = np.asarray(y)
            self.is_number_ = self.label_.dtype.kind == "f"
            held = _label_columns(self.label_, self.is_number_)
            self.held_ = np.zeros((len(self.classes_seen_), held.shape[1]))
            np.add.at(self.held_, np.array(classes, dtype=np.int64), held)
        return self

    def fit_transform(self, X: Any, y: ArrayLike | None = None) -> Floats:
        """Fit, and the features of the same rows; what classes say of the label comes from other folds of the rows."""
        self.fit(X, y)
        return self._features(
            columns_by_name(X), _label_columns(self.label_, self.is_number_) if self.of_label else None
        )

    def transform(self, X: Any) -> Floats:
        """The features of rows that were recoded as the fitted ones."""
        return self._features(columns_by_name(X), None)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """A name for each feature; values of categories are numbered, not named."""
        self._fitted()
        names = [name for column, part in self.parts_.items() for name in part.names(column)]
        names += [f"class_{at}" for at in range(_told(self.held_, getattr(self, "is_number_", False)))]
        return np.array(names, dtype=object)

    def _features(self, columns: Mapping[str, list[Any]], own: Floats | None) -> Floats:
        self._fitted()
        if tuple(columns) != self.columns_:
            raise DataError("these rows have other columns than the fitted ones; give the same in the same order")
        parts = []
        for name, values in columns.items():
            distinct = {value: at for at, value in enumerate(dict.fromkeys(values))}
            described = self.parts_[name].features(list(distinct))
            parts.append(described[np.array([distinct[value] for value in values], dtype=np.int64)])
        if self.held_.size:
            parts.append(self._of_classes(columns, own))
        return np.hstack(parts)

    def _of_classes(self, columns: Mapping[str, list[Any]], own: Floats | None) -> Floats:
        unknown = len(self.held_)
        rows = np.array([self.classes_seen_.get(row, unknown) for row in _rows(columns)], dtype=np.int64)
        held = np.vstack([self.held_, np.zeros(self.held_.shape[1])])[rows]
        if own is not None:
            fold = np.random.default_rng(self.random_state).permutation(len(rows)) % self.folds
            in_fold = np.zeros((unknown, self.folds, own.shape[1]))
            np.add.at(in_fold, (rows, fold), own)
            held = held - in_fold[rows, fold]
        whole = self.held_.sum(axis=0)
        if self.is_number_:
            mean = whole[1] / whole[0]
            return ((held[:, 1] + self.drawn_by_records * mean) / (held[:, 0] + self.drawn_by_records)).reshape(-1, 1)
        share = whole / whole.sum()
        drawn = (held + self.drawn_by_records * share) / (held.sum(axis=1, keepdims=True) + self.drawn_by_records)
        odds = np.log(drawn) - np.log1p(-np.minimum(drawn, 1 - 1e-12))
        return odds[:, 1:] if odds.shape[1] == 2 else odds

    def _part(self, name: str, values: list[Any]) -> _Line | _Sets:
        distinct = list(dict.fromkeys(values))
        ends = [_ends(value) for value in distinct]
        known = [pair for pair in ends if math.isfinite(pair[0]) or math.isfinite(pair[1])]
        if known and all(pair is not _NOT_A_NUMBER for pair in ends):
            edges = np.unique([end for pair in known for end in pair[:2] if math.isfinite(end)])
            step = float(np.median(np.diff(edges))) if len(edges) > 1 else 1.0
            line = _Line(lowest=edges[0] - step, highest=edges[-1] + step, knots=np.empty(0))
            place = {value: at for at, value in enumerate(distinct)}
            described = line.features(distinct)[[place[value] for value in values]]
            middles = described[:, :2].mean(axis=1)
            knots = np.unique(np.quantile(middles, np.linspace(0, 1, self.knots + 2)[1:-1]))
            return _Line(lowest=line.lowest, highest=line.highest, knots=knots)
        everything = frozenset(member for value in distinct for member in _members(value, frozenset()))
        weights: dict[str, float] = dict.fromkeys(sorted(everything), 0.0)
        for value in values:
            held = _members(value, everything)
            for member in held:
                weights[member] += 1.0 / len(held)
        commonest = sorted(weights, key=lambda member: -weights[member])[: self.most_values]
        return _Sets(values=tuple(commonest), all_values=everything)

    def _fitted(self) -> None:
        if not hasattr(self, "parts_"):
            raise NotFittedError("these ReleasedFeatures have not been fitted: call fit first")


def _ends(value: Any) -> tuple[float, float, float]:
    """The ends of a number or an interval, and the share of it that may be missing; infinite where nothing is said."""
    if value is None or value != value:
        return -math.inf, math.inf, 1.0
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        return float(value), float(value), 0.0
    text = str(value)
    if text == STAR:
        return -math.inf, math.inf, 0.0
    if text.endswith(OR_MISSING):
        low, high, _ = _ends(text.removesuffix(OR_MISSING))
        return low, high, 0.5
    interval = Interval.parse(text)
    if interval is not None:
        return interval.low, interval.high, 0.0
    try:
        return float(text), float(text), 0.0
    except ValueError:
        return _NOT_A_NUMBER


def _mean_above(low: Floats, high: Floats, knots: Floats) -> Floats:
    """The mean of max(x − knot, 0) over each interval."""
    width = (high - low)[:, None]
    below, above = np.maximum(low[:, None] - knots, 0.0), np.maximum(high[:, None] - knots, 0.0)
    return np.where(width > 0, (above**2 - below**2) / (2.0 * np.where(width > 0, width, 1.0)), above)


def _members(value: Any, everything: frozenset[str]) -> tuple[str, ...]:
    """The values that a published one stands for; all of the column for a star."""
    if value is None or value != value:
        return (MISSING,)
    text = str(value)
    if text == STAR:
        return tuple(sorted(everything))
    held = ValueSet.parse(text)
    return (text,) if held is None else held.members


def _rows(columns: Mapping[str, list[Any]]) -> list[tuple[Any, ...]]:
    return list(zip(*columns.values(), strict=True))


def _label_columns(label: NDArray[Any], is_number: bool) -> Floats:
    """What each record says of the label: one column per value, or (1, number)."""
    if is_number:
        return np.column_stack([np.ones(len(label)), label])
    values, codes = np.unique(label, return_inverse=True)
    return np.eye(len(values))[codes]


def _told(held: Floats, is_number: bool) -> int:
    if not held.size:
        return 0
    return 1 if is_number or held.shape[1] == 2 else held.shape[1]
