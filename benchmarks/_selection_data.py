"""The data sets of the selection benchmarks, opened and counted alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from _result import dataset
from aegis.counts.collect import count_joints
from aegis.counts.joint import TableCounts
from aegis.data.dataset import Dataset
from aegis.data.engine import open_dataset
from aegis.data.schema import Roles
from aegis.masking.configuration import Configuration
from aegis.masking.generator import generate

CACHE = ".bench/gold.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A file, its label and the columns that name people or rows.

    ``aside`` tables were not looked at while the scores were designed; ``most_rows`` are trained and tested on. A small
    table has few test rows in a split: more ``splits`` make up for it. ``families`` says for how many seeds at
    most it is tried. Without a file it is one of the tables that are made here, by name.
    """

    name: str
    file: str
    label: str
    identifying: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    aside: bool = False
    most_rows: int = 8_000
    splits: int = 4
    families: int = 3

    def open(self) -> Dataset:
        roles = Roles(label=self.label, identifying=self.identifying)
        if not self.file:
            return open_dataset(_MADE[self.name](), roles=roles)
        return open_dataset(dataset(self.file), roles=roles, missing=self.missing)


CASES = (
    Case(name="air-quality", file="air_quality/updated_pollution_dataset.csv", label="Air Quality"),
    Case(name="german", file="german/german_credit_labelled.csv", label="class", splits=8),
    Case(name="income", file="adult/adult_train_32561.csv", label="income", missing=("?",)),
    Case(
        name="hotel-reservations",
        file="hotel/hotel_reservations.csv",
        label="booking_status",
        identifying=("Booking_ID",),
    ),
    Case(
        name="expedia",
        file="hotel/expedia_interactions_10000.csv",
        label="is_booking",
        identifying=("row_id", "user_id"),
    ),
    Case(
        name="sepsis",
        file="ehr/sepsis_survival_primary_110204.csv",
        label="hospital_outcome_1alive_0dead",
    ),
    Case(name="adult-arx", file="adult_arx/adult.csv", label="salary-class", aside=True, most_rows=3_000, families=2),
    Case(name="breast-cancer", file="", label="target", aside=True, most_rows=3_000, splits=8, families=1),
    Case(name="digits", file="", label="digit", aside=True, most_rows=3_000, splits=2, families=1),
    Case(name="made-up", file="", label="outcome", aside=True, most_rows=3_000, families=1),
)


TOGETHER = (
    Case(name="three-together", file="", label="outcome", splits=3),
    Case(name="four-together", file="", label="outcome", splits=3),
)
"""Made-up tables whose label only three or four attributes together tell, each alone and each two nothing."""


def _breast_cancer() -> pa.Table:
    """Wisconsin diagnostic breast cancer, 569 records with 30 measurements."""
    from sklearn.datasets import load_breast_cancer

    bunch = load_breast_cancer()
    names = [name.replace(" ", "_") for name in bunch.feature_names]
    columns = {name: bunch.data[:, i] for i, name in enumerate(names)}
    return pa.table({**columns, "target": np.array(["malignant", "benign"])[bunch.target]})


def _digits() -> pa.Table:
    """1,797 handwritten digits, ten labels; of the 64 grey values the 20 that vary most."""
    from sklearn.datasets import load_digits

    bunch = load_digits()
    varying = np.sort(np.argsort(-bunch.data.var(axis=0), kind="stable")[:20])
    columns = {f"pixel_{i}": bunch.data[:, i].astype(np.int64) for i in varying}
    return pa.table({**columns, "digit": bunch.target.astype(str)})


def _made_up() -> pa.Table:
    """6,000 records of twelve attributes: copies that repeat one another, an exclusive or, a threshold, and noise."""
    rng = np.random.default_rng(2_024)
    hidden = rng.normal(size=(6_000, 4))
    numbers = np.round(np.hstack([hidden, hidden + rng.normal(0, 0.7, hidden.shape)]) * 20 + 100)
    first, second = rng.choice(list("abcdef"), 6_000), rng.choice(list("uvwxyz"), 6_000)
    differ = np.isin(first, list("abc")) != np.isin(second, list("uvw"))
    odds = 1.2 * hidden[:, 0] - 0.8 * hidden[:, 1] + 1.5 * (hidden[:, 2] > 0.5) + 1.6 * differ - 2.0
    columns = {f"number_{i}": numbers[:, i].astype(np.int64) for i in range(8)}
    columns |= {"first": first, "second": second}
    columns |= {f"noise_{i}": rng.integers(0, 40, 6_000) for i in range(2)}
    return pa.table({**columns, "outcome": np.where(rng.random(6_000) < 1 / (1 + np.exp(-odds)), "yes", "no")})


def _together(attributes: int) -> pa.Table:
    """Whether an even number of conditions hold, one per attribute; wrong for one record in twenty, the rest noise."""
    rows = 8_000 * (attributes - 2)
    rng = np.random.default_rng(attributes)
    numbers = {f"number_{i}": rng.integers(0, 60, rows) for i in range(4)}
    letters = {f"letter_{i}": rng.choice(list("abcd"), rows) for i in range(4 if attributes < 4 else 2)}
    conditions = [numbers["number_0"] >= 30, numbers["number_1"] >= 24, np.isin(letters["letter_0"], ["a", "b"])]
    if attributes > 3:
        conditions.append(np.isin(letters["letter_1"], ["b", "d"]))
    even = np.sum(conditions, axis=0) % 2 == 0
    return pa.table({**numbers, **letters, "outcome": np.where(even ^ (rng.random(rows) < 0.05), "yes", "no")})


_MADE: dict[str, Callable[[], pa.Table]] = {
    "breast-cancer": _breast_cancer,
    "digits": _digits,
    "made-up": _made_up,
    "three-together": lambda: _together(3),
    "four-together": lambda: _together(4),
}


def counted(case: Case) -> tuple[Dataset, TableCounts]:
    """The data set and its one pass."""
    opened = case.open()
    return opened, count_joints(opened, label=case.label)


def configurations(known: TableCounts, *, count: int, strength: str, seed: int, **options: Any) -> list[Configuration]:
    """Generated configurations; a table with few columns may not have as many different ones."""
    histograms = {name: joint.histogram() for name, joint in known.joints.items()}
    return generate(histograms, count=count, strength=strength, rng=np.random.default_rng(seed), **options)
