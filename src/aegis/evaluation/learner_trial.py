"""What one of the learners of the race reaches on a table that is compared with others: on its codes, as they are."""

from __future__ import annotations

import numpy as np

from aegis.evaluation.classifiers import Codes, Trial, f1_score
from aegis.evaluation.model_table import ModelTable
from aegis.learners.features import CodedColumn, Split, SplitColumn
from aegis.learners.learner import LEARNERS, expect
from aegis.learners.target import Target


def try_learner(
    name: str,
    table: ModelTable,
    label: Codes,
    *,
    training: Codes,
    testing: Codes,
    positive: int | None,
    balanced: bool,
    seed: int,
) -> Trial:
    """Train a learner on some rows of ``table`` and score its answers on others.

    The answer is the likeliest label; ``balanced``, the one whose chance is highest for its share of the training rows.
    """
    columns = tuple(
        SplitColumn(
            CodedColumn.of(domain),
            training=table.codes[column][training].astype(np.int32),
            testing=table.codes[column][testing].astype(np.int32),
        )
        for column, domain in table.domains.items()
    )
    target = Target.of_classes(label[training], max(2, int(label.max()) + 1))
    split = Split(columns=columns, target=target, test_rows=len(testing))
    chances = expect(LEARNERS[name], split, seed=seed)
    if balanced:
        shares = target.shares()
        chances = np.where(shares > 0, chances / np.where(shares > 0, shares, 1.0), 0.0)
    return Trial(f1=f1_score(label[testing], chances.argmax(axis=1), positive=positive), importances=None)
