"""Pair scores from a summary equal the plain definitions, and know how sure they are."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from aegis.counts.joint import Histogram, Joint
from aegis.counts.pair_counts import PairCounts, PairTables, ValueGroups
from aegis.counts.summary import Level, Summary, masked_counts, reduced
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.errors import MeasureError
from aegis.masking.configuration import Configuration
from aegis.measures.dependency_tree import tree_accuracies
from aegis.measures.label_probe import RIDGE
from aegis.measures.leave_one_out import PRIOR_RECORDS, leave_one_out_accuracy, leave_one_out_information
from aegis.measures.measure import PairMeasure, measures_of
from aegis.measures.pair_ground import PairGround, put_together, score_configurations

Ints = NDArray[np.int64]
PARTS = 8


def columns(rows: int, seed: int) -> tuple[dict[str, Ints], Ints]:
    rng = np.random.default_rng(seed)
    hidden = rng.integers(0, 8, rows)
    label = np.where(rng.random(rows) < 0.8, hidden % 3, rng.integers(0, 3, rows))
    noisy = {f"c{i}": np.where(rng.random(rows) < 0.5, hidden, rng.integers(0, 8, rows)) for i in range(3)}
    return {**noisy, "id": np.arange(rows) % 50}, label


def summed(codes: list[Ints], shape: tuple[int, ...]) -> Ints:
    counts = np.zeros(shape, dtype=np.int64)
    np.add.at(counts, tuple(codes), 1)
    return counts


def told(
    data: dict[str, Ints], label: Ints, specs: list[dict[str, Any]], *, groups: int | None = None
) -> tuple[Summary, PairTables]:
    """A summary and its pair tables, counted by hand."""
    sizes = {name: int(values.max()) + 1 for name, values in data.items()}
    domain = Domain.of(Kind.TEXT, ["a", "b", "c"])
    joints = {
        name: Joint(
            attribute=Domain.of(Kind.INTEGER, range(sizes[name])),
            label=domain,
            counts=summed([values, label], (sizes[name], 3)),
        )
        for name, values in data.items()
    }
    summary = masked_counts(
        name="t",
        label="y",
        label_histogram=Histogram(domain=domain, counts=np.bincount(label, minlength=3)),
        joints=joints,
        configurations=[Configuration.of(f"k{i}", spec) for i, spec in enumerate(specs)],
    )
    grouped = {name: ValueGroups.bounded(joint.histogram(), groups or 1000) for name, joint in joints.items()}
    codes = {name: grouped[name].codes[values] for name, values in data.items()}
    tables = {}
    for a, b in combinations(data, 2):
        dense = summed([codes[a], codes[b], label], (grouped[a].size, grouped[b].size, 3))
        there = np.argwhere(dense.any(axis=2))
        tables[a, b] = PairCounts(first=there[:, 0], second=there[:, 1], counts=dense[there[:, 0], there[:, 1]])
    part = np.arange(len(label)) % PARTS
    parts = {name: summed([part, codes[name], label], (PARTS, grouped[name].size, 3)) for name in data}
    rows = len(label)
    return summary, PairTables(rows=rows, sample_rows=rows, labels=3, groups=grouped, tables=tables, parts=parts)


SPECS: list[dict[str, Any]] = [
    {},
    {"c0": {"bucketize": {"width": 2}}, "c1": {"bucketize": {"width": 4}}},
    {"c0": "suppress", "c1": "suppress", "c2": "suppress", "id": "suppress"},
    {"c0": "suppress", "c2": {"round": {"step": 3}}, "id": "shuffle"},
    {"c1": {"top_code": {"at": 3}}, "id": {"bucketize": {"width": 10}}},
]


def masked_by_hand(summary: Summary, data: dict[str, Ints], i: int) -> dict[str, Ints]:
    configuration = summary.configurations[i]
    out = {}
    for name, values in data.items():
        change: Any = summary.attributes[name].masked[configuration.masks[name], None].change
        out[name] = change.codes[values]
    return out


def probe_of_rows(columns: list[Ints], label: Ints) -> float:
    """The probe record by record: encode, standardise, solve, score each record without itself."""
    n, target = len(label), np.eye(3)[label]
    shares = target.mean(axis=0)
    inside, outside = [], []
    for column in columns:
        counts = summed([column, label], (int(column.max()) + 1, 3))
        if float(leave_one_out_information(counts)) <= 0:
            continue
        same, sizes = counts[column], counts[column].sum(axis=1, keepdims=True)
        raw = (same + PRIOR_RECORDS * shares) / (sizes + PRIOR_RECORDS) - shares
        without = (same - target + PRIOR_RECORDS * shares) / (sizes - 1 + PRIOR_RECORDS) - shares
        mean, spread = raw.mean(axis=0), raw.std(axis=0)
        inside.append((raw - mean) / spread)
        outside.append((without - mean) / spread)
    if not inside:
        return 0.0
    Z, Z_out, centred = np.hstack(inside), np.hstack(outside), target - shares
    S = Z.T @ Z / n
    W = np.linalg.solve(S + RIDGE * np.eye(len(S)), Z.T @ centred / n)
    score = 2 * np.trace((Z_out.T @ centred / n).T @ W) - np.trace(W.T @ S @ W)
    return max(float(score / (1 - (shares**2).sum())), 0.0)


@pytest.mark.parametrize("seed", range(3))
def test_the_probe_equals_its_definition_on_masked_rows(seed: int) -> None:
    data, label = columns(25_000, seed)  # enough for every value of every attribute to be a level of its own
    summary, pairs = told(data, label, [spec for spec in SPECS if "shuffle" not in spec.values()])
    scores = score_configurations(summary, pairs, "label-probe")
    for i in range(len(summary.configurations)):
        masked = masked_by_hand(summary, data, i)
        assert scores.utilities[i] == pytest.approx(probe_of_rows(list(masked.values()), label), abs=1e-10)
    assert scores.utilities[2] == 0.0  # everything suppressed
    assert scores.utilities[0] > 0.1


def test_pair_information_equals_the_mean_over_masked_pairs() -> None:
    data, label = columns(25_000, 1)  # enough for every value of every attribute to be a level of its own
    specs = [spec for spec in SPECS if "shuffle" not in spec.values()]
    summary, pairs = told(data, label, specs)
    scores = score_configurations(summary, pairs, "pair-information")
    for i in range(len(specs)):
        masked = masked_by_hand(summary, data, i)
        each = [
            float(leave_one_out_information(summed([a * 1000 + b, label], (int((a * 1000 + b).max()) + 1, 3))))
            for a, b in combinations(masked.values(), 2)
        ]
        assert scores.utilities[i] == pytest.approx(np.mean(each), abs=1e-10)


def test_pair_prediction_is_what_pair_and_trees_decide_what_pairs_tell_and_half_of_the_probe() -> None:
    data, label = columns(25_000, 1)
    specs = [spec for spec in SPECS if "shuffle" not in spec.values()]
    summary, pairs = told(data, label, specs)
    scores = score_configurations(summary, pairs, "pair-prediction").utilities
    information = score_configurations(summary, pairs, "pair-information").utilities
    line = score_configurations(summary, pairs, "label-probe").utilities
    shares = np.bincount(label) / len(label)
    entropy = -(shares * np.log2(shares)).sum()
    counted = [
        [
            summed([a * 1000 + b, label], (int((a * 1000 + b).max()) + 1, 3))
            for a, b in combinations(masked_by_hand(summary, data, i).values(), 2)
        ]
        for i in range(len(specs))
    ]
    bits = np.array([[float(leave_one_out_information(table)) for table in row] for row in counted])
    accuracies = np.array([[float(leave_one_out_accuracy(table)) for table in row] for row in counted])
    trees = tree_accuracies(PairGround(summary=summary, pairs=pairs), bits, accuracies)
    for i in range(len(specs)):
        reached = np.array([accuracies[i].max(), *trees[i]])
        decided = np.maximum((reached - shares.max()) / (1 - shares.max()), 0.0).mean()
        assert scores[i] == pytest.approx(decided + information[i] / entropy + line[i] / 2, abs=1e-9)
    assert scores[2] == pytest.approx(0.0)  # everything suppressed


@pytest.mark.parametrize("name", measures_of(PairMeasure))
def test_a_small_table_does_not_call_many_values_worse_than_few(name: str) -> None:
    """Two numbers of 400 values each on 1,000 records: nearly every cell of the pair would hold one record."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 400, 1_000), rng.integers(0, 400, 1_000)
    label = np.digitize(a + b + rng.normal(0, 80, 1_000), [300, 500])
    coarse = {"bucketize": {"width": 200}}
    summary, pairs = told({"a": a, "b": b}, label, [{}, {"a": coarse, "b": coarse}])
    fine, few = score_configurations(summary, pairs, name).utilities
    assert fine > few


