"""Which way to grow boxes: the one on which learners do best with records that were held out.

Ways are tried round by round. The first round holds the usual way, which goes by what learners expect and looks ahead
and joins parts where the table is not too large for that, beside a greedy one, one that goes by the records' own
labels, one without joined parts, on a small table larger boxes, on a large one looking ahead and, where the policy
allows suppression, smaller boxes. A way that is clearly better than the present one takes its place, and the next round
holds its neighbours; when none is clearly better, the score has stopped rising. Clearly is by more than two standard
errors of the difference, record by record: of several ways one always seems better by chance, on a small table much
better.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from aegis.arrays import Floats, Ints
from aegis.candidates.boxes.expected_labels import sampled_records
from aegis.candidates.boxes.growing import grow_from_tuples, tuples_to_grow
from aegis.candidates.boxes.model_columns import box_columns
from aegis.candidates.boxes.recoding import Boxes
from aegis.candidates.boxes.terms import GREEDY, Growth
from aegis.candidates.boxes.tuples import FEW_NUMBERS, BoxTuples, label_numbers
from aegis.counts.class_table import ClassTable
from aegis.data.domain import Domain
from aegis.learners.features import Split
from aegis.learners.goal import GOALS
from aegis.learners.learner import LEARNERS, expect
from aegis.learners.target import Target
from aegis.privacy.models.k_anonymity import KAnonymity
from aegis.privacy.policy import Policy
from aegis.progress import Progress

MOST_ROWS = 4_500
"""Ways to grow are compared on so many records."""
LEAST_ROWS = 100
"""With fewer records nothing can be compared."""
TESTED = 0.4
MOST_TURNS = 6
"""A small table is held out from by turns, so often at most: one turn of few records tells little."""
MOST_ROUNDS = 3
CLEARLY = 0.001
"""By so much, and by so many standard errors, learners have to do better with another way."""
STANDARD_ERRORS = 2.0
LARGER = 40
"""Boxes may be larger than the policy asks: so many records are tried with the usual way."""
NEARLY_ALL = 0.5
"""Larger boxes are tried where a turn trains on this share of the table: on a small sample of it learners know less
than they will, and boxes that even that out seem better than they are."""
AHEAD = 3
MOST_TUPLES = 200_000
"""Looking ahead doubles the time, and so does joining parts: a larger table is looked ahead from only where learners do
clearly better by it, and its boxes are not joined."""


def growth_for(
    table: ClassTable,
    policy: Policy,
    label: str,
    *,
    seed: int = 0,
    label_weight: float | None = None,
    turns: int = MOST_TURNS,
    progress: Progress | None = None,
) -> Growth:
    """The way to grow boxes on which learners do best with records that were held out.

    The records are those of ``table`` alone: whoever keeps rows aside for a test does not count them in it. k is scaled
    to the records that are trained on. A ``label_weight`` that is given stays as it is. A small table is held out from
    by at most so many ``turns``: fewer cost less, and let fewer ways seem clearly better than the usual one.
    """
    trial = _Trial(table, policy, label, turns=turns, seed=seed)
    chosen = usual_growth(table)
    if label_weight is not None:
        chosen = replace(chosen, label_weight=label_weight)
    if trial.rows < LEAST_ROWS:
        return chosen
    k = max((model.k for model in policy.models if isinstance(model, KAnonymity)), default=1)
    reached = {chosen: trial.scores(chosen)}
    for number in range(MOST_ROUNDS):
        ways = [
            way
            for way in _ways(chosen, k, policy, first=number == 0, larger=trial.share >= NEARLY_ALL)
            if way not in reached
        ]
        if label_weight is not None:
            ways = [way for way in ways if way.label_weight == label_weight]
        for at, way in enumerate(ways):
            if progress is not None:
                progress(at, len(ways), "comparing ways to cut")
            reached[way] = trial.scores(way)
        rises = [_rise(reached[way], reached[chosen]) for way in ways]
        if not rises or max(rises) <= 0:
            break
        chosen = ways[int(np.argmax(rises))]
    return chosen


def usual_growth(table: ClassTable) -> Growth:
    """The way that is taken unless another is clearly better; nothing is tried."""
    return Growth() if table.classes <= MOST_TUPLES else Growth(look_ahead=0, joins=False)


def _rise(scores: Floats, present: Floats) -> float:
    """By how much scores are clearly higher, 0 or less where they are not."""
    apart = scores - present
    return float(apart.mean() - max(CLEARLY, STANDARD_ERRORS * apart.std() / np.sqrt(len(apart))))


def _ways(present: Growth, k: int, policy: Policy, *, first: bool, larger: bool) -> list[Growth]:
    """What is tried beside the present way."""
    ways = [] if present.look_ahead else [replace(present, look_ahead=AHEAD)]
    least = present.least_records or k
    if first:
        ways += [GREEDY, replace(present, expected_labels=False)]
        ways += [replace(present, joins=False)] if present.joins else []
        ways += [replace(present, least_records=LARGER)] if larger and k < LARGER else []
    elif present.expected_labels:
        ways += [replace(present, least_records=2 * least)]
    else:
        ways += [replace(present, doubt_nats=doubt) for doubt in (present.doubt_nats / 2, 2 * present.doubt_nats)]
        ways += [replace(present, least_records=2 * least)]
    if policy.max_suppression > 0 and k > 2:
        smaller = max(2, k // 2) if first else max(1, least // 2)
        ways.append(replace(present, least_records=smaller))
    return ways


class _Trial:
    """Records of a table, some trained on and some held out, by turns; every way meets the same ones."""

    def __init__(self, table: ClassTable, policy: Policy, label: str, *, turns: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self._table, self._policy, self._label, self._seed = table, policy, label, seed
        self._tuples, self._labels = sampled_records(table, label, most=MOST_ROWS, rng=rng)
        self.rows = len(self._tuples)
        self.share = (1 - TESTED) * self.rows / max(table.records, 1)
        self._ready: dict[tuple[int, bool], BoxTuples] = {}
        domain = table.contents[label].domain
        self._target = _target(domain.kind.is_ordered and len(domain.values) > FEW_NUMBERS, domain, self._labels)
        number = min(max(MOST_ROWS // max(self.rows, 1), 1), turns)
        self._turns = [np.split(rng.permutation(self.rows), [int(TESTED * self.rows)]) for _ in range(number)]

    def scores(self, growth: Growth) -> Floats:
        """What learners reach on each record that was held out, its mean over turns."""
        sums, times = np.zeros(self.rows), np.zeros(self.rows)
        for turn, (testing, training) in enumerate(self._turns):
            share = len(training) / self._table.records
            least = None if growth.least_records is None else max(1, round(growth.least_records * share))
            grown = grow_from_tuples(
                self._tuples_of_turn(turn, growth),
                _scaled(self._policy, share),
                labels=[self._label],
                growth=replace(growth, least_records=least),
            )
            sums[testing] += self._reached(grown.boxes, training, testing)
            times[testing] += 1
        met = times > 0
        return np.asarray(sums[met] / times[met])

    def _tuples_of_turn(self, turn: int, growth: Growth) -> BoxTuples:
        """What boxes of a turn are grown from; learners are asked once for all ways that go by what they expect."""
        key = turn, growth.expected_labels
        if key not in self._ready:
            training = self._turns[turn][1]
            policy = _scaled(self._policy, len(training) / self._table.records)
            self._ready[key] = tuples_to_grow(self._part(training), policy, growth, labels=[self._label])
        return self._ready[key]

    def _part(self, training: Ints) -> ClassTable:
        domain = self._table.contents[self._label].domain
        return ClassTable.from_codes(
            columns=self._table.columns,
            domains=self._table.domains,
            codes=self._table.codes[self._tuples[training]],
            counts=np.ones(len(training), dtype=np.int64),
            contents={self._label: (domain, self._labels[training])},
            encoded=True,
        )

    def _reached(self, boxes: Boxes, training: Ints, testing: Ints) -> Floats:
        goal = GOALS["auc"] if self._target.classes else GOALS["r2"]
        box = boxes.box_of(self._table.domains, self._table.codes[self._tuples])
        learnt, wanted = self._target.at(training), self._target.at(testing)
        split = Split(columns=box_columns(boxes, box[training], box[testing]), target=learnt, test_rows=len(testing))
        learners = [LEARNERS[name] for name in LEARNERS]
        by_row = [goal.by_row(expect(learner, split, seed=self._seed), wanted, learnt) for learner in learners]
        return np.asarray(np.mean(by_row, axis=0))


def _scaled(policy: Policy, share: float) -> Policy:
    """k alone, in proportion: what else a policy asks needs contents that a trial does not count."""
    k = max((model.k for model in policy.models if isinstance(model, KAnonymity)), default=1)
    return replace(policy.by_records(), models=(KAnonymity(k=max(2, round(k * share))),))


def _target(numbers: bool, domain: Domain, labels: Ints) -> Target:
    if numbers:
        return Target.of_numbers(label_numbers(domain)[labels])
    return Target.of_classes(labels, len(domain.values))
