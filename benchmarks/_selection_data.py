"""The data sets of the selection benchmarks, opened and counted alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from _result import dataset
from aegis.data.dataset import Dataset
from aegis.data.engine import open_dataset
from aegis.data.schema import Roles
from aegis.masking.configuration import Configuration
from aegis.masking.generator import generate
from aegis.summaries.collect import Counted, count_joints

CACHE = ".bench/gold.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A file, its label and the columns that name people or rows."""

    name: str
    file: str
    label: str
    identifying: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    def open(self) -> Dataset:
        roles = Roles(label=self.label, identifying=self.identifying)
        return open_dataset(dataset(self.file), roles=roles, missing=self.missing)


CASES = (
    Case(name="air-quality", file="air_quality/updated_pollution_dataset.csv", label="Air Quality"),
    Case(name="german", file="german/german_credit_labelled.csv", label="class"),
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
)


def counted(case: Case) -> tuple[Dataset, Counted]:
    """The data set and its one pass."""
    opened = case.open()
    return opened, count_joints(opened, label=case.label)


def configurations(known: Counted, *, count: int, strength: str, seed: int, **options: Any) -> list[Configuration]:
    """Generated configurations; a table with few columns may not have as many different ones."""
    histograms = {name: joint.histogram() for name, joint in known.joints.items()}
    return generate(histograms, count=count, strength=strength, rng=np.random.default_rng(seed), **options)
