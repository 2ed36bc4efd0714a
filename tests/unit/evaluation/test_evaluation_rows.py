"""Rows as codes, masked rows, features and splits: what the exhaustive way learns from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aegis.counts.answer import codes_in
from aegis.counts.collect import Limits, count_joints
from aegis.counts.joint import TableCounts
from aegis.data.domain import Domain
from aegis.data.engine import open_dataset
from aegis.data.kind import Kind
from aegis.errors import ConfigurationError, DataError, MeasureError
from aegis.evaluation.coded_rows import CodedRows, Encoding, RowMasker, feature_matrix, read_rows
from aegis.evaluation.splits import SplitPlan
from aegis.learners.features import as_numbers
from aegis.masking.configuration import Configuration
from aegis.masking.generator import DEFAULT_MASKS, _candidates
from aegis.masking.transition import Channel, transition
from aegis.releases.apply import masked_table


def table(rows: int = 400, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "age": [None if rng.random() < 0.1 else int(a) for a in rng.integers(18, 90, rows)],
            "weight": rng.normal(70, 10, rows).round(1),
            "town": rng.choice(["rome", "oslo", "bern", "lima"], rows, p=[0.6, 0.3, 0.08, 0.02]),
            "health": rng.choice(["good", "poor"], rows),
        }
    )


def read(rows: pa.Table, **limits: int) -> tuple[Any, TableCounts, CodedRows]:
    dataset = open_dataset(rows)
    counted = count_joints(dataset, label="health", limits=Limits(**limits) if limits else None)
    return dataset, counted, read_rows(dataset, counted)


def sorted_rows(columns: list[np.ndarray]) -> np.ndarray:
    together = np.stack(columns, axis=1)
    return together[np.lexsort(together.T)]


def test_the_codes_are_the_rows() -> None:
    rows = table()
    _, counted, coded = read(rows)
    straight = [codes_in(rows[name], joint.attribute) for name, joint in counted.joints.items()]
    straight.append(codes_in(rows["health"], counted.label_histogram.domain))
    np.testing.assert_array_equal(sorted_rows([*coded.codes.values(), coded.label]), sorted_rows(straight))
    for name, joint in counted.joints.items():
        np.testing.assert_array_equal(coded.counts(name), joint.counts.sum(axis=1))


def test_ranges_of_the_engine_are_read_as_they_were_counted() -> None:
    _, counted, coded = read(table(), numbers=20, bins=8)
    assert counted.joints["weight"].attribute.discretised
    np.testing.assert_array_equal(coded.counts("weight"), counted.joints["weight"].counts.sum(axis=1))


def test_the_fingerprint_is_of_the_content_and_not_of_the_order() -> None:
    rows = table()
    turned = rows.take(np.random.default_rng(1).permutation(len(rows)))
    assert read(rows)[2].fingerprint == read(turned)[2].fingerprint
    assert read(rows)[2].fingerprint != read(table(seed=1))[2].fingerprint


def test_a_sample_of_rows_has_the_size_asked_for() -> None:
    dataset, counted, _ = read(table())
    sample = read_rows(dataset, counted, most_rows=50, seed=1)
    assert sample.rows == 50
    assert sample.fingerprint == read_rows(dataset, counted, most_rows=50, seed=1).fingerprint
    assert sample.fingerprint != read_rows(dataset, counted, most_rows=50, seed=2).fingerprint
    assert len(np.unique(sample.label)) == 2


def test_codes_of_unequal_length_are_refused() -> None:
    domain = Domain.of(Kind.INTEGER, range(3))
    with pytest.raises(DataError, match="as many codes"):
        CodedRows(label_domain=domain, label=np.zeros(3, int), domains={"a": domain}, codes={"a": np.zeros(2, int)})


SPECS: list[dict[str, Any]] = [
    {"age": {"bucketize": {"width": 10}}, "town": "suppress"},
    {"weight": {"round": {"step": 5}}, "town": {"regroup": {"groups": {"south": ["rome", "lima"]}}}},
    {"age": {"top_code": {"at": 60}}, "weight": {"bucketize": {"quantiles": 4}}},
]


@pytest.mark.parametrize("spec", SPECS)
def test_masked_codes_are_what_a_release_would_hold(spec: dict[str, Any]) -> None:
    dataset, counted, coded = read(table())
    configuration = Configuration.of("c", spec)
    histograms = {name: joint.histogram() for name, joint in counted.joints.items()}
    released = masked_table(dataset.table, configuration.masks, histograms=histograms).table.to_pyarrow()
    masked = RowMasker(coded, label="health").masked(configuration.masks)
    ours = sorted_rows([*masked.codes.values(), masked.label])
    theirs = [codes_in(released[name], domain) for name, domain in masked.domains.items()]
    theirs.append(codes_in(released["health"], masked.label_domain))
    np.testing.assert_array_equal(ours, sorted_rows(theirs))


def test_a_masked_label_cannot_be_compared() -> None:
    _, _, coded = read(table())
    with pytest.raises(ConfigurationError, match="masks the label"):
        RowMasker(coded, label="health").masked(Configuration.of("c", {"health": "suppress"}).masks)


def test_draws_follow_the_channel() -> None:
    matrix = np.array([[0.2, 0.8, 0.0], [0.0, 0.5, 0.5]])
    channel = Channel(matrix=matrix, target=Domain.of(Kind.TEXT, ["a", "b", "c"]))
    codes = np.repeat([0, 1], 20_000)
    outcome = channel.drawn(codes, np.random.default_rng(0))
    for code in (0, 1):
        shares = np.bincount(outcome[codes == code], minlength=3) / 20_000
        np.testing.assert_allclose(shares, matrix[code], atol=0.02)
        assert (shares[matrix[code] == 0] == 0).all()


# --- features


def test_scaling_and_levels_are_learnt_from_training_rows_only() -> None:
    domains = {"x": Domain.of(Kind.REAL, [1.0, 2.0, 1000.0]), "t": Domain.of(Kind.TEXT, ["a", "b", "c"])}
    codes = {"x": np.array([0, 1] * 20 + [2]), "t": np.array([0, 1] * 20 + [2])}
    features = feature_matrix(domains, codes, training=np.arange(40), encoding=Encoding(least_rows=5))
    assert features.shape == (41, 3)  # the level that training never saw has no column
    np.testing.assert_allclose(features[:40, 0].mean(), 0.0, atol=1e-12)
    np.testing.assert_allclose(features[:40, 0].std(), 1.0)
    assert features[40, 0] > 100
    assert features[40, 1:].tolist() == [0.0, 0.0]


def test_rare_levels_share_a_column_and_missing_has_its_own() -> None:
    domain = Domain.of(Kind.TEXT, ["a", "b", "c", "d"], missing=True)
    codes = np.array([0] * 20 + [1] * 20 + [2, 3, 2] + [4] * 5)
    features = feature_matrix({"t": domain}, {"t": codes}, training=np.arange(len(codes)))
    assert features.shape[1] == 4
    np.testing.assert_array_equal(features.sum(axis=1), np.ones(len(codes)))
    assert features[40:43].argmax(axis=1).tolist() == [2, 2, 2]
    assert features[43:].argmax(axis=1).tolist() == [3] * 5


def test_a_missing_number_is_the_mean_and_is_marked() -> None:
    domain = Domain.of(Kind.INTEGER, [1, 3], missing=True)
    features = feature_matrix({"n": domain}, {"n": np.array([0, 1, 2])}, training=np.arange(3))
    assert features.tolist() == [[-1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]


def test_columns_that_say_nothing_have_no_features() -> None:
    star = Domain.of(Kind.TEXT, ["*"])
    gone = Domain.of(Kind.TEXT, [], missing=True)
    codes = {"s": np.zeros(5, int), "g": np.zeros(5, int)}
    assert feature_matrix({"s": star, "g": gone}, codes, training=np.arange(5)).shape == (5, 0)


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["[20, 30)", "[30, 40)"], [25.0, 35.0]),
        (["(-inf, 18)", "[18, 65)", "[65, inf)"], [-5.5, 41.5, 88.5]),
        (["(-inf, 51)", "[51, inf)"], [50.5, 51.5]),
        (["<18", ">=65", "[18, 18]"], [17.5, 18.0, 65.5]),
        (["20-29", "30-39"], [24.5, 34.5]),
        (["1**", "2**"], [149.5, 249.5]),
        (["south", "north"], None),
        (["[20, 30)", "*"], None),
    ],
)
def test_masked_numbers_stay_ordered(texts: list[str], numbers: list[float] | None) -> None:
    found = as_numbers(Domain.of(Kind.TEXT, texts))
    assert (None if found is None else sorted(found.tolist())) == numbers


@settings(max_examples=30)
@given(
    st.lists(st.integers(-500, 500), min_size=3, max_size=60, unique=True),
    st.sampled_from([Kind.INTEGER, Kind.REAL]),
)
def test_whatever_a_mask_keeps_apart_features_keep_apart(values: list[int], kind: Kind) -> None:
    """Two groups that got the same number would be a mask that tells nothing, whatever it tells."""
    domain = Domain.of(kind, sorted(values))
    counts = np.ones(len(values))
    for mask in _candidates(domain, counts, None):
        if mask.name in DEFAULT_MASKS and kind in mask.accepts:
            step = transition(mask, domain, counts)
            features = feature_matrix(
                {"n": step.target},
                {"n": np.arange(step.target.size)},
                training=np.arange(step.target.size),
                encoding=Encoding(least_rows=1, most_levels=100),
            )
            assert len(np.unique(features, axis=0)) == step.target.size, mask.describe()


def test_dates_are_days() -> None:
    days = as_numbers(Domain.of(Kind.DATE, ["2020-01-01", "2020-01-03"]))
    assert days is not None
    assert np.diff(days).tolist() == [2.0]


# --- splits


@given(
    sizes=st.lists(st.integers(20, 200), min_size=2, max_size=4),
    share=st.floats(0.1, 0.6),
    number=st.integers(0, 5),
    seed=st.integers(0, 9),
)
@settings(max_examples=80, deadline=None)
def test_splits_are_disjoint_complete_and_keep_every_label_s_share(
    sizes: list[int], share: float, number: int, seed: int
) -> None:
    label = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
    training, testing = SplitPlan(test_share=share, seed=seed).split(label, number)
    assert sorted([*training, *testing]) == list(range(len(label)))
    tested = np.bincount(label[testing], minlength=len(sizes))
    assert (np.abs(tested - share * np.array(sizes)) <= 1.0 + 1e-9).all()
    cut = SplitPlan(test_share=share, seed=seed, most_training_rows=max(10, len(training) // 2), most_test_rows=10)
    fewer, few = cut.split(label, number)
    assert set(fewer) <= set(training)
    assert len(few) == min(10, len(testing))
    half = np.bincount(label[fewer], minlength=len(sizes)) / len(fewer)
    whole = np.bincount(label[training], minlength=len(sizes)) / len(training)
    assert np.abs(half - whole).max() <= 2.0 / len(fewer) * len(sizes)


def test_splits_differ_and_can_be_asked_for_again() -> None:
    label = np.arange(100) % 2
    plan = SplitPlan(seed=1)
    assert plan.split(label, 0)[1].tolist() == plan.split(label, 0)[1].tolist()
    assert plan.split(label, 0)[1].tolist() != plan.split(label, 1)[1].tolist()
    assert plan.split(label, 0)[1].tolist() != SplitPlan(seed=2).split(label, 0)[1].tolist()


def test_the_interval_is_wider_than_that_of_independent_splits() -> None:
    values = [0.80, 0.82, 0.79, 0.83]
    low, high = SplitPlan().interval(values)
    naive = 3.182 * np.std(values, ddof=1) / 2
    assert (high - low) / 2 > naive
    assert low < np.mean(values) < high
    assert SplitPlan(splits=1).interval([0.8]) == (-np.inf, np.inf)


@pytest.mark.parametrize("wrong", [{"splits": 0}, {"test_share": 1.0}, {"most_training_rows": 3}])
def test_a_plan_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(MeasureError):
        SplitPlan(**wrong)
