"""The three anonymizers: k and l hold on the published table, bad settings are refused, Ctrl-C loses nothing."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aegis.candidates.clusters.anonymizer import Anonymizer
from aegis.candidates.clusters.information_loss import Centroid
from aegis.candidates.clusters.k_member import KMember
from aegis.candidates.clusters.mdav import MDAV
from aegis.candidates.clusters.mo_obam import MOOBAM
from aegis.candidates.clusters.outcome import Anonymized, scaled_objective
from aegis.candidates.clusters.records import Records
from aegis.errors import AnonymizerError, GuaranteeError


def patients(seed: int = 0, rows: int = 80, secrets: int = 3) -> Records:
    rng = np.random.default_rng(seed)
    return Records.from_columns(
        {
            "age": rng.integers(18, 90, rows),
            "visits": rng.geometric(0.4, rows),
            "sex": rng.choice(["f", "m"], rows),
            "ward": rng.choice(["a", "b", "c"], rows),
            "ill": rng.integers(0, secrets, rows),
            "insured": rng.choice(["no", "yes"], rows, p=[0.3, 0.7]),
        },
        quasi_identifiers=["age", "visits", "sex", "ward"],
        sensitive=["ill", "insured"],
    )


def check(records: Records, fitted: Anonymizer, k: int, l: int) -> None:
    """Read everything off the published columns alone."""
    columns = fitted.transform()
    rows = list(zip(*(columns[name].tolist() for name in records.quasi_identifiers), strict=True))
    groups: dict[Any, list[int]] = {}
    for i, published in enumerate(rows):
        groups.setdefault(published, []).append(i)
    assert min(map(len, groups.values())) >= k
    for members in groups.values():
        assert all(len(np.unique(column)) >= l for column in records.sensitive[members].T)
    assert len(groups) == fitted.result_.distinct_tuples
    assert fitted.result_.smallest_class == min(map(len, groups.values()))
    squares = sum(
        ((records.numeric[:, j] - columns[name].astype(float)) ** 2).sum()
        for j, name in enumerate(records.numeric_names)
    )
    misses = sum(
        (records.categories[j][records.categorical[:, j]] != columns[name]).sum()
        for j, name in enumerate(records.categorical_names)
    )
    total = ((records.numeric - records.numeric.mean(axis=0)) ** 2).sum()
    total += sum(len(records) - np.bincount(column).max() for column in records.categorical.T)
    assert fitted.result_.information_loss == pytest.approx((squares + misses) / total)


@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(1, 2), st.sampled_from(["mean", "rounded", "medoid"]))
@settings(max_examples=25, deadline=None)
def test_k_and_l_hold_on_the_published_table(seed: int, k: int, l: int, centroid: Centroid) -> None:
    records = patients(seed)
    methods: list[Anonymizer] = [
        MOOBAM(k=k, l=l, rounds=100, centroid=centroid, random_state=seed),
        KMember(k=k, l=l, centroid=centroid, random_state=seed),
    ]
    for method in methods:
        check(records, method.fit(records), k, l)
    check(records, MDAV(k=k, centroid=centroid).fit(records), k, 1)


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 12))
@settings(max_examples=25, deadline=None)
def test_the_number_of_classes_is_kept(seed: int, k: int, classes: int) -> None:
    records = patients(seed)
    fitted = MOOBAM(k=k, l=2, classes=classes, rounds=300, random_state=seed).fit(records)
    assert fitted.result_.classes == classes
    check(records, fitted, k, 2)


def test_mdav_against_a_plain_reading_of_the_algorithm() -> None:
    rng = np.random.default_rng(5)
    points = rng.normal(size=(53, 3))
    records = Records.from_arrays(numeric=points)
    k, rest, classes = 4, list(range(53)), []

    def group(centre: int) -> list[int]:
        order = sorted(rest, key=lambda i: ((points[i] - points[centre]) ** 2).sum())
        for i in order[:k]:
            rest.remove(i)
        return order[:k]

    while len(rest) >= 2 * k:
        middle = points[rest].mean(axis=0)
        far = max(rest, key=lambda i: ((points[i] - middle) ** 2).sum())
        pairs = len(rest) >= 3 * k
        classes.append(group(far))
        if pairs:
            classes.append(group(max(rest, key=lambda i: ((points[i] - points[far]) ** 2).sum())))
    classes.append(list(rest))
    labels = MDAV(k=k).fit(records).labels_
    assert {frozenset(c) for c in classes} == {frozenset(np.flatnonzero(labels == c)) for c in range(len(classes))}


def test_equal_seeds_give_equal_tables_and_search_beats_the_greedy_ones() -> None:
    records = patients(1, rows=300)
    one, two = (MOOBAM(k=4, l=2, rounds=2000, random_state=7).fit(records) for _ in range(2))
    assert (one.labels_ == two.labels_).all()
    assert one.result_.information_loss < KMember(k=4, l=2).fit(records).result_.information_loss
    assert one.result_.information_loss < MDAV(k=4).fit(records).result_.information_loss
    assert one.result_.lower_bound is not None
    assert one.result_.lower_bound <= one.result_.information_loss
    assert "of the best possible" in one.result_.gap


def test_a_higher_trade_off_mixes_more_and_loses_more() -> None:
    records = patients(2, rows=120)
    results = [MOOBAM(k=5, l=2, classes=5, trade_off=t, rounds=2000).fit(records).result_ for t in (0.0, 1.0)]
    assert results[1].entropy_sum_of_minima_bits > results[0].entropy_sum_of_minima_bits
    assert results[1].information_loss >= results[0].information_loss
    assert results[1].diagnosis.best_loss <= results[1].information_loss
    assert results[1].entropy_sum_of_minima_bits <= results[1].entropy_ceiling_bits
    assert sum(results[1].entropy_bits.values()) == pytest.approx(results[1].entropy_sum_of_minima_bits)


def test_each_entropy_goal_is_served_best_by_its_own_search() -> None:
    records = patients(2, rows=120)
    sums, minima = (
        MOOBAM(k=5, l=2, classes=5, trade_off=1.0, minimum_of_sums=flag, rounds=2000).fit(records).result_
        for flag in (True, False)
    )

    def value(result: Anonymized, bits: float) -> float:
        return scaled_objective(
            loss=result.information_loss,
            best_loss=result.diagnosis.best_loss,
            entropy_bits=bits,
            ceiling_bits=result.entropy_ceiling_bits,
            trade_off=1.0,
        )

    assert value(sums, sums.entropy_minimum_of_sums_bits) < value(minima, minima.entropy_minimum_of_sums_bits)
    assert value(minima, minima.entropy_sum_of_minima_bits) < value(sums, sums.entropy_sum_of_minima_bits)


def test_ctrl_c_returns_the_best_valid_partition() -> None:
    records = patients(3, rows=400)
    MOOBAM(k=5, l=2, rounds=50).fit(records)  # compiling is not part of the budget
    calls: list[tuple[int, int | None, str]] = []

    def stop_in_the_search(done: int, total: int | None, what: str) -> None:
        calls.append((done, total, what))
        if what.startswith("records:"):
            raise KeyboardInterrupt

    fitted = MOOBAM(k=5, l=2, seconds=30).fit(records, progress=stop_in_the_search)
    assert fitted.result_.diagnosis.finished == "interrupted"
    assert fitted.result_.seconds < 20
    check(records, fitted, 5, 2)
    first = next(what for _, _, what in calls if "loss" in what)
    loss, bound = (float(re.search(rf"{word} ([0-9.]+)", first)[1]) for word in ("loss", "bound"))  # type: ignore[index]
    assert bound <= loss
    assert all(0 <= done <= 100 and total == 100 for done, total, _ in calls)


def test_the_time_budget_is_kept() -> None:
    records = patients(4, rows=300)
    MOOBAM(k=5, l=2, seconds=0.3).fit(records)  # compiling is not part of the budget
    result = MOOBAM(k=5, l=2, seconds=1.0).fit(records).result_
    assert result.seconds < 2.5
    assert result.diagnosis.finished == "time"


def test_a_medoid_invents_nothing_and_rounding_gives_whole_numbers() -> None:
    records = patients(5)
    medoid = MOOBAM(k=5, rounds=100, centroid="medoid").fit_transform(records)
    assert set(medoid["age"].tolist()) <= set(records.numeric[:, 0].tolist())
    assert MOOBAM(k=5, rounds=100, centroid="rounded").fit_transform(records)["age"].dtype == np.int64
    assert MOOBAM(k=5, rounds=100).fit_transform(records)["age"].dtype == np.float64


def test_other_records_are_given_published_tuples() -> None:
    records = patients(6)
    fitted = MOOBAM(k=5, rounds=100).fit(records)
    columns = fitted.transform(patients(7))
    published = set(zip(*(c.tolist() for c in fitted.transform().values()), strict=True))
    assert set(zip(*(c.tolist() for c in columns.values()), strict=True)) <= published
    stranger = Records.from_arrays(numeric=[1.0, 2.0])
    with pytest.raises(AnonymizerError, match="other quasi-identifiers"):
        fitted.transform(stranger)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"k": 0}, "k must be a whole number"),
        ({"k": 2, "l": 0}, "l must be a whole number"),
        ({"k": 2, "classes": 0}, "classes must be a whole number"),
        ({"k": 2, "trade_off": 1.5}, "between 0 and 1"),
        ({"k": 2, "seconds": -1}, "not be negative"),
        ({"k": 2, "scale": "log"}, "raw"),
        ({"k": 81}, "use k of at most 80"),
        ({"k": 10, "classes": 9}, "use at most 8 classes, or k of at most 8"),
        ({"k": 1, "classes": 81}, "distinct quasi-identifier tuples: use at most"),
        ({"k": 2, "l": 4}, "above the 2 value.s. of sensitive attribute 'insured'"),
        ({"k": 2, "l": 2, "classes": 40}, "cannot each hold l = 2 values of 'insured'"),
    ],
)
def test_what_cannot_be_is_refused_with_the_nearest_that_can(options: dict[str, Any], words: str) -> None:
    with pytest.raises(AnonymizerError, match=words):
        MOOBAM(rounds=10, **options).fit(patients(8, secrets=5))


def test_reading_before_fitting_is_refused() -> None:
    with pytest.raises(AnonymizerError, match="call fit"):
        _ = MDAV(k=2).labels_


def test_results_are_frozen() -> None:
    result = MDAV(k=2).fit(patients()).result_
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.k = 1  # type: ignore[misc]


def test_a_broken_promise_is_never_published(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aegis.candidates.clusters.mdav._mdav", lambda *_: np.repeat(np.arange(40), 2))
    with pytest.raises(GuaranteeError, match="fewer than k = 3"):
        MDAV(k=3).fit(patients())


def test_a_table_too_large_to_merge_is_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aegis.candidates.clusters.optimise.MERGEABLE", 10)
    records = patients(9, rows=400)
    for classes in (None, 20):
        fitted = MOOBAM(k=4, l=2, classes=classes, rounds=200).fit(records)
        check(records, fitted, 4, 2)


def test_constant_quasi_identifiers_lose_nothing() -> None:
    records = Records.from_arrays(numeric=np.ones(9), categorical=["x"] * 9, sensitive=list("abcabcabc"))
    methods: list[Anonymizer] = [MOOBAM(k=3, l=2, rounds=20), KMember(k=3, l=2), MDAV(k=3)]
    for method in methods:
        result = method.fit(records).result_
        assert result.information_loss == 0.0
        assert result.distinct_tuples == 1
