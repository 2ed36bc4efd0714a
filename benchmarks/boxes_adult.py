"""Local recoding on Adult: how well models do on boxes, beside greedy boxes, median Mondrian and cuts.

ARX's copy of Adult, seven quasi-identifiers (all but occupation), label salary-class, no suppression. Recodings are
fitted on 70 % of the rows; models train on those rows as recoded and are tested on the others, recoded alike. A number
becomes the two ends of its interval, a category 1/size of its set. Figures are the AUC of logistic regression and of
boosted trees (scikit-learn), means over splits with deviations, and the CPU seconds of each recoding from counts.
"""

from __future__ import annotations

import argparse
import csv
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

from _result import dataset, write
from aegis.candidates.boxes.growing import GREEDY, Growth, grow_boxes
from aegis.candidates.boxes.judged import growth_for
from aegis.candidates.boxes.recoding import Boxes, ends
from aegis.candidates.search.search import search
from aegis.counts.class_table import ClassTable
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.masking.partition import Partition
from aegis.masking.transition import transition
from aegis.privacy.policy import Policy

SEVEN = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass"]
LABEL = "salary-class"
TRAINING = 0.7
METHODS = ("boxes", "greedy", "median", "cuts")

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def adult() -> tuple[list[Domain], Ints, Domain, Ints]:
    """Domains and codes of the quasi-identifiers, and of the label."""
    with dataset("adult_arx/adult.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    coded = []
    for name in [*SEVEN, LABEL]:
        values = [int(row[name]) if name == "age" else row[name] for row in rows]
        domain = Domain.of(Kind.INTEGER if name == "age" else Kind.TEXT, values)
        place = {value: code for code, value in enumerate(domain.values.tolist())}
        coded.append((domain, np.array([place[value] for value in values])))
    return [d for d, _ in coded[:-1]], np.column_stack([c for _, c in coded[:-1]]), *coded[-1]


def box_features(boxes: Boxes, domains: list[Domain], codes: Ints) -> Floats:
    box = boxes.box_of(domains, codes)
    parts = []
    for at, column in enumerate(boxes.columns):
        if column.ordered:
            parts += [end[box][:, None] for end in ends(boxes, at)]
            continue
        inside = np.array([[v in (way[at].values or ()) for v in column.values] for way in boxes.regions], dtype=float)
        parts.append((inside / inside.sum(axis=1, keepdims=True))[box])
    return np.hstack(parts)


def cut_features(table: ClassTable, policy: Policy, domains: list[Domain], codes: Ints) -> Floats:
    found = search(table, label=LABEL, policy=policy, space="cuts", seconds=None)
    parts = []
    for at, (name, domain) in enumerate(zip(SEVEN, domains, strict=True)):
        counts = np.bincount(table.codes[:, at], weights=table.sizes, minlength=domain.size)
        change = transition(found.best.masks[name], domain, counts)
        assert isinstance(change, Partition)
        group = change.codes[codes[:, at]]
        if domain.kind.is_number:
            low = np.array([domain.values[change.codes == g].min() for g in range(change.target.size)])
            high = np.array([domain.values[change.codes == g].max() for g in range(change.target.size)])
            parts += [low[group][:, None], high[group][:, None]]
        else:
            same = change.codes[:, None] == change.codes[None, :]
            parts.append((same / same.sum(axis=1, keepdims=True))[codes[:, at]])
    return np.hstack(parts).astype(np.float64)


def raw_features(domains: list[Domain], codes: Ints) -> Floats:
    parts = []
    for at, domain in enumerate(domains):
        of_column = codes[:, at]
        number = domain.kind.is_number
        parts.append(domain.values[of_column].astype(float)[:, None] if number else np.eye(domain.size)[of_column])
    return np.hstack(parts)


def aucs(features: Floats, label: Ints, training: Ints, testing: Ints) -> dict[str, float]:
    train, test = features[training], features[testing]
    mean, spread = train.mean(axis=0), train.std(axis=0) + 1e-9
    line = LogisticRegression(max_iter=500).fit((train - mean) / spread, label[training])
    trees = HistGradientBoostingClassifier(random_state=0).fit(train, label[training])
    return {
        "logistic": float(roc_auc_score(label[testing], line.decision_function((test - mean) / spread))),
        "boosted": float(roc_auc_score(label[testing], trees.predict_proba(test)[:, 1])),
    }


def recoded(
    method: str, table: ClassTable, k: int, domains: list[Domain], codes: Ints
) -> tuple[Floats, dict[str, Any]]:
    policy = Policy.from_mapping({"k": k})
    began = time.process_time()
    if method == "cuts":
        features = cut_features(table, policy, domains, codes)
        return features, {"cpu_seconds": time.process_time() - began}
    if method == "boxes":
        growth = growth_for(table, policy, LABEL)
    else:
        growth = GREEDY if method == "greedy" else Growth(label_weight=0.0)
    labels = [] if method == "median" else [LABEL]
    boxes = grow_boxes(table, policy, labels=labels, growth=growth).boxes
    spent = time.process_time() - began
    return box_features(boxes, domains, codes), {"cpu_seconds": spent, "boxes": len(boxes.leaves)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--k", type=int, nargs="+", default=[5, 10, 50, 100])
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    chosen = parser.parse_args()
    domains, codes, label_domain, label = adult()
    runs: list[dict[str, Any]] = []
    with threadpool_limits(1):
        for split in range(chosen.splits):
            order = np.random.default_rng(split).permutation(len(label))
            training, testing = order[: int(TRAINING * len(label))], order[int(TRAINING * len(label)) :]
            runs.append(
                {"split": split, "method": "raw", **aucs(raw_features(domains, codes), label, training, testing)}
            )
            table = ClassTable.from_codes(
                columns=SEVEN,
                domains=domains,
                codes=codes[training],
                counts=np.ones(len(training), dtype=np.int64),
                contents={LABEL: (label_domain, label[training])},
            )
            if split == 0:  # compiled once, so that it is in nobody's seconds
                for method in chosen.methods:
                    recoded(method, table, 1000, domains, codes)
            for k in chosen.k:
                for method in chosen.methods:
                    features, facts = recoded(method, table, k, domains, codes)
                    runs.append(
                        {"split": split, "k": k, "method": method, **aucs(features, label, training, testing), **facts}
                    )
                    print(runs[-1], flush=True)
    summary: list[dict[str, Any]] = []
    for method, k in [("raw", None), *((m, k) for k in chosen.k for m in chosen.methods)]:
        own = [run for run in runs if run["method"] == method and run.get("k") == k]
        figures: list[str] = [name for name in ("logistic", "boosted", "cpu_seconds", "boxes") if name in own[0]]
        means: dict[str, float] = {name: round(float(np.mean([run[name] for run in own])), 5) for name in figures}
        apart = {f"{name}_deviation": round(float(np.std([run[name] for run in own])), 5) for name in figures[:2]}
        summary.append({"method": method, "k": k, **means, **apart})
    write("boxes_adult", {"splits": chosen.splits, "training_share": TRAINING, "summary": summary, "runs": runs})


if __name__ == "__main__":
    main()
