"""The race where the label is a number: how much R² its choice loses against the best of trained models.

Gold is the mean R² of scikit-learn's ridge regression, forest and boosted trees on scaled numbers and indicators, over
two splits of at most 6,000 training rows. Twenty heavy configurations of each table are raced from the engine's rows.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import Ridge
from threadpoolctl import threadpool_limits

from _result import dataset, write
from _selection_data import CASES
from aegis.data.engine import open_dataset
from aegis.data.schema import Roles
from aegis.evaluation.coded_rows import feature_matrix
from aegis.learners.candidate import MaskedCandidate, MaskTables
from aegis.learners.race import race
from aegis.learners.sample import Sample, draw_sample
from aegis.masking.configuration import Configuration
from aegis.masking.generator import generate
from aegis.masking.transition import Partition

LABELS = {"air-quality": "CO", "hotel-reservations": "avg_price_per_room", "income": "hours-per-week"}
COUNT, SPLITS, MOST_TRAINING, MOST_TESTING = 20, 2, 6_000, 4_000
CACHE = Path(".bench/gold_numbers.jsonl")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tables", default=",".join(LABELS))
    tables = parser.parse_args().tables.split(",")
    found = [raced(name, label) for name, label in LABELS.items() if name in tables]
    write(
        "race_regression",
        {
            "configurations": COUNT,
            "splits": SPLITS,
            "largest_r2_lost": max(each["r2_lost"] for each in found),
            "tables": found,
        },
    )


def raced(name: str, label: str) -> dict[str, Any]:
    case = next(case for case in CASES if case.name == name)
    roles = Roles(label=label, identifying=case.identifying)
    opened = open_dataset(dataset(case.file), roles=roles, missing=case.missing)
    sample = draw_sample(opened, label=label)
    chosen = generate(dict(sample.histograms), count=COUNT, strength="heavy", rng=np.random.default_rng(0))
    gold = np.array([gold_of(name, sample, each) for each in chosen])
    truth = dict(zip([each.name for each in chosen], gold.tolist(), strict=True))
    started = time.process_time()
    lookups = MaskTables(sample)
    result = race([MaskedCandidate(each, lookups) for each in chosen], lookups)
    spent = time.process_time() - started
    best = max(truth.values())
    figures = {
        "table": name,
        "label": label,
        "goal": result.goal,
        "gold_worst": round(min(truth.values()), 4),
        "gold_best": round(best, 4),
        "r2_lost": round(best - truth[result.best.name], 4),
        "spearman": round(float(spearmanr(-np.arange(COUNT), [truth[e.name] for e in result.ranking]).statistic), 4),
        "group_size": len(result.best_group),
        "group_holds_best": max(truth[each.name] for each in result.best_group) == best,
        "cpu_seconds": round(spent, 2),
    }
    print(figures, flush=True)
    return figures


def gold_of(table: str, sample: Sample, configuration: Configuration) -> float:
    """The mean R² of the three models over the splits; what is known already is not trained again."""
    key = f"{table}/{configuration.id}/{SPLITS}-{MOST_TRAINING}-{MOST_TESTING}"
    if CACHE.exists():
        for line in CACHE.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            if entry["key"] == key:
                return float(entry["r2"])
    lookups = MaskTables(sample)
    domains, codes = {}, {}
    for name, own in sample.codes.items():
        change = lookups.change(name, configuration[name])
        assert isinstance(change, Partition), "generated masks do not draw"
        domains[name], codes[name] = change.target, change.codes[own]
    numbers = sample.target().numbers
    reached = []
    for split in range(SPLITS):
        order = np.random.default_rng(split).permutation(sample.rows)
        testing = order[: min(MOST_TESTING, sample.rows // 3)]
        training = order[len(testing) :][:MOST_TRAINING]
        X = feature_matrix(domains, codes, training=training)
        for model in (
            Ridge(),
            RandomForestRegressor(60, min_samples_leaf=5, max_features=1 / 3, random_state=split),
            HistGradientBoostingRegressor(max_iter=60, max_leaf_nodes=16, early_stopping=False, random_state=split),
        ):
            with threadpool_limits(limits=1):
                reached.append(model.fit(X[training], numbers[training]).score(X[testing], numbers[testing]))
    CACHE.parent.mkdir(exist_ok=True)
    with CACHE.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"key": key, "r2": float(np.mean(reached))}) + "\n")
    return float(np.mean(reached))


if __name__ == "__main__":
    main()
