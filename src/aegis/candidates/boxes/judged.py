"""Boxes as models meet them: what a consumer makes of intervals and sets, and how well learners do with it.

A number becomes the two ends of its interval and, for a few knots, how far the interval lies above them, so that a line
can bend; a category becomes, for each of the commonest values, one over the size of the set that holds it. All columns
of a box share its number as their code.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from aegis.candidates.boxes.compiled import Floats, Ints
from aegis.candidates.boxes.growing import GREEDY, Growth, grow_boxes
from aegis.candidates.boxes.recoding import Boxes, ends
from aegis.candidates.boxes.tuples import FEW_NUMBERS, label_numbers
from aegis.counts.class_table import ClassTable
from aegis.data.domain import Domain
from aegis.learners.features import CodedColumn, Split, SplitColumn
from aegis.learners.goal import GOALS
from aegis.learners.learner import LEARNERS, expect
from aegis.learners.target import Target
from aegis.privacy.models.k_anonymity import KAnonymity
from aegis.privacy.policy import Policy
from aegis.progress import Progress

MOST_VALUES = 12
"""So many values of a category have a column of their own."""
MOST_ROWS = 8_000
"""Ways to grow are compared on so many records."""
LEAST_ROWS = 100
"""With fewer records nothing can be compared."""
TESTED = 0.4
MOST_TURNS = 6
"""A small table is held out from by turns, so often at most: one turn of few records tells little."""
KNOTS = 5
"""So many places where a line through the numbers of a column may bend."""
CLEARLY = 0.002
"""Another way to grow than the usual one is taken where learners do better by so much: less is chance."""
LARGER = (20, 60)
"""Boxes may be larger than the policy asks: these many records were tried with it."""


def box_columns(boxes: Boxes, training: Ints, testing: Ints) -> tuple[SplitColumn, ...]:
    """What models see of records in these boxes, `NO_BOX` included."""
    columns = []
    places = [np.where(box < 0, len(boxes.leaves), box).astype(np.int32) for box in (training, testing)]
    hidden = np.array([leaf.suppressed for leaf in boxes.boxes])
    for at, column in enumerate(boxes.columns):
        if column.ordered:
            lines = _sides(boxes, at)
        else:
            sets = [way[at].values or () for way in boxes.regions]
            inside = np.array([[value in held for value in column.values] for held in sets], dtype=np.float64)
            share = inside / np.maximum(inside.sum(axis=1, keepdims=True), 1.0)
            weights = np.array([leaf.records for leaf in boxes.boxes]) @ share
            lines = [share[:, value] for value in np.argsort(-weights, kind="stable")[:MOST_VALUES]]
        for line in lines:
            numbers = np.append(np.where(hidden, np.nan, line), np.nan)
            described = CodedColumn(size=len(numbers), numbers=numbers)
            columns.append(SplitColumn(described, training=places[0], testing=places[1]))
    return tuple(columns)


def _sides(boxes: Boxes, column: int) -> list[Floats]:
    """The two ends of each box, and the mean of max(x − knot, 0) over it for knots at quantiles of the records."""
    low, high = ends(boxes, column)
    present = ~np.isnan(low)
    if not present.any():
        return [low, high]
    order = np.argsort((low + high)[present] / 2, kind="stable")
    running = np.cumsum(np.array([leaf.records for leaf in boxes.boxes])[present][order])
    places = np.searchsorted(running, running[-1] * np.arange(1, KNOTS + 1) / (KNOTS + 1))
    knots = np.unique(((low + high)[present] / 2)[order][places])
    wide = np.where(high > low, high - low, 1.0)
    above = [
        np.where(
            high > low,
            (np.maximum(high - knot, 0.0) ** 2 - np.maximum(low - knot, 0.0) ** 2) / (2.0 * wide),
            np.maximum(high - knot, 0.0),
        )
        for knot in knots
    ]
    return [low, high, *(np.where(present, line, np.nan) for line in above)]


def growth_for(
    table: ClassTable,
    policy: Policy,
    label: str,
    *,
    seed: int = 0,
    progress: Progress | None = None,
) -> Growth:
    """The way to grow boxes on which learners do best with records that were held out.

    The records are those of ``table`` alone: whoever keeps rows aside for a test does not count them in it. Tried are
    the usual way, which is kept unless another is clearly better, the greedy way, a more doubtful one, larger boxes
    than the policy asks and, where it allows suppression, smaller ones: boxes too small are suppressed then. k is
    scaled to the records that are trained on.
    """
    rng = np.random.default_rng(seed)
    tuples, labels = _rows(table, label, rng)
    rows = len(tuples)
    if rows < LEAST_ROWS:
        return Growth()
    domain = table.contents[label].domain
    target = _target(domain.kind.is_ordered and len(domain.values) > FEW_NUMBERS, domain, labels)
    k = max((model.k for model in policy.models if isinstance(model, KAnonymity)), default=1)
    tried = _ways(k, policy)
    turns = min(max(MOST_ROWS // rows, 1), MOST_TURNS)
    scores = np.zeros(len(tried))
    for turn in range(turns):
        order = rng.permutation(rows)
        testing, training = order[: int(TESTED * rows)], order[int(TESTED * rows) :]
        share = len(training) / table.records
        scaled = replace(policy, models=(KAnonymity(k=max(2, round(k * share))),))
        part = ClassTable.from_codes(
            columns=table.columns,
            domains=table.domains,
            codes=table.codes[tuples[training]],
            counts=np.ones(len(training), dtype=np.int64),
            contents={label: (domain, labels[training])},
            encoded=True,
        )
        for number, growth in enumerate(tried):
            if progress is not None:
                progress(turn * len(tried) + number, turns * len(tried), "comparing ways to cut")
            least = None if growth.least_records is None else max(1, round(growth.least_records * share))
            grown = grow_boxes(part, scaled, labels=[label], growth=replace(growth, least_records=least))
            scores[number] += _score(grown.boxes, table, tuples, training, testing, target, seed) / turns
    scores[0] += CLEARLY  # the usual way
    return tried[int(np.argmax(scores))]


def _ways(k: int, policy: Policy) -> list[Growth]:
    usual = Growth()
    ways = [usual, GREEDY, replace(usual, doubt_nats=12.0)]
    ways += [replace(usual, least_records=least) for least in LARGER if least > k]
    if policy.max_suppression > 0 and k > 2:
        ways.append(replace(usual, least_records=max(2, k // 2)))
    return ways


def _score(
    boxes: Boxes, table: ClassTable, tuples: Ints, training: Ints, testing: Ints, target: Target, seed: int
) -> float:
    """What the learners reach, the higher the better."""
    goal = GOALS["auc"] if target.classes else GOALS["r2"]
    box = boxes.box_of(table.domains, table.codes[tuples])
    learnt, wanted = target.at(training), target.at(testing)
    split = Split(columns=box_columns(boxes, box[training], box[testing]), target=learnt, test_rows=len(testing))
    reached = [
        float(goal.by_row(expect(learner, split, seed=seed), wanted, learnt).mean())
        for learner in (LEARNERS[name] for name in LEARNERS)
    ]
    return float(np.mean(reached))


def _rows(table: ClassTable, label: str, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """The tuple and the label of some records, from counts."""
    content = table.contents[label]
    known = content.values < len(content.domain.values)
    owners, values, counts = content.owners[known], content.values[known], content.counts[known]
    total = int(counts.sum())
    places = np.arange(total) if total <= MOST_ROWS else np.sort(rng.choice(total, MOST_ROWS, replace=False))
    entry = np.searchsorted(np.cumsum(counts), places, side="right")
    return owners[entry].astype(np.int64), values[entry].astype(np.int64)


def _target(numbers: bool, domain: Domain, labels: Ints) -> Target:
    if numbers:
        return Target.of_numbers(label_numbers(domain)[labels])
    return Target.of_classes(labels, len(domain.values))