@settings(max_examples=50)
@given(st.integers(0, 2**31), st.integers(2, 9), st.booleans())
def test_levels_put_together_lose_no_record_and_keep_the_order(seed: int, most: int, ordered: bool) -> None:
    rng = np.random.default_rng(seed)
    values = int(rng.integers(most + 1, 30))
    shares, mass = np.eye(values), rng.integers(1, 50, values).astype(float)
    together = put_together(shares, mass, most=most, ordered=ordered)
    assert together.shape == (values, most)
    assert (together.sum(axis=1) == 1).all()
    levels = together.argmax(axis=1)
    if ordered:
        assert (np.diff(levels) >= 0).all()
    else:
        # The frequent ones stay alone; what shares a level is no more frequent than any of them.
        alone = levels < most - 1
        assert len(set(levels[alone].tolist())) == alone.sum()
        assert mass[~alone].max() <= mass[alone].min()


def test_saying_the_same_thing_twice_adds_little_to_the_probe() -> None:
    data, label = columns(4_000, 3)

    def probe(**data: Ints) -> float:
        return float(score_configurations(*told(data, label, [{}]), "label-probe").utilities[0])

    alone = probe(a=data["c0"])
    assert probe(a=data["c0"], b=data["c0"]) == pytest.approx(alone, abs=0.03)
    assert probe(a=data["c0"], b=data["c1"]) > alone + 0.03


