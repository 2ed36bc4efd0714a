"""What a comparison of anonymizers by trained models found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from aegis.errors import MeasureError
from aegis.result import called, plain

ORIGINAL = "original"
Balance = Literal["none", "weights", "matching"]
TestedOn = Literal["released", "original"]
ALPHA = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class F1Score:
    """How well one model does on one table: the mean over splits with its 95 % interval, and every split."""

    table: str
    model: str
    f1: float
    interval: tuple[float, float]
    f1_by_split: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class F1Difference:
    """One table against another under one model.

    ``f1_difference`` is the first minus the second; its ``interval`` counts the splits as pairs and knows that they
    share rows. ``p_value`` is the Mann–Whitney test of the paper, which does neither; ``p_adjusted`` is Holm's
    correction of it over all tests of the same family.
    """

    first: str
    second: str
    model: str
    f1_difference: float
    interval: tuple[float, float]
    u: float
    p_value: float
    p_adjusted: float
    also_shown: ClassVar[tuple[str, ...]] = ("significant", "clear")

    @property
    def significant(self) -> bool:
        """Whether the corrected test tells the two apart at 5 %."""
        return self.p_adjusted < ALPHA

    @property
    def clear(self) -> bool:
        """Whether the 95 % interval of the paired difference leaves out zero."""
        return self.interval[0] > 0 or self.interval[1] < 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnImportance:
    """The mean share of a decision tree's gain that a column brings, per table."""

    column: str
    quasi_identifying: bool
    by_table: dict[str, float]

    def change(self, table: str) -> float:
        """What anonymizing did to it, in shares of the gain."""
        return self.by_table[table] - self.by_table[ORIGINAL]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Scores, tests and importances; ``trained`` counts the models trained now, the others came from the cache."""

    label: str
    positive: str | None  # the label that F1 is about; None: the mean over all labels
    balance: Balance
    tested_on: TestedOn  # which records the models answer: as each table publishes them, or as they are
    rows: int
    rare_share: float
    splits: int
    training_rows: int
    test_rows: int
    models: tuple[str, ...]
    tables: tuple[str, ...]  # the original first
    scores: tuple[F1Score, ...]
    against_original: tuple[F1Difference, ...]
    between: tuple[F1Difference, ...]
    importances: tuple[ColumnImportance, ...] = field(metadata=called("feature_importance"))
    trained: int
    cpu_seconds: float

    def score(self, table: str, model: str) -> F1Score:
        """The score of one model on one table."""
        for entry in self.scores:
            if (entry.table, entry.model) == (table, model):
                return entry
        raise MeasureError(f"no score of {model!r} on {table!r} was computed")

    def to_json(self) -> dict[str, Any]:
        """As ``aegis compare --json`` prints it, apart from what the anonymizers say of themselves."""
        test = {"name": "Mann-Whitney U, two-sided", "correction": "Holm within each family", "alpha": ALPHA}
        return {**plain(self), "test": test}
