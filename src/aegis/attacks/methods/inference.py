"""Let learners predict a sensitive value, with the person's own row in the table and without it.

What models learn of everybody is not a matter of one person: smokers are more often ill, also in tables that a smoker
is not in. What counts is the difference that his own row makes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Codes
from aegis.attacks.attack import Claims, NotApplicable, attack
from aegis.attacks.scene import Scene, exact_codes
from aegis.attacks.view import View
from aegis.counts.grouping import group_rows
from aegis.learners.features import CodedColumn, Split, SplitColumn
from aegis.learners.learner import LEARNERS, expect
from aegis.learners.sample import MOST_CLASSES
from aegis.learners.target import Floats, Target

MOST_ROWS = 4_000
LEAST_ROWS = 30
_PRIOR_ROWS = 1.0  # what models expect weighs as much as one row of the person's class


@attack(
    "attribute-inference",
    knows="all quasi-identifiers as the release shows them; trains models on it and looks at the person's class",
    statistical=True,
)
def attribute_inference(scene: Scene) -> Claims | NotApplicable:
    """Claims the likeliest value of everybody; the baseline is the same with the person's own row left out."""
    view = scene.release.view
    rng = np.random.default_rng(scene.seed)
    answers = []
    for name in scene.sensitive:
        shown = exact_codes(view, name)
        if shown is None:
            continue
        rows = np.flatnonzero(shown >= 0)
        used, labels = np.unique(shown[rows], return_inverse=True)
        if not 2 <= len(used) <= MOST_CLASSES or len(rows) < LEAST_ROWS:
            continue
        answers.append(_with_and_without(scene, view, name, rows, labels.astype(np.int64), len(used), rng))
    if not answers:
        return NotApplicable(reason="no sensitive column shows classes that could be learnt")
    people, right, guessed = max(answers, key=lambda answer: (answer[1] - answer[2]) / answer[0])
    return Claims(people=people, singled_out=people, right=right, baseline=guessed / people)


def _with_and_without(
    scene: Scene, view: View, name: str, rows: Codes, labels: Codes, classes: int, rng: np.random.Generator
) -> tuple[int, int, int]:
    """How many people were asked about, and how many answers are right with their own row and without it."""
    columns = [column for column in view.telling(scene.known) if column != name]
    counts, group = _class_counts(view, columns, rows, labels, classes)
    targets = rng.permutation(len(rows))[:MOST_ROWS]
    expected = _out_of_fold(view, columns, rows[targets], labels[targets], classes, scene.seed)
    own = np.zeros((len(targets), classes))
    own[np.arange(len(targets)), labels[targets]] = 1.0
    with_own = counts[group[targets]] + _PRIOR_ROWS * expected
    right = int((with_own.argmax(axis=1) == labels[targets]).sum())
    guessed = int(((with_own - own).argmax(axis=1) == labels[targets]).sum())
    return len(targets), right, guessed


def _class_counts(
    view: View, columns: list[str], rows: Codes, labels: Codes, classes: int
) -> tuple[NDArray[np.float64], Codes]:
    """How often each value occurs in each class of rows, and the class of every row."""
    if not columns:
        group = np.zeros(len(rows), dtype=np.int64)
    else:
        codes = np.stack([view.columns[name].codes[rows] for name in columns], axis=1)
        group = group_rows(codes, [len(view.columns[name].texts) for name in columns])[1]
    groups = int(group.max(initial=0)) + 1
    table = np.bincount(group * classes + labels, minlength=groups * classes)
    return table.reshape(groups, classes).astype(np.float64), group


def _out_of_fold(view: View, columns: list[str], rows: Codes, labels: Codes, classes: int, seed: int) -> Floats:
    """What the learners expect of each row, taught by the half that it is not in; the mean of all of them."""
    half = len(rows) // 2
    expected = np.zeros((len(rows), classes))
    for training, testing in ((slice(half, None), slice(0, half)), (slice(0, half), slice(half, None))):
        target = Target.of_classes(labels[training], classes)
        split = Split(
            columns=tuple(
                SplitColumn(
                    CodedColumn(size=len(view.columns[name].texts)),
                    training=view.columns[name].codes[rows[training]].astype(np.int32),
                    testing=view.columns[name].codes[rows[testing]].astype(np.int32),
                )
                for name in columns
            ),
            target=target,
            test_rows=len(rows[testing]),
        )
        answers = [expect(learner, split, seed=seed) for _, learner in LEARNERS.items()]
        expected[testing] = np.mean(answers, axis=0)
    return expected