def test_pairs_see_an_exclusive_or_that_the_line_does_not() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, 2_000), rng.integers(0, 2, 2_000)
    summary, pairs = told({"a": a, "b": b}, a ^ b, [{}, {"a": "suppress"}])
    whole, gone = score_configurations(summary, pairs, "pair-prediction").utilities
    assert whole > 1.8
    assert gone < 0.1
    assert score_configurations(summary, pairs, "label-probe").utilities[0] < 0.1


@pytest.mark.parametrize("name", measures_of(PairMeasure))
def test_a_single_attribute_is_scored_by_itself(name: str) -> None:
    data, label = columns(500, 3)
    summary, pairs = told({"c0": data["c0"]}, label, [{}, {"c0": {"bucketize": {"width": 4}}}, {"c0": "suppress"}])
    whole, coarse, gone = score_configurations(summary, pairs, name).utilities
    assert whole > coarse > gone == pytest.approx(0.0)


@pytest.mark.parametrize("name", measures_of(PairMeasure))
def test_a_shuffled_attribute_is_worth_what_a_suppressed_one_is(name: str) -> None:
    data, label = columns(2_000, 2)
    summary, pairs = told(data, label, [{"c0": "shuffle"}, {"c0": "suppress"}, {}])
    shuffled, suppressed, whole = score_configurations(summary, pairs, name).utilities
    assert shuffled <= suppressed + 1e-3
    assert suppressed < whole


def test_a_noisy_channel_is_scored_by_its_expectation() -> None:
    data, label = columns(20_000, 3)
    summary, pairs = told(data, label, [{"c0": {"randomize": {"keep": 0.5}}}, {}, {"c0": "suppress"}])
    expected, whole, gone = score_configurations(summary, pairs, "label-probe").utilities
    change: Any = summary.attributes["c0"].masked[summary.configurations[0].masks["c0"], None].change
    rng = np.random.default_rng(0)
    ladder = change.matrix.cumsum(axis=1)[data["c0"]]
    drawn = (rng.random((len(label), 1)) > ladder).sum(axis=1)
    again, its_pairs = told({**data, "c0": drawn}, label, [{}])
    realised = score_configurations(again, its_pairs, "label-probe").utilities[0]
    assert gone < expected < whole
    assert expected == pytest.approx(realised, abs=0.01)


