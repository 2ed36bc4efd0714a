"""Do candidates of all kinds stand in the right order: the race against scikit-learn's models, by one protocol.

Masks, noise, a search, clusters, boxes, sanitized and synthetic tables and a finished one race on one scale. Gold:
scikit-learn's logistic regression, a forest and boosted trees, trained on what a consumer of each candidate would hold
and tested on the rows that the protocol says, over splits of rows that are drawn anew; none of our own learners is in
it. It has about as many rows as the last stage of the race: clusters of few rows are coarser than those of many.
``gold_error`` is the standard error of the difference of two candidates' golds, over splits and models.

Run: python benchmarks/candidate_kinds.py
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from scipy.stats import spearmanr
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import aegis
from _result import dataset, write
from aegis.counts.collect import count_table
from aegis.data.engine import open_dataset
from aegis.data.schema import Roles
from aegis.learners.candidate import Candidate, MaskTables
from aegis.learners.features import Split
from aegis.learners.race import race
from aegis.learners.schedule import parts
from aegis.library.advising.candidate_kinds import CandidateInputs, MadeCandidate, make_candidates
from aegis.library.advising.judged_candidates import JudgedTable, judged_tables
from aegis.library.advising.racing import masked_candidate, sample_of
from aegis.library.clinic import write_clinic
from aegis.library.ledgers.constraints import Constraints, judging
from aegis.library.tables.proposals import generated
from aegis.privacy.policy import Policy

Fits = np.ndarray[Any, np.dtype[np.float64]]
MADE = ("search", "clusters", "boxes", "sanitized", "synthetic")
MOST_ROWS = 12_000
REPEATS = 2
MODELS = ("logistic regression", "forest", "boosted trees")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A table, its label and roles."""

    name: str
    file: str
    label: str
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    identifying: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


