"""Real tables: German credit and Adult, a number, a bit, a category, and two columns together."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aegis.candidates.sanitizers.fitting import fit
from aegis.candidates.sanitizers.together import fit_together

pytestmark = pytest.mark.datasets
DATASETS = Path(os.environ.get("AEGIS_DATASETS", Path(__file__).parents[4] / "shared" / "datasets"))
QUICK = ("trees",)
Table = dict[str, np.ndarray[Any, Any]]


def read(path: str, *, numbers: tuple[str, ...], rows: int | None = None) -> Table:
    with (DATASETS / path).open(newline="", encoding="utf-8") as file:
        records = list(csv.DictReader(file))[:rows]
    return {name: np.array([float(r[name]) if name in numbers else r[name] for r in records]) for name in records[0]}


@pytest.fixture(scope="module")
def adult() -> Table:
    return read("adult/adult_complete_45222.csv", numbers=("age", "hours-per-week", "education-num"), rows=9000)


@pytest.fixture(scope="module")
def german() -> Table:
    return read("german/german_credit_labelled.csv", numbers=("age", "duration", "credit_amount", "residence_since"))


def some(table: Table, *names: str) -> Table:
    return {name: table[name] for name in names}


def test_the_age_of_adult(adult: Table) -> None:
    found = fit(
        adult["age"],
        column="age",
        authorized=some(adult, "marital-status", "relationship", "hours-per-week", "workclass"),
        adversaries=[some(adult, "occupation"), some(adult, "education", "race")],
        distortion=60.0,
        names=QUICK,
        rng=np.random.default_rng(0),
    )
    assert found.reconstruction.loss <= 60.0
    assert found.audit.worst > 1.1 * found.reconstruction.loss
    reference = found.audit.exposure.reference_pinned_share
    assert reference is not None
    assert found.audit.exposure.pinned_share <= reference + 0.02
    assert found.max_distortion > 60.0
    assert all(
        party.loss <= blank for party, blank in zip(found.audit.adversaries, found.saturation_losses, strict=True)
    )


def test_the_income_of_adult(adult: Table) -> None:
    found = fit(
        adult["income"],
        column="income",
        authorized=some(adult, "education-num", "marital-status", "age"),
        adversaries=[some(adult, "race", "sex"), some(adult, "native-country")],
        distortion=0.1,
        names=QUICK,
        rng=np.random.default_rng(0),
    )
    assert found.reconstruction.loss <= 0.1
    assert found.audit.worst > found.reconstruction.loss


def test_german_savings_of_five_values_and_the_class_together(german: Table) -> None:
    credit, savings = fit_together(
        some(german, "class", "savings_status"),
        authorized=some(german, "checking_status", "duration", "credit_history"),
        adversaries=[some(german, "purpose"), some(german, "personal_status")],
        distortions={"class": 0.15, "savings_status": 0.2},
        names=QUICK,
        rng=np.random.default_rng(0),
    )
    for one, distortion in ((credit, 0.15), (savings, 0.2)):
        assert one.reconstruction.loss <= distortion
        assert 0 < one.audit.exposure.pinned_share < 1
