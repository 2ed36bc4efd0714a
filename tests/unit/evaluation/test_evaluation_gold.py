"""The exhaustive way: resumable, the same in parallel, honest about what it measured."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.errors import MeasureError, MissingExtraError
from aegis.evaluation import gold, models
from aegis.evaluation.coded_rows import CodedRows
from aegis.evaluation.gold import Candidate, gold_standard, try_shortlist
from aegis.evaluation.long_work import ResultCache
from aegis.evaluation.models import MODELS, Quality, try_model
from aegis.evaluation.splits import SplitPlan
from aegis.masking.configuration import Configuration

pytest.importorskip("sklearn")

FAST = ("naive-bayes",)
PLAN = SplitPlan(splits=2)


def rows(n: int = 240, seed: int = 0) -> CodedRows:
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n)
    return CodedRows(
        label_domain=Domain.of(Kind.TEXT, ["no", "yes"]),
        label=label,
        domains={"a": Domain.of(Kind.INTEGER, range(10)), "b": Domain.of(Kind.INTEGER, range(10))},
        codes={"a": np.where(rng.random(n) < 0.9, label * 5 + rng.integers(0, 5, n), 4), "b": rng.integers(0, 10, n)},
    )


CONFIGURATIONS = [
    Configuration.of("whole", {}),
    Configuration.of("coarse", {"a": {"bucketize": {"width": 5}}}),
    Configuration.of("blank", {"a": "suppress"}),
    Configuration.of("nothing", {"a": "suppress", "b": "suppress"}),
]


def run(**options: Any) -> gold.GoldStandard:
    return gold_standard(rows(), CONFIGURATIONS, label="y", **{"models": FAST, "plan": PLAN, **options})


def test_masking_what_matters_costs_accuracy() -> None:
    found = run()
    by_name = {score.configuration: score for score in found.scores}
    assert by_name["whole"].accuracy > 0.85
    assert by_name["coarse"].accuracy > 0.85
    assert by_name["blank"].accuracy < 0.65
    assert by_name["nothing"].auc == 0.5
    assert found.best.configuration in ("whole", "coarse")
    assert (found.training_rows, found.test_rows) == (180, 60)
    for score in found.scores:
        assert score.interval[0] <= score.accuracy <= score.interval[1]
        assert set(score.accuracy_by_model) == set(FAST)
    assert found.cpu_seconds == pytest.approx(sum(score.cpu_seconds for score in found.scores))


def test_the_interval_of_an_accuracy_is_one_of_shares() -> None:
    def found(splits: int) -> list[gold.GoldScore]:
        plans = [SplitPlan(splits=splits, seed=seed) for seed in range(6)]
        asked: dict[str, Any] = {"label": "y", "models": FAST}
        return [score for plan in plans for score in gold_standard(rows(40), CONFIGURATIONS, plan=plan, **asked).scores]

    for score in found(2):
        assert 0.0 <= score.interval[0] <= score.accuracy <= score.interval[1] <= 1.0
    assert any(score.interval == (0.0, 1.0) for score in found(2)), "two splits of few rows would go beyond"
    assert {score.interval for score in found(1)} == {(-math.inf, math.inf)}, "one split says nothing of others"


def test_a_model_named_twice_counts_once() -> None:
    once, twice = run(models=("naive-bayes", "sgd")), run(models=("naive-bayes", "sgd", "naive-bayes"))
    assert twice.models == ("naive-bayes", "sgd")
    np.testing.assert_array_equal(once.accuracies, twice.accuracies)


def test_nothing_is_trained_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "results.jsonl"
    with ResultCache(path) as cache:
        first = run(cache=cache)
    monkeypatch.setattr(gold, "try_model", lambda *a, **k: pytest.fail("trained again"))
    seen: list[Any] = []
    assert run(cache=ResultCache(path), progress=lambda *a: seen.append(a)) == first
    assert seen == []


def test_an_interrupted_run_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "results.jsonl"
    whole = run()
    calls: list[int] = []

    def breaks(*given: Any, **named: Any) -> Quality:
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return try_model(*given, **named)

    monkeypatch.setattr(gold, "try_model", breaks)
    with pytest.raises(KeyboardInterrupt), ResultCache(path) as cache:
        run(cache=cache)
    path.write_text(path.read_text() + '{"key": "cut off', encoding="utf-8")

    def counts(*given: Any, **named: Any) -> Quality:
        calls.append(2)
        return try_model(*given, **named)

    monkeypatch.setattr(gold, "try_model", counts)
    with ResultCache(path) as cache:
        assert len(cache) == 3
        resumed = run(cache=cache)
    assert calls.count(2) == 8 - 3
    assert [s.accuracy for s in resumed.scores] == [s.accuracy for s in whole.scores]
    assert len(ResultCache(path)) == 8
    assert sum(1 for line in path.read_text().splitlines() if line.endswith("}") and json.loads(line)) == 8


def test_results_of_other_rows_plans_or_models_are_not_reused() -> None:
    cache = ResultCache()
    run(cache=cache)
    known = len(cache)
    for options in ({"plan": SplitPlan(splits=2, seed=1)}, {"plan": SplitPlan(splits=2, most_training_rows=50)}):
        run(cache=cache, **options)
    gold_standard(rows(seed=1), CONFIGURATIONS, label="y", models=FAST, plan=PLAN, cache=cache)
    assert len(cache) == 4 * known
    run(cache=cache, plan=SplitPlan(splits=3))
    assert len(cache) == 4 * known + len(CONFIGURATIONS)  # the first two splits were known


def test_two_workers_find_what_one_finds() -> None:
    seen: list[tuple[int, int, str]] = []
    alone, together = run(), run(jobs=2, progress=lambda *a: seen.append(a))
    assert [s.accuracy for s in together.scores] == [s.accuracy for s in alone.scores]
    assert [done for done, _, _ in seen] == list(range(1, 9))


@pytest.mark.parametrize("name", MODELS)
def test_every_model_learns_what_is_there(name: str) -> None:
    rng = np.random.default_rng(0)
    label = rng.integers(0, 3, 400)
    X = np.column_stack([label + rng.normal(0, 0.2, 400), rng.normal(0, 1, 400), (label == 1) * 1.0])
    training, testing = SplitPlan().split(label, 0)
    quality = try_model(name, X, label, training=training, testing=testing, seed=0)
    assert quality.accuracy > 0.85
    assert quality.auc > 0.9


def test_without_features_the_commonest_label_is_the_answer() -> None:
    label = np.array([0] * 30 + [1] * 10)
    everything = np.arange(40)
    found = try_model("sgd", np.empty((40, 0)), label, training=everything, testing=everything, seed=0)
    assert found == Quality(accuracy=0.75, auc=0.5, balanced_accuracy=0.5)


def test_balanced_accuracy_still_decides_where_one_label_is_rare() -> None:
    rng = np.random.default_rng(0)
    label = (np.arange(4_000) % 20 == 0).astype(np.int64)
    telling, silent = (label * 1.0 + rng.normal(0, 1, 4_000))[:, None], rng.normal(0, 1, (4_000, 1))
    training, testing = SplitPlan().split(label, 0)

    def tried(X: Any, name: str = "logistic-regression") -> Quality:
        return try_model(name, X, label, training=training, testing=testing, seed=0)

    # A standard normal and the same moved by one: halfway between them 69 % of each are on their own side.
    assert tried(telling).balanced_accuracy == pytest.approx(0.69, abs=0.05)
    assert tried(silent).balanced_accuracy == pytest.approx(0.5, abs=0.06)
    assert tried(telling).accuracy == pytest.approx(tried(silent).accuracy, abs=0.005)
    # Without chances there is nothing to weigh: it answers the common label as ever.
    assert tried(telling, "linear-svm").balanced_accuracy == pytest.approx(0.5, abs=0.02)


def test_results_without_every_quality_are_worked_out_again(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text('{"key": "old", "accuracy": 0.5, "auc": 0.5, "cpu_seconds": 1.0}\n', encoding="utf-8")
    path.chmod(0o644)
    with ResultCache(path) as cache:
        assert cache.holds("old", "accuracy", "auc")
        assert not cache.holds("old", "accuracy", "balanced_accuracy")
        cache.add("new", accuracy=0.5, balanced_accuracy=float("nan"))
        assert not cache.holds("new", "accuracy", "balanced_accuracy")
        assert not cache.holds("never", "accuracy")
    assert len(ResultCache(path)) == 2
    assert path.stat().st_mode & 0o777 == 0o600  # results are about a table that has not been released


def test_unknown_models_and_a_missing_library_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MeasureError, match="no model called 'oracle'"):
        run(models=("oracle",))
    import builtins

    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.startswith("sklearn"):
            raise ImportError
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match="evaluate"):
        models.check_models(FAST)


def test_trying_puts_the_shortlist_in_order_and_leaves_the_rest() -> None:
    # Counts that are wrong about the first two: the models turn them round.
    coded = rows()
    candidates = [Candidate(rows=coded, configuration=configuration) for configuration in CONFIGURATIONS]
    found = try_shortlist(candidates, [1.0, 3.0, 4.0, 2.0], label="y", shortlist=2, models=FAST, plan=PLAN)
    assert [score.configuration for score in found.shortlist] == ["coarse", "blank"]
    assert found.best.configuration == "coarse"
    assert np.argsort(-found.scores).tolist() == [1, 2, 3, 0]
    assert found.cpu_seconds > 0
    with pytest.raises(MeasureError, match="shortlist"):
        try_shortlist(candidates, [1.0], label="y")


@pytest.mark.parametrize("noise", [0.01, 0.05, 0.2])
def test_reliability_is_the_share_found_again_on_other_splits(noise: float) -> None:
    rng = np.random.default_rng(0)
    true = rng.normal(0, 0.05, (400, 1))
    splits = true + rng.normal(0, 0.3, (1, 8)) + rng.normal(0, noise, (400, 8))
    again = np.corrcoef(splits[:, :4].mean(axis=1), splits[:, 4:].mean(axis=1))[0, 1]
    assert gold.reliability(splits[:, :4]) == pytest.approx(again, abs=0.1)


@pytest.mark.parametrize("label", [[0, 1, 0, 1, 0, 1], [0, 1], [0]])
def test_too_few_rows_to_split_are_said_so(label: list[int]) -> None:
    plan = SplitPlan(splits=8, test_share=0.25)
    with pytest.raises(MeasureError, match=f"{len(label)} rows are too few to train models"):
        [plan.split(np.array(label), number) for number in range(50)]