def test_groups_of_values_come_close_to_exact_pairs() -> None:
    data, label = columns(3_000, 4)
    exact = score_configurations(*told(data, label, SPECS), "label-probe").utilities
    grouped = score_configurations(*told(data, label, SPECS, groups=20), "label-probe").utilities
    np.testing.assert_allclose(grouped, exact, atol=0.01)


def test_the_standard_error_is_that_of_fresh_tables() -> None:
    specs = [{}, {"c0": "suppress"}]
    fresh = [score_configurations(*told(*columns(800, 100 + s), specs), "label-probe").utilities for s in range(40)]
    claimed = [
        score_configurations(*told(*columns(800, 100 + s), specs), "label-probe", seed=s).standard_errors
        for s in range(10)
    ]
    ratio = np.mean(claimed, axis=0) / np.std(fresh, axis=0, ddof=1)
    assert (ratio > 0.7).all()
    assert (ratio < 2.5).all()


@pytest.mark.parametrize("name", ["pair-prediction", "balanced-prediction"])
def test_a_rare_label_makes_a_score_no_surer_than_fresh_tables_are(name: str) -> None:
    def table(seed: int) -> tuple[Summary, PairTables]:
        rng = np.random.default_rng(seed)
        label = (rng.random(1_000) < 0.04).astype(np.int64) + 2 * (rng.random(1_000) < 0.3)
        label = np.minimum(label, 2)
        data = {c: np.where(rng.random(1_000) < 0.4, label, rng.integers(0, 3, 1_000)) for c in "abc"}
        return told(data, label, [{}])

    scores = [score_configurations(*table(seed), name) for seed in range(40)]
    observed = np.std([one.utilities[0] for one in scores], ddof=1)
    assert np.mean([one.standard_errors[0] for one in scores]) > 0.7 * observed


@pytest.mark.parametrize("name", measures_of(PairMeasure))
def test_a_mask_on_the_label_is_scored_on_the_masked_label(name: str) -> None:
    data, label = columns(500, 5)
    summary, pairs = told(data, label, [{}, {"y": {"regroup": {"groups": {"ab": ["a", "b"], "c": ["c"]}}}}])
    both = score_configurations(summary, pairs, name).utilities
    merged_summary, merged_pairs = told(data, np.where(label == 2, 2, 0), [{}])
    assert both[1] == pytest.approx(score_configurations(merged_summary, merged_pairs, name).utilities[0])


def test_what_cannot_be_scored_is_said() -> None:
    data, label = columns(100, 6)
    summary, pairs = told(data, label, SPECS)
    with pytest.raises(MeasureError, match="no measure called 'nope'"):
        score_configurations(summary, pairs, "nope")
    with pytest.raises(MeasureError, match="opaque"):
        score_configurations(reduced(summary, level=Level.ONE_D, opaque=True), pairs, "label-probe")
    fewer = PairTables(
        rows=100,
        sample_rows=100,
        labels=3,
        groups={k: v for k, v in pairs.groups.items() if k != "c1"},
        tables={},
        parts=pairs.parts,
    )
    with pytest.raises(MeasureError, match="pairs of c1"):
        score_configurations(summary, fewer, "label-probe")
    none = PairTables(rows=100, sample_rows=100, labels=3, groups=pairs.groups, tables={}, parts=pairs.parts)
    with pytest.raises(MeasureError, match="was not counted"):
        score_configurations(summary, none, "label-probe")


@pytest.mark.parametrize("name", measures_of(PairMeasure))
def test_a_score_does_not_depend_on_which_others_are_scored(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data, label = columns(400, 2)
    together = score_configurations(*told(data, label, SPECS), name).utilities
    alone = [score_configurations(*told(data, label, [spec]), name).utilities[0] for spec in SPECS]
    assert together == pytest.approx(alone, abs=1e-12)
    monkeypatch.setattr("aegis.measures.label_probe._MOST_CELLS", 1)  # a wide table: one by one
    assert score_configurations(*told(data, label, SPECS), name).utilities == pytest.approx(alone, abs=1e-12)


def test_equal_seeds_give_equal_resamples() -> None:
    data, label = columns(200, 7)
    summary, pairs = told(data, label, SPECS)
    one, two = (score_configurations(summary, pairs, "label-probe", seed=3).resampled for _ in range(2))
    np.testing.assert_array_equal(one, two)
