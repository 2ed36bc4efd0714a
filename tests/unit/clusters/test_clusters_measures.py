"""Loss, centroids, entropy and risk against hand-made tables and against their definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aegis.candidates.clusters.information_loss import (
    centers_of,
    deviation,
    information_loss,
    published_columns,
    total_deviation,
)
from aegis.candidates.clusters.outcome import (
    class_entropies_bits,
    entropy_ceiling_bits,
    linkage_at_risk,
    measure_risk,
    minimum_of_sums_bits,
    risk_before,
    scaled_objective,
    sum_of_minima_bits,
)
from aegis.candidates.clusters.records import Records
from aegis.errors import AnonymizerError


@st.composite
def partitions(draw: st.DrawFn) -> tuple[Records, np.ndarray[Any, Any]]:
    rows = draw(st.integers(2, 25))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    records = Records.from_arrays(
        numeric=rng.integers(0, 9, (rows, 2)).astype(float),
        categorical=rng.integers(0, 3, (rows, 2)),
        sensitive=rng.integers(0, 3, (rows, 2)),
    )
    labels = np.unique(rng.integers(0, draw(st.integers(1, 5)), rows), return_inverse=True)[1]
    return records, labels.astype(np.int64)


# The worked example of the MO-OBAM paper (its Table II): nine patients in three classes.
PATIENTS = Records.from_columns(
    {
        "age": [18, 19, 18, 38, 36, 39, 87, 88, 82],
        "sex": list("fffmmmfff"),
        "disease": ["flu", "flu", "obese", "hyper", "hyper", "hyper", "depr", "diab", "cancer"],
    },
    quasi_identifiers=["age", "sex"],
    sensitive=["disease"],
)
THREE = np.repeat(np.arange(3), 3)


def test_the_entropies_of_the_papers_example() -> None:
    bits = class_entropies_bits(THREE, PATIENTS.sensitive)[:, 0]
    assert bits == pytest.approx([0.918, 0.0, 1.585], abs=5e-4)


def test_the_risk_of_the_papers_example() -> None:
    risk = measure_risk(THREE, PATIENTS.sensitive, names=["disease"], thresholds=(0.3, 1 / 3))
    assert (risk.homogeneity, risk.classes, risk.smallest_class) == (3, 3, 3)
    assert risk.linkage == {0.3: 9, 1 / 3: 0}
    assert risk_before(PATIENTS).homogeneity == 7  # two of 18, the only class that is mixed


def test_a_threshold_is_strict() -> None:
    labels = np.repeat([0, 1], [10, 9])
    assert linkage_at_risk(labels, threshold=0.1) == 9
    with pytest.raises(AnonymizerError, match="probability"):
        linkage_at_risk(labels, threshold=0.0)


def test_a_class_of_one_is_homogeneous() -> None:
    assert measure_risk(np.array([0, 1, 1]), np.array([[0], [0], [1]]), names=["s"]).homogeneity == 1


@given(partitions())
def test_mean_and_mode_lose_least(case: tuple[Records, np.ndarray[Any, Any]]) -> None:
    records, labels = case
    best = deviation(records, centers_of(records, labels).rows(labels))
    for centroid in ("rounded", "medoid"):
        assert best <= deviation(records, centers_of(records, labels, centroid=centroid).rows(labels)) + 1e-9


@given(partitions())
def test_a_medoid_is_a_record_of_its_class_and_the_best_one(case: tuple[Records, np.ndarray[Any, Any]]) -> None:
    records, labels = case
    centers = centers_of(records, labels, centroid="medoid")
    for c in range(len(centers)):
        x, y = records.numeric[labels == c], records.categorical[labels == c]
        away = ((x[:, None] - x[None]) ** 2).sum((1, 2)) + (y[:, None] != y[None]).sum((1, 2))
        chosen = ((x - centers.numeric[c]) ** 2).sum() + (y != centers.categorical[c]).sum()
        assert chosen == pytest.approx(away.min())
        assert any((row == centers.numeric[c]).all() for row in x)


@given(partitions())
def test_loss_lies_between_nothing_and_everything(case: tuple[Records, np.ndarray[Any, Any]]) -> None:
    records, labels = case
    for scale in ("raw", "standardised"):
        loss = information_loss(records, centers_of(records, labels).rows(labels), scale=scale)
        assert -1e-12 <= loss <= 1 + 1e-12


@given(partitions())
def test_no_partition_exceeds_the_entropy_ceiling(case: tuple[Records, np.ndarray[Any, Any]]) -> None:
    records, labels = case
    bits = class_entropies_bits(labels, records.sensitive)
    assert sum_of_minima_bits(bits) <= minimum_of_sums_bits(bits) + 1e-9
    assert minimum_of_sums_bits(bits) <= entropy_ceiling_bits(records.sensitive) + 1e-9


def test_the_scales_are_two_different_numbers() -> None:
    records = Records.from_arrays(numeric=[[1.0, 100.0], [2.0, 300.0], [8.0, 500.0], [9.0, 100.0]])
    labels = np.array([0, 0, 1, 1])
    rows = centers_of(records, labels).rows(labels)
    assert total_deviation(records, scale="standardised") == pytest.approx(8.0)
    assert information_loss(records, rows) != pytest.approx(information_loss(records, rows, scale="standardised"))
    with pytest.raises(AnonymizerError, match="no scale"):
        information_loss(records, rows, scale="other")  # type: ignore[arg-type]


def test_the_scaled_objective_is_zero_at_the_best_loss_without_entropy() -> None:
    assert scaled_objective(loss=0.1, best_loss=0.1, entropy_bits=0, ceiling_bits=2, trade_off=1) == 0.0
    assert scaled_objective(loss=0.1, best_loss=0.1, entropy_bits=2, ceiling_bits=2, trade_off=0.5) == -0.5
    assert scaled_objective(loss=0.0, best_loss=0.0, entropy_bits=0, ceiling_bits=0, trade_off=1) == 0.0


def test_published_columns_keep_names_order_and_values() -> None:
    rows = centers_of(PATIENTS, THREE, centroid="rounded").rows(THREE)
    columns = published_columns(PATIENTS, rows, integers=True)
    assert list(columns) == ["age", "sex"]
    assert columns["age"].tolist() == [18] * 3 + [38] * 3 + [86] * 3
    assert columns["age"].dtype == np.int64
    assert columns["sex"].tolist() == list("fffmmmfff")
