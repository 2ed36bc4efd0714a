"""Local recoding on public tables: how well models do on boxes, beside greedy boxes, median Mondrian and cuts.

No suppression. Recodings are fitted on 70 % of the rows, the way to grow boxes included; models train on those rows as
released and are tested on the others, recoded alike. Every release, the raw table included, is read by the same
consumer (`ReleasedFeatures`): intervals as their two ends, sets as one over their size, and for the linear model hinges
along the numbers and what a group of equal records says of the label. Figures are the AUC of logistic regression and of
boosted trees of eight leaves (scikit-learn), means over splits with deviations, and the CPU seconds of each recoding
from counts.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

from _result import RESULTS, dataset, write
from aegis.candidates.boxes.choosing import growth_for
from aegis.candidates.boxes.growing import grow_boxes
from aegis.candidates.boxes.released_features import ReleasedFeatures
from aegis.candidates.boxes.terms import GREEDY, Growth
from aegis.candidates.search.search import search
from aegis.counts.class_table import ClassTable
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.masking.transition import Partition, transition
from aegis.privacy.policy import Policy

TRAINING = 0.7
METHODS = ("boxes", "greedy", "median", "cuts")
FIGURES = ("logistic", "boosted")
MOST_ROWS = 30_000
LEAVES, ROUNDS = 8, 200
"""Of the boosted trees: with scikit-learn's 31 leaves all tables do worse, the raw one too."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Release = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file with its quasi-identifiers; ``positive`` is the value of the label that is predicted."""

    file: str
    label: str
    positive: str
    numbers: tuple[str, ...]
    categories: tuple[str, ...]


