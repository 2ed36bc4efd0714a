"""Anonymizers compared by models: resumable, the same in parallel, honest about what differs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.errors import LabelError, MeasureError, OutputError
from aegis.evaluation import anonymizer_comparison
from aegis.evaluation.anonymizer_comparison import compare_tables
from aegis.evaluation.comparison_result import ORIGINAL, Comparison
from aegis.evaluation.long_work import ResultCache
from aegis.evaluation.model_table import ModelTable
from aegis.evaluation.splits import SplitPlan
from aegis.learners.learner import LEARNERS

pytest.importorskip("sklearn")

LABELS = Domain.of(Kind.TEXT, ["no", "yes"])
FAST = ("decision-tree", "naive-bayes")


def tables(n: int = 200, *, rare: float = 0.5) -> tuple[list[ModelTable], np.ndarray[Any, np.dtype[np.int64]]]:
    """The original, one that equals it, and one whose telling column was blotted out."""
    rng = np.random.default_rng(0)
    label = (rng.random(n) < rare).astype(np.int64)
    digits = Domain.of(Kind.INTEGER, range(10))
    codes = {"age": np.where(rng.random(n) < 0.85, label * 5, 0) + rng.integers(0, 5, n), "zip": rng.integers(0, 10, n)}
    domains = {"age": digits, "zip": digits}
    return [
        ModelTable(name=ORIGINAL, domains=domains, codes=codes),
        ModelTable(name="same", domains=domains, codes=codes),
        ModelTable(name="blot", domains=domains, codes={**codes, "age": np.zeros(n, dtype=np.int64)}),
    ], label


def run(**options: Any) -> Comparison:
    made, label = tables(rare=options.pop("rare", 0.5))
    given: dict[str, Any] = {"models": FAST, "plan": SplitPlan(splits=8), "positive": 1, **options}
    return compare_tables(made, label, label_name="ill", label_domain=LABELS, quasi=["age"], **given)


def test_what_is_blotted_out_costs_and_what_is_equal_does_not() -> None:
    found = run()
    for model in FAST:
        assert found.score("same", model).f1 == found.score(ORIGINAL, model).f1
        same, blot = (
            next(one for one in found.against_original if (one.first, one.model) == (name, model))
            for name in ("same", "blot")
        )
        assert (same.f1_difference, same.p_value, same.significant) == (0.0, 1.0, False)
        assert blot.f1_difference < -0.1
        assert blot.significant
        assert blot.clear
    age = next(one for one in found.importances if one.column == "age")
    assert age.quasi_identifying
    assert age.change("blot") == pytest.approx(-age.by_table[ORIGINAL])
    assert age.by_table[ORIGINAL] > 0.5
    for table in found.tables:
        assert sum(one.by_table[table] for one in found.importances) == pytest.approx(1.0, abs=1e-6)


def test_the_tests_are_scipys_with_holm_over_each_family() -> None:
    found = run()
    assert len(found.against_original) == 2 * len(FAST)
    assert len(found.between) == len(FAST)
    for one in (*found.against_original, *found.between):
        first, second = (found.score(name, one.model).f1_by_split for name in (one.first, one.second))
        theirs = mannwhitneyu(first, second, alternative="two-sided")
        assert (one.u, one.p_value) == pytest.approx((theirs.statistic, theirs.pvalue))
    raw = sorted(one.p_value for one in found.between)
    corrected = sorted(one.p_adjusted for one in found.between)
    assert corrected[0] == pytest.approx(min(1.0, raw[0] * len(raw)))


def test_the_learners_of_the_race_see_it_too_and_need_no_other_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    found = run(models=tuple(LEARNERS), plan=SplitPlan(splits=4))
    assert found.models == ("boosting", "forest", "line")
    assert found.importances == ()
    for model in found.models:
        assert found.score("same", model).f1 == found.score(ORIGINAL, model).f1
        assert found.score("blot", model).f1 < found.score(ORIGINAL, model).f1 - 0.1


def test_the_learners_answer_for_the_share_of_a_rare_label() -> None:
    plain, balanced = (
        run(models=("line",), rare=0.1, balance=balance, plan=SplitPlan(splits=4)).score("blot", "line").f1
        for balance in ("none", "weights")
    )
    assert plain == 0.0  # nobody is said to be ill where nothing tells
    assert balanced > 0.0


def test_a_second_run_trains_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ResultCache(tmp_path / "scores.jsonl") as cache:
        first = run(cache=cache)
    assert first.trained == 3 * 8 * 2 - 8 * 2  # the table that equals the original shares its results
    monkeypatch.setattr(anonymizer_comparison, "try_classifier", None)
    with ResultCache(tmp_path / "scores.jsonl") as cache:
        second = run(cache=cache)
    assert second.trained == 0
    expected, found = first.to_json(), second.to_json()
    assert expected.pop("trained") != found.pop("trained")
    assert found == expected


def test_an_interrupted_run_goes_on_where_it_was(tmp_path: Path) -> None:
    def stop(done: int, total: int, what: str) -> None:
        if done == 12:  # 8 of the 24 are those of the table that equals the original
            raise KeyboardInterrupt

    path = tmp_path / "scores.jsonl"
    with ResultCache(path) as cache, pytest.raises(KeyboardInterrupt):
        run(cache=cache, progress=stop)
    kept = len(path.read_text(encoding="utf-8").splitlines())
    assert kept == 4 * len(FAST)
    path.write_text(path.read_text(encoding="utf-8") + '{"key": "cut o', encoding="utf-8")
    with ResultCache(path) as cache:
        again = run(cache=cache)
    whole = run()
    assert 0 < again.trained < whole.trained
    assert [one.f1_by_split for one in again.scores] == [one.f1_by_split for one in whole.scores]


def test_other_rows_other_splits_and_other_weights_are_other_results(tmp_path: Path) -> None:
    with ResultCache(tmp_path / "scores.jsonl") as cache:
        run(cache=cache)
        assert run(cache=cache, rare=0.4).trained > 0
        assert run(cache=cache, plan=SplitPlan(splits=8, seed=1)).trained > 0
        assert run(cache=cache, balance="weights").trained > 0
        assert run(cache=cache, positive=0).trained > 0
        assert run(cache=cache, plan=SplitPlan(splits=4)).trained == 0


def test_processes_give_the_same_answer() -> None:
    plan = SplitPlan(splits=2)
    alone, together = (run(plan=plan, models=("naive-bayes",), jobs=jobs) for jobs in (1, 2))
    assert [one.f1_by_split for one in alone.scores] == [one.f1_by_split for one in together.scores]


def test_matching_keeps_the_rare_and_as_many_others() -> None:
    label = tables(rare=0.15)[1]
    found = run(rare=0.15, balance="matching")
    assert found.rows == 2 * label.sum()
    assert found.rare_share == pytest.approx(label.mean())


def test_a_table_that_betrays_the_label_is_found_out_on_original_records() -> None:
    """Published values that follow the label make perfect scores, unless the records tested on are the originals."""
    made, label = tables()
    original = made[0]
    betraying = {**original.codes, "age": 5 * label}
    ask: dict[str, Any] = {
        "label_name": "ill", "label_domain": LABELS, "quasi": ["age"], "positive": 1, "models": ("decision-tree",),
        "plan": SplitPlan(splits=4),
    }  # fmt: skip
    released = ModelTable(name="leak", domains=original.domains, codes=betraying)
    honest = ModelTable(name="leak", domains=original.domains, codes=betraying, tested={"age": original.codes["age"]})
    fooled, sober = (compare_tables([original, table], label, **ask) for table in (released, honest))
    assert fooled.score("leak", "decision-tree").f1 == 1.0
    assert fooled.tested_on == "released"
    assert sober.score("leak", "decision-tree").f1 < 0.95
    assert sober.tested_on == "original"
    assert next(iter(fooled.against_original)).f1_difference > 0
    rows = np.array([3, 1])
    assert honest.take(rows).seen_by(np.array([0]))["age"].tolist() == [original.codes["age"][3], 5 * label[1]]


def test_the_json_says_everything_and_is_json() -> None:
    content = json.loads(json.dumps(run().to_json(), allow_nan=False))
    assert content["tables"] == [ORIGINAL, "same", "blot"]
    assert content["test"]["correction"].startswith("Holm")
    assert len(content["scores"]) == 3 * len(FAST)
    assert all(len(one["f1_by_split"]) == 8 for one in content["scores"])
    assert {"f1_difference", "interval", "u", "p_value", "p_adjusted", "significant", "clear"} <= set(
        content["against_original"][0]
    )
    assert set(content["feature_importance"][0]["by_table"]) == set(content["tables"])


def test_what_makes_no_sense_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MeasureError, match="there is no model called 'oracle'"):
        run(models=("oracle",))
    with pytest.raises(MeasureError, match="two splits"):
        run(plan=SplitPlan(splits=1))
    made, label = tables()
    ask: dict[str, Any] = {"label_name": "ill", "label_domain": LABELS, "quasi": ["age"], "positive": 1}
    with pytest.raises(LabelError, match="single value"):
        compare_tables(made, np.zeros_like(label), **ask)
    few = np.zeros_like(label)
    few[:3] = 1
    with pytest.raises(LabelError, match="only 3 records"):
        compare_tables(made, few, **ask)
    with pytest.raises(MeasureError, match="original first"):
        compare_tables(made[1:], label, **ask)
    with pytest.raises(OutputError, match="cannot be read"):
        ResultCache(tmp_path)
