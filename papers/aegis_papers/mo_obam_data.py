"""The tables of the MO-OBAM chapter, and every partition of them that the chapter asks for, fitted once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from aegis.candidates.clusters.anonymizer import Anonymizer
from aegis.candidates.clusters.k_member import KMember
from aegis.candidates.clusters.mdav import MDAV
from aegis.candidates.clusters.mo_obam import MOOBAM
from aegis.candidates.clusters.records import Records
from aegis.counts.answer import ask
from aegis.data.dataset import Dataset
from aegis.data.domain import Domain
from aegis.data.engine import open_dataset
from aegis.data.schema import Roles
from aegis.evaluation.comparison_result import ORIGINAL, Balance
from aegis.evaluation.model_table import ModelTable, label_codes, model_table, with_published
from aegis.library.clinic import columns
from aegis.library.tables.records import read_records
from aegis_papers.mo_obam_paper import ADULT, GERMAN, Printed
from aegis_papers.setting import Setting

METHODS = ("mdav", "plain", "k-member", "diverse", "many", "free", "four")
"""MDAV as the paper ran it and as the product does, our k-member with lower and with higher protection, and our MO-OBAM
in three settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A table of the paper, or the public one that stands in for it, with the sizes that two cores can do."""

    name: str
    file: str
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    label: str
    positive: str
    categorical: tuple[str, ...] = ()
    classes: int  # the many classes of the paper's lower protection
    high_l: int  # of the k-member with higher protection: the most that the sensitive attributes allow
    rounds: int  # of the search, for a given number of classes
    free_rounds: int
    draws: int  # of centroids by the paper's own solver, as its printed losses show; `mo_obam_drawn`
    four_draws: int = 100  # the same with four classes
    own_draws_per_k: bool = True  # whether the paper prints another partition for every k
    recipe_splits: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # by group of models: MO-OBAM's, MDAV's
    splits: int  # of the product's own models
    most_rows: int | None  # to train them on and to test them on
    balance: Balance = "none"
    printed: Printed | None = None


SOURCES = {
    "German credit": Source(
        name="German credit",
        file="german/german_credit_labelled.csv",
        quasi=("age", "personal_status", "job"),
        sensitive=("checking_status", "savings_status"),
        label="class",
        positive="good",
        classes=30,
        high_l=4,
        rounds=40_000,
        free_rounds=30_000,
        draws=100,
        recipe_splits={"quick": (100, 100), "network": (100, 100), "kernel": (100, 100)},
        splits=30,
        most_rows=None,
        printed=GERMAN,
    ),
    "Adult": Source(
        name="Adult",
        file="adult/adult_complete_45222.csv",
        quasi=("age", "race", "sex", "marital-status"),
        sensitive=("occupation",),
        label="income",
        positive=">50K",
        classes=100,
        high_l=14,
        rounds=100_000,
        free_rounds=10_000,
        draws=1,
        four_draws=20,
        own_draws_per_k=False,
        recipe_splits={"quick": (100, 10), "network": (100, 0), "kernel": (2, 0)},
        splits=8,
        most_rows=2_000,
        printed=ADULT,
    ),
    "Sepsis survival": Source(
        name="Sepsis survival",
        file="ehr/sepsis_survival_primary_110204.csv",
        quasi=("age_years", "sex_0male_1female", "episode_number"),
        sensitive=("hospital_outcome_1alive_0dead",),
        label="hospital_outcome_1alive_0dead",
        positive="0",
        categorical=("sex_0male_1female",),
        classes=200,
        high_l=2,
        rounds=20_000,
        free_rounds=5_000,
        draws=1,
        splits=4,
        most_rows=2_000,
        balance="weights",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Table:
    """A table with its records, its columns as models see them, and what was fitted to it so far."""

    source: Source
    dataset: Dataset
    rows: pa.Table
    records: Records
    original: ModelTable
    label_domain: Domain
    label: np.ndarray[Any, np.dtype[np.int64]]
    seed: int
    quick: bool
    fits: dict[tuple[Any, ...], Anonymizer] = field(default_factory=dict)

    @property
    def ks(self) -> tuple[int, ...]:
        return (5, 10) if self.quick else (5, 10, 15, 20)

    def mdav(self, k: int) -> Anonymizer:
        """MDAV as the paper ran it."""
        return self._fit(("mdav", k), MDAV(k=k, metric="z-scored labels", centroid="rounded"))

    def k_member(self, k: int, *, l: int = 2) -> Anonymizer:
        """Our own l-diverse k-member, which is not the algorithm of Zheng et al."""
        return self._fit(("k-member", k, l), KMember(k=k, l=l, random_state=self.seed))

    def mo_obam(
        self,
        k: int,
        *,
        classes: int | None,
        trade_off: float = 0.0,
        l: int = 2,
        rounds: int | None = None,
    ) -> Anonymizer:
        """MO-OBAM with k and l hard; a number of rounds, not a time, so that every machine finds the same."""
        source = self.source
        steps = rounds or (source.free_rounds if classes is None else source.rounds)
        steps = min(steps, 300) if self.quick else steps
        model = MOOBAM(k=k, l=l, classes=classes, trade_off=trade_off, rounds=steps, random_state=self.seed)
        return self._fit(("mo-obam", k, classes, trade_off, l, steps), model)

    @property
    def methods(self) -> tuple[str, ...]:
        """Two values of a secret are all that some tables have: higher protection is then the lower one."""
        return tuple(method for method in METHODS if method != "diverse" or self.source.high_l > 2)

    def made(self, method: str, k: int) -> Anonymizer:
        """One of `METHODS` as the paper's tables have it."""
        if method == "mdav":
            return self.mdav(k)
        if method == "plain":
            return self._fit(("plain", k), MDAV(k=k))
        if method in ("k-member", "diverse"):
            return self.k_member(k, l=2 if method == "k-member" else self.source.high_l)
        if method == "four":
            return self.mo_obam(k, classes=4, trade_off=1.0)
        return self.mo_obam(k, classes=self.source.classes if method == "many" else None)

    def words(self, method: str) -> str:
        """What a method is called on the page."""
        return {
            "mdav": "k-anonymity (MDAV, z-scored labels)",
            "plain": "k-anonymity (MDAV, the product's)",
            "k-member": "our k-member, l = 2",
            "diverse": f"our k-member, l = {self.source.high_l}",
            "many": f"MO-OBAM, {self.source.classes} classes",
            "free": "MO-OBAM, classes free",
            "four": "MO-OBAM, 4 classes, λ = 1",
        }[method]

    def _fit(self, key: tuple[Any, ...], model: Anonymizer) -> Anonymizer:
        if key not in self.fits:
            self.fits[key] = model.fit(self.records)
        return self.fits[key]

    def published(self, name: str, fitted: Anonymizer) -> ModelTable:
        """The table as an anonymizer publishes it, as models see it."""
        released = pa.table({column: pa.array(values.tolist()) for column, values in fitted.transform().items()})
        return with_published(self.original, name, released, raw=None)

    @property
    def positive(self) -> int:
        return self.label_domain.labels().index(self.source.positive)


