"""Ours: six models on the original and on what the product publishes, columns prepared as one would, at every k."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from typing import Any

from aegis.evaluation.anonymizer_comparison import compare_tables
from aegis.evaluation.comparison_result import Comparison
from aegis.evaluation.long_work import ResultCache, available_cores
from aegis.evaluation.model_table import ModelTable
from aegis.evaluation.splits import SplitPlan
from aegis_papers.mo_obam_data import Table
from aegis_papers.mo_obam_paper import MODELS
from aegis_papers.setting import Setting

SHOWN = {ours: paper for paper, ours in MODELS.items()}
"""The paper's short name of each of our models."""


def scores(setting: Setting, table: Table) -> dict[str, Any]:
    """What models reach on every table and k, and which differences the paper's test finds; a JSON value."""
    source = table.source
    setting.progress(0, None, f"{source.name}: training models over {source.splits} splits")
    sizes = {"splits": source.splits, "rows": source.most_rows, "balance": source.balance, "rounds": source.rounds}
    trained: dict[str, Any] = setting.part(
        f"{source.name} models", partial(_train, table), **sizes, ks=table.ks, l=source.high_l
    )
    return trained


def of(trained: dict[str, Any], k: int) -> dict[str, Any]:
    """The part of `scores` about one k."""
    of_k: dict[str, Any] = trained["by_k"][str(k)]
    return of_k


def _train(table: Table) -> dict[str, Any]:
    methods = [method for method in table.methods if method not in ("free", "plain", "mdav", "diverse")]
    published = {
        (method, k): table.published(f"{method} {k}", table.made(method, k)) for k in table.ks for method in methods
    }
    # One pool of workers for everything, and tables that are equal share their results; then each k is a family of
    # tests of its own, as in the paper.
    cache, before = ResultCache(), _workers_seconds()
    _compare(table, list(published.values()), cache, jobs=1 if table.quick else available_cores())
    by_k = {}
    for k in table.ks:
        tables = [replace(published[method, k], name=method) for method in methods]
        by_k[str(k)] = _told(compared := _compare(table, tables, cache, jobs=1))
    return {
        "by_k": by_k,
        "splits": compared.splits,
        "training_rows": compared.training_rows,
        "test_rows": compared.test_rows,
        "tables": len({tables.fingerprint(table.label) for tables in published.values()}),
        "worker_cpu_seconds": _workers_seconds() - before,
    }


def _compare(table: Table, published: list[ModelTable], cache: ResultCache, *, jobs: int) -> Comparison:
    source = table.source
    return compare_tables(
        [table.original, *published],
        table.label,
        label_name=source.label,
        label_domain=table.label_domain,
        quasi=source.quasi,
        positive=table.positive,
        balance=source.balance,
        models=("decision-tree", "naive-bayes") if table.quick else tuple(MODELS.values()),
        plan=SplitPlan(
            splits=source.splits,
            test_share=0.25,
            most_training_rows=source.most_rows,
            most_test_rows=source.most_rows,
            seed=table.seed,
        ),
        cache=cache,
        jobs=jobs,
    )


def _workers_seconds() -> float:
    """CPU time of the worker processes that have ended, which this process does not count as its own."""
    times = os.times()
    return times.children_user + times.children_system


def _told(comparison: Comparison) -> dict[str, Any]:
    return {
        "f1_by_split": {
            t: {model: list(comparison.score(t, model).f1_by_split) for model in comparison.models}
            for t in comparison.tables
        },
        "f1": {t: {model: comparison.score(t, model).f1 for model in comparison.models} for t in comparison.tables},
        "against_original": [
            {
                "table": difference.first,
                "model": difference.model,
                "difference": difference.f1_difference,
                "interval": list(difference.interval),
                "p": difference.p_value,
                "worse": difference.p_value < 0.05 and difference.f1_difference < 0,
                "worse_corrected": difference.significant and difference.clear and difference.f1_difference < 0,
            }
            for difference in comparison.against_original
        ],
        "between": [
            {
                "first": difference.first,
                "second": difference.second,
                "model": difference.model,
                "difference": difference.f1_difference,
                "p": difference.p_value,
                "corrected": difference.significant and difference.clear,
            }
            for difference in comparison.between
        ],
        "importance": {
            difference.column: dict(difference.by_table)
            for difference in comparison.importances
            if difference.quasi_identifying
        },
    }
