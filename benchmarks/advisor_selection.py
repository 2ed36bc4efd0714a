"""Which selector picks best: rank correlation and regret against trained models, data set by data set.

Gold is the mean test accuracy of logistic regression, a light random forest and light boosted trees over stratified
splits (4, or 8 for a small table), and beside it their mean area under the ROC curve and their mean balanced accuracy:
where nine records in ten share a label every model answers that label, accuracy is the same for all configurations and
only the others tell them apart.

What can be reached is measured too. ``split_half`` is the rank correlation to expect between this gold and another from
as many other splits; the square root of it is the most that anything can correlate with it. ``models`` is how well the
three models agree with one another. On small tables all configurations are also tried by the cheap models that verify a
shortlist: rows, not counts.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from _result import write
from _selection_data import CACHE, CASES, Case, configurations, counted
from aegis.counts.collect_pairs import count_pairs
from aegis.counts.summary import masked_counts
from aegis.evaluation.coded_rows import CodedRows, read_rows
from aegis.evaluation.evaluated import Agreement, agreement, random_choice
from aegis.evaluation.gold import (
    CHEAP_MODELS,
    SECOND_OPINION,
    Candidate,
    GoldScore,
    GoldStandard,
    gold_standard,
    reliability,
    split_half,
    try_shortlist,
)
from aegis.evaluation.long_work import ResultCache
from aegis.evaluation.models import LIGHT_MODELS
from aegis.evaluation.selectors import Selection, select
from aegis.evaluation.splits import SplitPlan
from aegis.masking.configuration import Configuration
from aegis.measures.pair_prediction import PROBE_WEIGHT
from aegis.result import plain

COUNT, SHORTLIST, SHORTLIST_BY = 40, 8, "pair-prediction"
SMALL_TABLE = 2_000
TELLS_APART = 0.01
"""Where the gold accuracies of best and worst differ by less, accuracy has nothing to say about the order."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", default="0", help="one family of configurations for each, such as 0,1,2")
    parser.add_argument("--strength", default="heavy")
    parser.add_argument("--cases", default=",".join(case.name for case in CASES))
    parser.add_argument("--more", default="", help="the end of the result's name, for families beside the usual ones")
    parser.add_argument("--only-counts", action="store_true", help="compare what needs no rows; verify nothing")
    arguments = parser.parse_args()
    seeds = [int(seed) for seed in arguments.seeds.split(",")]
    found = [
        one(case, arguments.strength, seed, verifying=not arguments.only_counts)
        for case in CASES
        if case.name in arguments.cases.split(",")
        for seed in seeds[: case.families]
    ]
    payload = {
        "configurations": COUNT,
        "strength": arguments.strength,
        "seeds": seeds,
        "models": list(LIGHT_MODELS),
        "most_rows_trained_on": {case.name: case.most_rows for case in CASES},
        "shortlist": {"size": SHORTLIST, "by": [SHORTLIST_BY, SECOND_OPINION], "models": list(CHEAP_MODELS)},
        "means": means([data for data in found if not data["aside"]]),
        "means_of_tables_kept_aside": means([data for data in found if data["aside"]]),
        "datasets": found,
    }
    for group in ("means", "means_of_tables_kept_aside"):
        print(group)
        for line in table(payload[group]):
            print(line)
    ends = ["" if arguments.strength == "heavy" else arguments.strength, arguments.more]
    write("_".join(["advisor_selection", *filter(None, ends)]), payload)


def one(case: Case, strength: str, seed: int, *, verifying: bool) -> dict[str, Any]:
    """All selectors on one family of configurations of one data set."""
    started = time.process_time()
    opened, known = counted(case)
    counting_seconds = time.process_time() - started
    rows = read_rows(opened, known)
    chosen = configurations(known, count=COUNT, strength=strength, seed=seed)
    plan = SplitPlan(splits=case.splits, most_training_rows=case.most_rows, most_test_rows=case.most_rows)
    with ResultCache(CACHE) as cache:
        gold = gold_standard(rows, chosen, label=case.label, models=LIGHT_MODELS, plan=plan, cache=cache, progress=say)
        summary = masked_counts(
            name=case.name,
            label=case.label,
            label_histogram=known.label_histogram,
            joints=known.joints,
            configurations=chosen,
        )
        started = time.process_time()
        pairs = count_pairs(opened, known)
        pairs_seconds = time.process_time() - started
        selections = select(summary, pairs=pairs, seed=seed)
        scored = [(s.selector, s.scores, s.cpu_seconds) for s in selections] + without_the_probe(selections)
        tried = with_rows(rows, case, chosen, selections, cache) if verifying else []
        # From the rows to the choice: reading and counting belong to what a choice costs.
        tried = [(name, scores, cpu + counting_seconds + pairs_seconds) for name, scores, cpu in tried]
    scored += tried
    golds = {"accuracy": gold.accuracies, "auc": gold.aucs, "balanced_accuracy": gold.balanced_accuracies}
    accuracies = gold.accuracies
    print(f"{case.name}, seed {seed}: gold from {accuracies.min():.3f} to {accuracies.max():.3f}", flush=True)
    return {
        "name": case.name,
        "seed": seed,
        "aside": case.aside,
        "rows": known.rows,
        "attributes": len(known.joints),
        "gold": {
            **{key: described(gold.scores, key) for key in golds},
            "models": agreement_of_models(gold),
            "golds_with_one_another": with_one_another(golds),
            "splits": gold.splits,
            "training_rows": gold.training_rows,
            "test_rows": gold.test_rows,
            "cpu_seconds": round(gold.cpu_seconds, 1),
        },
        "counting_cpu_seconds": round(counting_seconds, 3),
        "pairs": {
            "sample_rows": pairs.sample_rows,
            "cells": pairs.cells,
            "cpu_seconds": round(pairs_seconds, 3),
        },
        "verifying": {
            name: {"cpu_seconds": round(cpu, 2), "share_of_exhaustive_cpu": round(cpu / gold.cpu_seconds, 4)}
            for name, _, cpu in tried
        },
        "selectors": [
            shown({key: agreement(name, scores, values, cpu_seconds=cpu) for key, values in golds.items()})
            for name, scores, cpu in scored
        ]
        + [shown({key: random_choice(values) for key, values in golds.items()})],
    }