CASES = (
    Case(
        name="clinic",
        file="",
        label="health",
        quasi=("age", "zip", "gender", "ward"),
        sensitive=("diagnosis",),
        identifying=("patient",),
    ),
    Case(
        name="adult",
        file="adult/adult_complete_45222.csv",
        label="income",
        quasi=("age", "sex", "race", "education", "marital-status"),
        sensitive=("relationship",),
    ),
    Case(
        name="air-quality",
        file="air_quality/updated_pollution_dataset.csv",
        label="Air Quality",
        quasi=("Temperature", "Humidity", "Population_Density"),
        sensitive=("NO2",),
    ),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", default=",".join(case.name for case in CASES))
    wanted = parser.parse_args().cases.split(",")
    warnings.simplefilter("ignore")
    tables = []
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            if case.name in wanted:
                tables.append(one(case, Path(folder)))
                print(tables[-1], flush=True)
    lowest = min(table["spearman"] for table in tables)
    write("candidate_kinds", {"k": 5, "lowest_spearman": lowest, "bar": {"spearman": 0.9}, "tables": tables})


def one(case: Case, folder: Path) -> dict[str, Any]:
    """The candidates of one table in the race's order, with what scikit-learn's models reach on each."""
    path = dataset(case.file) if case.file else clinic(folder)
    roles = Roles(
        label=case.label, quasi_identifying=case.quasi, sensitive=case.sensitive, identifying=case.identifying
    )
    opened = open_dataset(path, roles=roles, missing=case.missing)
    counted = count_table(opened, label=case.label)
    policy = Policy.from_mapping({"k": 5, "max_suppression": 0.05, "quasi_identifying": list(case.quasi)})
    sample = sample_of(opened, counted, label_bins=None, seed=0)
    tables = MaskTables(sample)
    masks = generated(counted, count=6, strength="mixed", masks=(), seed=0, hierarchies={})
    noise = [
        replace(each, name=f"noise-{number}")
        for number, each in enumerate(
            generated(
                counted, count=2, strength="mixed", masks=("add_laplace_noise", "randomize"), seed=1, hierarchies={}
            )
        )
    ]
    verdicts = judging(opened, None)([*masks, *noise])
    candidates: list[Candidate] = [
        masked_candidate(each, tables, verdicts.by_name.get(each.name), dropped=False) for each in verdicts.passed
    ]
    kinds = {candidate.name: "noise" if candidate.name.startswith("noise") else "masks" for candidate in candidates}
    finished = folder / f"{case.name}-finished.parquet"
    released = aegis.anonymize(path, method="mdav", k=25, quasi=list(case.quasi), missing=case.missing)
    pq.write_table(released.table, finished)
    others: list[JudgedTable | MadeCandidate] = [
        *judged_tables([finished], opened, sample, None),
        *make_candidates(
            MADE,
            CandidateInputs(
                constraints=Constraints(dataset=opened, policy=policy, roles=roles, hierarchies={}),
                sample=sample,
                seconds=20.0,
            ),
        ).made,
    ]
    candidates += [other.candidate for other in others]
    kinds |= {other.candidate.name: other.candidate.kind for other in others}
    started = time.process_time()
    raced = race(candidates, tables, seed=0)
    spent = time.process_time() - started
    started = time.process_time()
    by_fit = {candidate.name: reached(candidate, tables) for candidate in candidates}
    gold = {name: float(fits.mean()) for name, fits in by_fit.items()}
    best_of_all = max(gold, key=gold.__getitem__)
    rows = [
        {
            "candidate": place.name,
            "kind": kinds[place.name],
            "race": round(place.performance, 4),
            "scikit_learn": round(gold[place.name], 4),
            "by_model": dict(zip(MODELS, by_fit[place.name].mean(axis=0).round(4).tolist(), strict=True)),
            "gold_error": round(error_beside(by_fit[place.name], by_fit[best_of_all]), 4),
            "in_best_group": place.in_best_group,
        }
        for place in raced.ranking
    ]
    best = gold[best_of_all]
    return {
        "table": case.name,
        "goal": raced.goal,
        "kinds": sorted(set(kinds.values())),
        "spearman": round(
            float(spearmanr([row["race"] for row in rows], [row["scikit_learn"] for row in rows]).statistic), 4
        ),
        "regret_points": round(100 * (best - gold[raced.best.name]), 3),
        "group_holds_best": any(gold[place.name] == best for place in raced.best_group),
        "race_cpu_seconds": round(spent, 2),
        "gold_cpu_seconds": round(time.process_time() - started, 1),
        "candidates": rows,
    }


def clinic(folder: Path) -> Path:
    """The bundled made-up clinic as a file."""
    return write_clinic(folder)


def error_beside(fits: Fits, best: Fits) -> float:
    """The standard error of the mean difference from the best candidate, paired by split."""
    by_split = (fits - best).mean(axis=1)
    return float(by_split.std(ddof=1) / math.sqrt(len(by_split)))


def reached(candidate: Candidate, tables: MaskTables) -> Fits:
    """The accuracy of scikit-learn's models, a row for each split: other splits than the race's."""
    target = tables.sample.target("accuracy")
    rows = min(len(target), MOST_ROWS)
    splits = []
    for part in parts(target, rows, folds=3, repeats=REPEATS, seed=99):
        split = candidate.split(part, draw=0)
        wanted = part.testing_target if split.own_target is None else split.own_target
        X, X_test = matrix(split, 0), matrix(split, 1)
        fits = []
        for model in (
            LogisticRegression(max_iter=300),
            RandomForestClassifier(60, min_samples_leaf=10, random_state=0),
            HistGradientBoostingClassifier(
                max_iter=60, max_leaf_nodes=8, min_samples_leaf=40, l2_regularization=1.0, random_state=0
            ),
        ):
            answers = model.fit(X, split.target.labels).predict(X_test)
            fits.append(float((answers == wanted.labels).mean()))
        splits.append(fits)
    return np.array(splits)


def matrix(split: Split, part: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The columns as an analyst would hand them over: scaled numbers, and an indicator for each frequent category."""
    indicators = [
        (line[:, None] == np.arange(count)).astype(np.float64)
        for line, count in zip(split.levels(part), split.level_counts, strict=True)
    ]
    return np.hstack([split.dense(part).T, *indicators])


if __name__ == "__main__":
    main()
