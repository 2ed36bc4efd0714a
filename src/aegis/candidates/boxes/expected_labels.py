"""What learners expect of the labels of each tuple: boxes that are cut by it follow the table, not the luck of a few.

A box of five records says little about its label, and the best of many cuts of it says mostly what chance made of those
five. The learners of the race, trained on the whole table, say what records like these have in general. Each record is
told by learners that were trained without it: the records are parted into folds, and a tuple that stands in several of
them gets the mean by its records. Learners of different folds differ by the luck of their records; where that matters
folds are drawn more than once, and the mean of what is said counts. How much each learner counts is settled by how
well they tell together the labels of records that they were trained without. Only labels are replaced, and only for
choosing cuts; nothing of it is released.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.optimize import nnls

from aegis.arrays import Floats, Ints
from aegis.candidates.boxes.tuples import BoxTuples, is_of_numbers, label_numbers, whole_uncertainty
from aegis.counts.class_table import ClassTable
from aegis.learners.features import CodedColumn, Split, SplitColumn
from aegis.learners.learner import LEARNERS, expect
from aegis.learners.target import Target

LEAST_RECORDS = 100
"""With fewer records that have a label, learners have nothing to learn from."""
MOST_RECORDS = 20_000
"""So many records are learnt from; with many classes fewer, because boosted trees have a tree for each of them."""
FEWEST_OF_MANY_CLASSES = 4_000
FOLDS = 4


def with_expected_labels(ready: BoxTuples, names: tuple[str, ...], *, draws: int = 1) -> BoxTuples:
    """The same tuples with the expected labels in place of their own; ``draws`` is how often folds are drawn."""
    labels, scales = ready.labels.copy(), ready.base.scales.copy()
    telling = int((ready.base.scales > 0).sum())
    for block, name in enumerate(names):
        if ready.base.scales[block] <= 0:
            continue
        first, width, classes = ready.base.blocks[block].tolist()
        own = ready.labels[:, first : first + width]
        records = own.sum(axis=1) if classes else own[:, 0]
        expected = _expected(ready.table, name, draws)
        if classes:
            held = records[:, None] * expected
        else:
            apart = expected[:, 0] - float(records @ expected[:, 0] / records.sum())
            held = np.stack([records, records * apart, records * apart**2], axis=1)
        labels[:, first : first + width] = held
        whole = whole_uncertainty(held, classes)
        scales[block] = 1.0 / (telling * whole) if whole > 0 else 0.0
    return replace(ready, labels=labels, base=ready.base._replace(scales=scales), expects_labels=True)


def labelled_records(table: ClassTable, label: str) -> int:
    """How many records have this label."""
    content = table.contents[label]
    return int(content.counts[content.values < len(content.domain.values)].sum())


def sampled_records(table: ClassTable, label: str, *, most: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """The tuple and the label's code of at most so many records that have one, from counts."""
    content = table.contents[label]
    present = content.values < len(content.domain.values)
    owners, values, counts = content.owners[present], content.values[present], content.counts[present]
    total = int(counts.sum())
    places = np.arange(total) if total <= most else np.sort(rng.choice(total, most, replace=False))
    entry = np.searchsorted(np.cumsum(counts), places, side="right")
    return owners[entry].astype(np.int64), values[entry].astype(np.int64)


def _expected(table: ClassTable, label: str, draws: int) -> Floats:
    """A line per tuple: the chance of each class, or the number."""
    domain = table.contents[label].domain
    of_numbers = is_of_numbers(domain)
    classes = 0 if of_numbers else len(domain.values)
    most = MOST_RECORDS if classes <= 2 else max(2 * MOST_RECORDS // classes, FEWEST_OF_MANY_CLASSES)
    rng = np.random.default_rng(0)
    tuples, values = sampled_records(table, label, most=most, rng=rng)
    target = Target.of_numbers(label_numbers(domain)[values]) if of_numbers else Target.of_classes(values, classes)
    learners, outputs = len(list(LEARNERS)), max(classes, 1)
    sums, weights = np.zeros((learners, table.classes, outputs)), np.zeros(table.classes)
    answers = np.zeros((learners, len(tuples), outputs))
    unseen = np.ones(table.classes, dtype=bool)
    unseen[tuples] = False
    for draw in range(draws):
        fold = rng.permutation(len(tuples)) % FOLDS
        for turn in range(FOLDS):
            asked, place, records = np.unique(tuples[fold == turn], return_inverse=True, return_counts=True)
            others = np.flatnonzero(unseen)[draw * FOLDS + turn :: draws * FOLDS]  # one fold tells what was left out
            told = np.concatenate([asked, others])
            counts = np.concatenate([records, np.ones(len(others), dtype=np.int64)])
            learnt = np.flatnonzero(fold != turn)
            told_answers = _learnt(table, tuples[learnt], target.at(learnt), told)
            answers[:, fold == turn] += told_answers[:, place] / draws
            sums[:, told] += counts[:, None] * told_answers
            weights[told] += counts
    wanted = np.eye(classes)[values] if classes else target.numbers[:, None]
    return np.asarray(np.tensordot(trusted(answers, wanted), sums, axes=1) / weights[:, None])


def trusted(answers: Floats, wanted: Floats) -> Floats:
    """How much each learner is trusted, 1 together: so that the squared error of what they say together is least.

    ``answers`` has a table per learner, with a line for each record that it was trained without.

    >>> trusted(np.array([[[0.0], [1.0]], [[1.0], [0.0]]]), np.array([[0.0], [1.0]]))
    array([1., 0.])
    """
    centre = wanted.mean(axis=0)
    trust, _ = nnls((answers - centre).reshape(len(answers), -1).T, (wanted - centre).ravel())
    total = float(trust.sum())
    return np.asarray(trust / total) if total > 0 else np.full(len(answers), 1.0 / len(answers))


def _learnt(table: ClassTable, tuples: Ints, target: Target, asked: Ints) -> Floats:
    """What each of the learners expects of some tuples."""
    columns = tuple(
        SplitColumn(
            CodedColumn.of(domain),
            training=table.codes[tuples, at].astype(np.int32),
            testing=table.codes[asked, at].astype(np.int32),
        )
        for at, domain in enumerate(table.domains)
    )
    split = Split(columns=columns, target=target, test_rows=len(asked))
    return np.stack([expect(LEARNERS[name], split, seed=0).reshape(len(asked), -1) for name in LEARNERS])