SOURCES = {
    "adult_arx": Source(
        file="adult_arx/adult.csv",
        label="salary-class",
        positive=">50K",
        numbers=("age",),
        categories=("sex", "race", "marital-status", "education", "native-country", "workclass"),
    ),
    "german": Source(
        file="german/german_credit_labelled.csv",
        label="class",
        positive="good",
        numbers=("age",),
        categories=("personal_status", "job", "housing", "employment"),
    ),
    "air_quality": Source(
        file="air_quality/updated_pollution_dataset.csv",
        label="Air Quality",
        positive="Good",
        numbers=("Temperature", "Humidity", "Proximity_to_Industrial_Areas", "Population_Density"),
        categories=(),
    ),
    "sepsis": Source(
        file="ehr/sepsis_survival_primary_110204.csv",
        label="hospital_outcome_1alive_0dead",
        positive="0",
        numbers=("age_years", "episode_number"),
        categories=("sex_0male_1female",),
    ),
    "adult": Source(
        file="adult/adult_complete_45222.csv",
        label="income",
        positive=">50K",
        numbers=("age",),
        categories=("workclass", "education", "marital-status", "occupation", "race", "sex", "native-country"),
    ),
    "hotel": Source(
        file="hotel/hotel_reservations.csv",
        label="booking_status",
        positive="Canceled",
        numbers=("no_of_adults", "no_of_children", "no_of_weekend_nights", "no_of_week_nights", "lead_time"),
        categories=("market_segment_type", "room_type_reserved"),
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Coded:
    """A table as codes: a line per row, and whether its label is the positive one."""

    columns: tuple[str, ...]
    domains: tuple[Domain, ...]
    codes: Ints
    label: Ints

    def counts(self, rows: Ints) -> ClassTable:
        return ClassTable.from_codes(
            columns=self.columns,
            domains=self.domains,
            codes=self.codes[rows],
            counts=np.ones(len(rows), dtype=np.int64),
            contents={"label": (Domain.of(Kind.INTEGER, [0, 1]), self.label[rows])},
        )


def read(source: Source) -> Coded:
    with dataset(source.file).open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    if len(rows) > MOST_ROWS + 1_000:  # thirty thousand of them tell as much, in a third of the time
        chosen = np.sort(np.random.default_rng(0).choice(len(rows), MOST_ROWS, replace=False))
        rows = [rows[at] for at in chosen]
    domains, columns = [], []
    for name in (*source.numbers, *source.categories):
        number = name in source.numbers
        values = [float(row[name]) if number else row[name] for row in rows]
        domain = Domain.of(Kind.REAL if number else Kind.TEXT, values)
        place = {value: code for code, value in enumerate(domain.values.tolist())}
        domains.append(domain)
        columns.append(np.array([place[value] for value in values], dtype=np.int64))
    return Coded(
        columns=(*source.numbers, *source.categories),
        domains=tuple(domains),
        codes=np.column_stack(columns),
        label=np.array([row[source.label] == source.positive for row in rows], dtype=np.int64),
    )


def raw(table: Coded) -> Release:
    domains = zip(table.columns, table.domains, table.codes.T, strict=True)
    return {name: domain.values.astype(object)[codes] for name, domain, codes in domains}


def released(method: str, table: Coded, counts: ClassTable, k: int) -> tuple[Release, dict[str, Any]]:
    policy = Policy.from_mapping({"k": k})
    began = time.process_time()
    if method == "cuts":
        best = search(counts, label="label", policy=policy, space="cuts", seconds=None).best
        columns = {}
        for at, (name, domain) in enumerate(zip(table.columns, table.domains, strict=True)):
            held = np.bincount(counts.codes[:, at], weights=counts.sizes, minlength=domain.size)
            change = transition(best.masks[name], domain, held)
            assert isinstance(change, Partition)
            shown = np.array(change.target.values.tolist(), dtype=object)
            columns[name] = shown[change.codes[table.codes[:, at]]]
        return columns, {"cpu_seconds": time.process_time() - began}
    growth = {"greedy": GREEDY, "median": Growth(label_weight=0.0, look_ahead=0)}.get(method) or growth_for(
        counts, policy, "label"
    )
    boxes = grow_boxes(counts, policy, labels=[] if method == "median" else ["label"], growth=growth).boxes
    spent = time.process_time() - began
    return boxes.published(boxes.box_of(table.domains, table.codes)), {"cpu_seconds": spent, "boxes": boxes.many}


def aucs(release: Release, label: Ints, training: Ints, testing: Ints) -> dict[str, float]:
    parts = [{name: values[rows] for name, values in release.items()} for rows in (training, testing)]
    features = ReleasedFeatures(of_label=True)
    train, test = features.fit_transform(parts[0], label[training]), features.transform(parts[1])
    names = features.get_feature_names_out().astype(str)
    # trees bend by themselves, and see a box without being told what it says of the label
    ends = (np.char.find(names, "_above_") < 0) & (np.arange(len(names)) < len(names) - 1)
    ends &= train.std(axis=0) > 0
    trees = HistGradientBoostingClassifier(random_state=0, max_leaf_nodes=LEAVES, max_iter=ROUNDS)
    trees.fit(train[:, ends], label[training])
    return {
        "logistic": logistic_auc(train, label[training], test, label[testing]),
        "boosted": float(roc_auc_score(label[testing], trees.predict_proba(test[:, ends])[:, 1])),
    }


def logistic_auc(train: Floats, learnt: Ints, test: Floats, wanted: Ints) -> float:
    """AUC of a line; equal rows are given once, with how many they are as their weight."""
    mean, spread = train.mean(axis=0), train.std(axis=0) + 1e-9
    train, test = (train - mean) / spread, (test - mean) / spread
    mixed = np.round(train @ np.random.default_rng(0).normal(size=train.shape[1]), 9)  # a number for each kind of row
    _, first, kind = np.unique(mixed, return_index=True, return_inverse=True)
    positive = np.bincount(kind, weights=learnt, minlength=len(first))
    weights = np.concatenate([positive, np.bincount(kind, minlength=len(first)) - positive])
    rows, classes = np.concatenate([first, first]), np.repeat([1, 0], len(first))
    held = weights > 0
    line = LogisticRegression(max_iter=300).fit(train[rows[held]], classes[held], sample_weight=weights[held])
    return float(roc_auc_score(wanted, line.decision_function(test)))


def runs_of(name: str, split: int, chosen: argparse.Namespace, done: set[tuple[Any, str]]) -> Iterator[dict[str, Any]]:
    """What every method reaches on one split of a table, one after the other, without what is done."""
    missing = [(k, method) for k in chosen.k for method in chosen.methods if (k, method) not in done]
    if not missing and (None, "raw") in done:
        return
    table = read(SOURCES[name])
    order = np.random.default_rng(split).permutation(len(table.label))
    edge = int(TRAINING * len(order))
    training, testing = order[:edge], order[edge:]
    if (None, "raw") not in done:
        yield {"table": name, "split": split, "method": "raw", **aucs(raw(table), table.label, training, testing)}
    counts = table.counts(training)
    for method in {method for _, method in missing}:  # compiled once, so that it is in nobody's seconds
        released(method, table, counts, len(training) // 2)
    for k, method in missing:
        release, facts = released(method, table, counts, k)
        reached = aucs(release, table.label, training, testing)
        yield {"table": name, "split": split, "k": k, "method": method, **reached, **facts}


def summary_of(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for key in dict.fromkeys((run["table"], run.get("k"), run["method"]) for run in runs):
        own = [run for run in runs if (run["table"], run.get("k"), run["method"]) == key]
        held = [figure for figure in (*FIGURES, "cpu_seconds", "boxes") if figure in own[0]]
        means = {figure: round(float(np.mean([run[figure] for run in own])), 5) for figure in held}
        apart = {f"{figure}_deviation": round(float(np.std([run[figure] for run in own])), 5) for figure in FIGURES}
        rows.append({"table": key[0], "k": key[1], "method": key[2], "splits": len(own), **means, **apart})
    return rows


def verdict_of(summary: list[dict[str, Any]]) -> dict[str, Any]:
    """In how many (table, k) boxes are ahead of every rival, by the mean of both models, and the farthest behind."""
    places: dict[tuple[str, int], dict[str, float]] = {}
    for row in summary:
        if row["k"] is not None:
            reached = float(np.mean([row[figure] for figure in FIGURES]))
            places.setdefault((row["table"], row["k"]), {})[row["method"]] = reached
    margins = {
        place: by["boxes"] - max(score for method, score in by.items() if method != "boxes")
        for place, by in places.items()
        if set(by) == set(METHODS)
    }
    if not margins:
        return {}
    return {
        "places": len(margins),
        "ahead": sum(margin >= 0 for margin in margins.values()),
        "farthest_behind": round(max(0.0, -min(margins.values())), 5),
        "behind": [[*place, round(margin, 5)] for place, margin in margins.items() if margin < 0],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--k", type=int, nargs="+", default=[5, 10, 50, 100])
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--tables", nargs="+", default=list(SOURCES), choices=list(SOURCES))
    parser.add_argument("--resume", action="store_true", help="keep the runs of the last result, add what is missing")
    chosen = parser.parse_args()
    runs = kept_runs() if chosen.resume else []
    with threadpool_limits(1):
        for split in range(chosen.splits):
            for name in chosen.tables:
                done = {(run.get("k"), run["method"]) for run in runs if (run["table"], run["split"]) == (name, split)}
                for run in runs_of(name, split, chosen, done):
                    print(run, flush=True)
                    runs.append(run)
                    keep(runs)
    keep(runs)


def keep(runs: list[dict[str, Any]]) -> None:
    """Write what is done so far: a run that is interrupted goes on from there."""
    summary = summary_of(runs)
    splits = {table: len({run["split"] for run in runs if run["table"] == table}) for table in SOURCES}
    facts = {"splits": splits, "training_share": TRAINING, "verdict": verdict_of(summary)}
    write("boxes_tables", {**facts, "summary": summary, "runs": runs})


def kept_runs() -> list[dict[str, Any]]:
    """The runs of the last result."""
    path = RESULTS / "boxes_tables.json"
    return list(json.loads(path.read_text(encoding="utf-8"))["runs"]) if path.exists() else []


if __name__ == "__main__":
    main()