def figures(fitted: Anonymizer) -> dict[str, Any]:
    """What the paper's tables show of a partition, read off what would be published; a JSON value."""
    result = fitted.result_
    return {
        "formed": result.classes,
        "classes": result.distinct_tuples,
        "smallest_class": result.smallest_class,
        "loss": result.information_loss,
        "linkage": list(result.after.linkage.values()),
        "homogeneity": result.after.homogeneity,
        "entropy": result.entropy_sum_of_minima_bits,
    }


def tables(setting: Setting) -> dict[str, Table]:
    """The three tables by name; a quick run has small clinics in their place."""
    return {name: _table(setting, source, place) for place, (name, source) in enumerate(SOURCES.items())}


def _table(setting: Setting, source: Source, place: int) -> Table:
    if setting.quick:
        source = Source(
            name=source.name,
            file="",
            quasi=("age", "gender"),
            sensitive=("diagnosis",),
            label="smoker",
            positive="true",
            classes=12,
            high_l=3,
            rounds=300,
            free_rounds=300,
            draws=3,
            four_draws=3,
            recipe_splits={"quick": (3, 3)},
            splits=3,
            most_rows=150,
            printed=source.printed,
        )
        dataset = open_dataset(_clinic(seed=setting.seed + place), roles=Roles(label=source.label))
    else:
        dataset = open_dataset(setting.file(source.file), roles=Roles(label=source.label))
    rows = ask(dataset.table)
    records = read_records(
        dataset, quasi=source.quasi, sensitive=source.sensitive, categorical=source.categorical, rows=rows
    )
    original, _ = model_table(ORIGINAL, rows, dataset, leave=(source.label,), keep=source.quasi)
    domain, codes = label_codes(rows, source.label, dataset)
    return Table(
        source=source,
        dataset=dataset,
        rows=rows,
        records=records,
        original=original,
        label_domain=domain,
        label=codes,
        seed=setting.seed,
        quick=setting.quick,
    )


def _clinic(*, seed: int) -> pa.Table:
    drawn = columns(300, seed=seed)
    ages = [float(text) if text else 40.0 for text in drawn["age"]]
    return pa.table({"age": ages, **{name: drawn[name] for name in ("gender", "diagnosis", "ward", "smoker")}})
