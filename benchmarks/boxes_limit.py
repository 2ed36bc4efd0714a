"""How much of what models miss on boxes lies in the boxes, and how much in what a model can learn from their records.

Boxes are cut as `boxes_tables.py` cuts them, on the same splits. Each test row is scored three ways: by what learners
trained on the unmasked training rows say of it (``unmasked``), by the mean of what learners expect of the training
records in its box (``told``: the best that any model of the release could come by, were labels not a matter of luck),
and by the share of the label among those records (``counted``). Boxes that are cut alone, with no parts joined, stand
beside them. Figures are AUC, means over splits; ``width`` is the share of a column's values that a box takes up, on
average over records and columns. ``by_label_weight`` holds the label against the width of intervals and sets, with what
models reach that are trained on the release.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

from _result import write
from aegis.candidates.boxes.choosing import growth_for
from aegis.candidates.boxes.growing import Grown, grow_from_tuples, tuples_to_grow
from aegis.candidates.boxes.parts import cost_of_parts, parts_of
from aegis.candidates.boxes.terms import Growth
from aegis.candidates.boxes.tuples import BoxTuples
from aegis.learners.features import CodedColumn, Split, SplitColumn
from aegis.learners.learner import LEARNERS, expect
from aegis.learners.target import Target
from aegis.privacy.policy import Policy
from boxes_tables import SOURCES, TRAINING, Coded, Ints, aucs, read

LABEL_WEIGHTS = (0.99, 0.97, 0.95, 0.9, 0.8, 0.5)
WEIGHED_K = 50


def unmasked(table: Coded, training: Ints, testing: Ints) -> float:
    """What the best learner reaches on the rows as they are."""
    columns = tuple(
        SplitColumn(CodedColumn.of(domain), training=codes[training], testing=codes[testing])
        for domain, codes in zip(table.domains, table.codes.T.astype(np.int32), strict=True)
    )
    split = Split(columns=columns, target=Target.of_classes(table.label[training], 2), test_rows=len(testing))
    reached = [expect(LEARNERS[name], split, seed=0)[:, 1] for name in LEARNERS]
    return max(float(roc_auc_score(table.label[testing], scores)) for scores in reached)


def on_boxes(table: Coded, training: Ints, testing: Ints, k: int) -> dict[str, Any]:
    """What the boxes of the training rows tell of the others, and those that are cut alone, of one part each."""
    policy = Policy.from_mapping({"k": k})
    counts = table.counts(training)
    expected = tuples_to_grow(counts, policy, Growth(), labels=["label"])
    growth = growth_for(counts, policy, "label")
    ready = expected if growth.expected_labels else tuples_to_grow(counts, policy, growth, labels=["label"])
    grown = grow_from_tuples(ready, policy, labels=["label"], growth=growth)
    alone = grow_from_tuples(ready, policy, labels=["label"], growth=replace(growth, joins=False))
    cut_alone = {
        f"{figure}_cut_alone": value for figure, value in told(table, training, testing, expected, alone).items()
    }
    return {**told(table, training, testing, expected, grown), **cut_alone}


def by_label_weight(table: Coded, training: Ints, testing: Ints, weight: float) -> dict[str, Any]:
    """How wide boxes are and what models reach, at a weight of the label against width."""
    growth = Growth(label_weight=weight)
    counts = table.counts(training)
    policy = Policy.from_mapping({"k": WEIGHED_K})
    expected = tuples_to_grow(counts, policy, growth, labels=["label"])
    grown = grow_from_tuples(expected, policy, labels=["label"], growth=growth)
    release = grown.boxes.published(grown.boxes.box_of(table.domains, table.codes))
    shape = told(table, training, testing, expected, grown)
    return {
        "boxes": shape["boxes"],
        "width": shape["width"],
        **aucs(release, table.label, training, testing),
    }


def told(table: Coded, training: Ints, testing: Ints, expected: BoxTuples, grown: Grown) -> dict[str, Any]:
    """How many boxes there are, their mean width, and the AUC of the two ways to score them."""
    numbers, many = grown.boxes.numbers, grown.boxes.many
    leaf = grown.boxes.box_of(table.domains, table.codes)
    box = np.where(leaf < 0, many, numbers[leaf])  # a row that falls into no box comes last
    records = np.bincount(box[training], minlength=many)
    terms = expected.terms(Growth(label_weight=0.0), 1)  # width alone
    held = parts_of(expected.columns, expected.sizes, expected.labels, terms, numbers[grown.box_of_tuple], many)
    shares = {
        "told": held.labels[:, 1] / records,
        "counted": np.bincount(box[training], weights=table.label[training], minlength=many) / records,
    }
    mean = float(table.label[training].mean())
    scores = {name: np.append(share, mean)[box[testing]] for name, share in shares.items()}
    reached = {name: float(roc_auc_score(table.label[testing], score)) for name, score in scores.items()}
    return {"boxes": many, "width": float(cost_of_parts(held, terms)), **reached}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--k", type=int, nargs="+", default=[5, 10, 50, 100])
    parser.add_argument("--tables", nargs="+", default=["adult_arx"], choices=list(SOURCES))
    chosen = parser.parse_args()
    summary, weighed = [], []
    with threadpool_limits(1):
        for name in chosen.tables:
            table = read(SOURCES[name])
            runs: dict[int, list[dict[str, Any]]] = {k: [] for k in chosen.k}
            raw = []
            at_weight: dict[float, list[dict[str, Any]]] = {weight: [] for weight in LABEL_WEIGHTS}
            for split in range(chosen.splits):
                order = np.random.default_rng(split).permutation(len(table.label))
                training, testing = np.split(order, [int(TRAINING * len(order))])
                raw.append(unmasked(table, training, testing))
                for k in chosen.k:
                    runs[k].append(on_boxes(table, training, testing, k))
                for weight in LABEL_WEIGHTS:
                    at_weight[weight].append(by_label_weight(table, training, testing, weight))
            for k, own in runs.items():
                unmasked_mean = round(float(np.mean(raw)), 5)
                summary.append({"table": name, "k": k, "splits": len(own), "unmasked": unmasked_mean, **means(own)})
                print(summary[-1], flush=True)
            for weight, own in at_weight.items():
                line = {"table": name, "k": WEIGHED_K, "label_weight": weight, "splits": len(own), **means(own)}
                weighed.append(line)
                print(line, flush=True)
    write("boxes_limit", {"summary": summary, "by_label_weight": weighed})


def means(runs: list[dict[str, Any]]) -> dict[str, float]:
    return {figure: round(float(np.mean([run[figure] for run in runs])), 5) for figure in runs[0]}


if __name__ == "__main__":
    main()
