"""Candidates of any kind on one scale: configurations and published tables share splits and scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aegis.counts.collect import count_joints
from aegis.counts.collect_pairs import count_pairs
from aegis.counts.joint import TableCounts
from aegis.counts.summary import masked_counts
from aegis.data.engine import open_dataset
from aegis.evaluation.coded_rows import CodedRows, read_rows
from aegis.evaluation.gold import Candidate, gold_of, gold_standard, reliability, split_half, try_shortlist
from aegis.evaluation.selectors import PublishedTable, select, table_scores
from aegis.evaluation.splits import SplitPlan
from aegis.masking.configuration import Configuration

pytest.importorskip("sklearn")

FAST = ("naive-bayes",)
PLAN = SplitPlan(splits=3)
CONFIGURATIONS = [
    Configuration.of("whole", {}),
    Configuration.of("coarse", {"strong": {"bucketize": {"width": 20}}}),
    Configuration.of("gone", {"strong": "suppress", "weak": "suppress"}),
]


def table(*, buckets: int = 1) -> pa.Table:
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 600)
    strong = np.where(rng.random(600) < 0.9, label * 20 + rng.integers(0, 20, 600), rng.integers(0, 40, 600))
    third = np.where(rng.random(600) < 0.7, label, 1 - label)
    return pa.table({"strong": strong // buckets, "weak": rng.integers(0, 40, 600), "third": third, "y": label})


def counted(of: pa.Table) -> tuple[TableCounts, CodedRows, PublishedTable]:
    dataset = open_dataset(of)
    found = count_joints(dataset, label="y")
    rows = read_rows(dataset, found, in_order=True)
    return found, rows, PublishedTable(name="published", counted=found, pairs=count_pairs(dataset, found), rows=rows)


def test_candidates_of_the_same_rows_are_the_gold_standard() -> None:
    _, rows, _ = counted(table())
    plain = gold_standard(rows, CONFIGURATIONS, label="y", models=FAST, plan=PLAN)
    candidates = [Candidate(rows=rows, configuration=one) for one in CONFIGURATIONS]
    np.testing.assert_allclose(gold_of(candidates, label="y", models=FAST, plan=PLAN).accuracies, plain.accuracies)


def test_a_published_table_is_tried_like_the_configuration_that_would_have_made_it() -> None:
    _, rows, _ = counted(table())
    _, _, published = counted(table(buckets=20))
    seen: list[tuple[int, int]] = []
    candidates = [
        Candidate(rows=published.rows, configuration=published.configuration),
        *(Candidate(rows=rows, configuration=one) for one in CONFIGURATIONS),
    ]
    found = gold_of(
        candidates, label="y", models=FAST, plan=PLAN, progress=lambda done, total, _: seen.append((done, total))
    )
    assert [one.configuration for one in found.scores] == ["published", "whole", "coarse", "gone"]
    assert found.scores[0].accuracy == pytest.approx(found.scores[2].accuracy)
    assert seen == [(i, 12) for i in range(1, 13)]


def test_a_published_table_is_scored_like_the_configuration_that_would_have_made_it() -> None:
    found, _, _ = counted(table())
    summary = masked_counts(
        name="t",
        label="y",
        label_histogram=found.label_histogram,
        joints=found.joints,
        configurations=CONFIGURATIONS,
    )
    pairs = count_pairs(open_dataset(table()), found)
    by_selector = {one.selector: one.scores for one in select(summary, pairs=pairs)}
    _, _, published = counted(table(buckets=20))
    scores = table_scores(summary, published)
    assert {"pair-prediction", "label-probe", "mutual-information (exact)", "g3 (exact)"} <= set(scores)
    assert not [name for name in scores if "Aegis" in name or "pooled" in name]
    for name, score in scores.items():
        assert score == pytest.approx(by_selector[name][1], abs=1e-9), name


def candidates(rows: CodedRows) -> list[Candidate]:
    return [Candidate(rows=rows, configuration=configuration) for configuration in CONFIGURATIONS]


def test_a_shortlist_is_tried_and_the_rest_stays_behind() -> None:
    _, rows, _ = counted(table())
    tried = try_shortlist(candidates(rows), [0.2, 0.3, 0.1], label="y", shortlist=2, models=FAST, plan=PLAN)
    assert {score.configuration for score in tried.shortlist} == {"whole", "coarse"}
    assert tried.like_best[0]
    assert tried.scores[2] == 1.0, "what was not tried stays last"


def test_a_second_opinion_puts_what_the_first_overlooked_on_the_shortlist() -> None:
    _, rows, _ = counted(table())
    ask: dict[str, Any] = {"label": "y", "shortlist": 2, "models": FAST, "plan": PLAN}
    alone = try_shortlist(candidates(rows), [1, 2, 3], **ask)
    assert {one.configuration for one in alone.shortlist} == {"coarse", "gone"}
    advised = try_shortlist(candidates(rows), [1, 2, 3], second=[9, 1, 0], **ask)
    assert {one.configuration for one in advised.shortlist} == {"whole", "gone"}
    assert advised.best.configuration == "whole"
    assert advised.scores.argsort().tolist() == [1, 2, 0]


def test_what_is_far_behind_is_told_apart_from_the_best() -> None:
    _, rows, _ = counted(table())
    tried = try_shortlist(candidates(rows), [3, 2, 1], label="y", shortlist=3, models=FAST, plan=SplitPlan(splits=6))
    assert tried.shortlist[-1].configuration == "gone"
    assert not tried.like_best[-1]


@given(seed=st.integers(0, 1000), noise=st.sampled_from([0.0, 0.01, 0.1]))
@settings(max_examples=20, deadline=None)
def test_halves_agree_as_far_as_the_splits_are_reliable(seed: int, noise: float) -> None:
    rng = np.random.default_rng(seed)
    true = rng.normal(size=(60, 1)) * 0.05
    by_split = true + noise * rng.normal(size=(60, 8))
    found = split_half(by_split, seed=seed)
    assert 0.0 <= found <= 1.0
    if noise == 0.0:
        assert found == pytest.approx(1.0)
    assert found == pytest.approx(reliability(by_split), abs=0.25)