def without_the_probe(selections: list[Selection]) -> list[tuple[str, NDArray[np.float64], float]]:
    """The two predictions without their half of the probe, to see what it is good for: names, scores, CPU seconds."""
    by_name = {s.selector: s for s in selections}
    probe = by_name[SECOND_OPINION]
    return [
        (f"{name} without the probe", by_name[name].scores - PROBE_WEIGHT * probe.scores, by_name[name].cpu_seconds)
        for name in (SHORTLIST_BY, "balanced-prediction")
    ]


def with_rows(
    rows: CodedRows,
    case: Case,
    chosen: list[Configuration],
    selections: list[Selection],
    cache: ResultCache,
) -> list[tuple[str, NDArray[np.float64], float]]:
    """The shortlist tried by cheap models, and on a small table all configurations: names, scores, CPU seconds."""
    first = next(s for s in selections if s.selector == SHORTLIST_BY)
    second = next(s for s in selections if s.selector == SECOND_OPINION)
    candidates = [Candidate(rows=rows, configuration=configuration) for configuration in chosen]
    found = []
    for name, size in (("verify", SHORTLIST), *([("verify-all", len(chosen))] if rows.rows < SMALL_TABLE else [])):
        tried = try_shortlist(
            candidates,
            first.scores,
            second=second.scores,
            label=case.label,
            shortlist=size,
            cache=cache,
            progress=say,
        )
        spent = first.cpu_seconds + second.cpu_seconds + tried.cpu_seconds
        found.append((f"{name}-{size}" if name == "verify" else name, tried.scores, spent))
    return found


def described(scores: Sequence[GoldScore], name: str) -> dict[str, float]:
    """From the worst to the best configuration, and how much of the order other splits would show again."""
    values = np.array([getattr(score, name) for score in scores])
    by_split = np.array([getattr(score, f"{name}_by_split") for score in scores])
    return {
        "worst": round(float(values.min()), 4),
        "best": round(float(values.max()), 4),
        "mean": round(float(values.mean()), 4),
        "reliability": round(reliability(by_split), 3),
        "split_half": round(split_half(by_split), 3),
    }


def with_one_another(golds: dict[str, NDArray[np.float64]]) -> dict[str, float]:
    """How alike the golds order the configurations: what follows one need not follow the other."""
    return {
        f"{one} and {other}": round(agreement("", golds[one], golds[other]).spearman, 3)
        for one, other in combinations(golds, 2)
    }


def agreement_of_models(gold: GoldStandard) -> dict[str, float]:
    """The rank correlation of each model's accuracies with the mean of the others."""
    accuracies = np.array([[score.accuracy_by_model[model] for model in gold.models] for score in gold.scores])
    return {
        model: round(agreement(model, accuracies[:, i], np.delete(accuracies, i, axis=1).mean(axis=1)).spearman, 3)
        for i, model in enumerate(gold.models)
    }


def shown(by_gold: dict[str, Agreement]) -> dict[str, Any]:
    rounded = {k: v if isinstance(v, str) else round(v, 4) for k, v in plain(by_gold["accuracy"]).items()}
    for key in ("auc", "balanced_accuracy"):
        rounded |= {f"{key}_spearman": round(by_gold[key].spearman, 4), f"{key}_regret": round(by_gold[key].regret, 4)}
    return rounded


def means(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Over all data sets and seeds, and for accuracy also over those where it tells configurations apart."""
    collected: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for data in found:
        tells = data["gold"]["accuracy"]["best"] - data["gold"]["accuracy"]["worst"] >= TELLS_APART
        for each in data["selectors"]:
            into = collected[each["name"]]
            for key, value in each.items():
                if key != "name":
                    into[key].append(value)
            if tells:
                into["told_apart_spearman"].append(each["spearman"])
                into["told_apart_regret"].append(each["regret"])
    rows = []
    for name, into in collected.items():
        row = {"name": name, **{key: round(float(np.mean(values)), 4) for key, values in into.items()}}
        for key in ("told_apart_spearman", "auc_spearman", "balanced_accuracy_spearman"):
            row[f"lowest_{key}"] = round(min(into[key], default=0.0), 4)
        rows.append(row)
    return sorted(rows, key=lambda row: -(row.get("told_apart_spearman", 0.0) + row["auc_spearman"]))


def table(rows: list[dict[str, Any]]) -> list[str]:
    return [
        f"{row['name']:40s} accuracy ρ {row.get('told_apart_spearman', 0):6.3f} "
        f"(lowest {row['lowest_told_apart_spearman']:6.3f}) regret {100 * row.get('told_apart_regret', 0):5.2f}   "
        f"AUC ρ {row['auc_spearman']:6.3f} (lowest {row['lowest_auc_spearman']:6.3f})   "
        f"balanced ρ {row['balanced_accuracy_spearman']:6.3f}   {row['cpu_seconds']:.3f} s"
        for row in rows
    ]


def say(done: int, total: int | None, name: str) -> None:
    if done % 20 == 0:
        print(f"  {done}/{total}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
