"""Boxes in the race: cut on the training rows of each part, and the test rows recoded by the same boxes."""

from __future__ import annotations

import numpy as np

from aegis.candidates.boxes.choosing import growth_for, usual_growth
from aegis.candidates.boxes.growing import grow_boxes
from aegis.candidates.boxes.model_columns import box_columns
from aegis.candidates.some_rows import classes_of_rows, policy_for_share
from aegis.learners.candidate import Part
from aegis.learners.features import CodedColumn, Split, SplitColumn
from aegis.learners.sample import Sample
from aegis.privacy.policy import Policy


class BoxesCandidate:
    """Local recoding under a policy.

    A part has fewer rows than the table, so k is taken in proportion: the boxes of the race are as fine as those of
    the release. The way to grow is chosen on the training rows of the part, as the boxes are: test rows have no say.
    It is chosen by one turn, because there are dozens of parts; for the release a small table is held out from by more.
    Without ``ways`` it is the usual one, which takes a fraction of the time.
    Columns that are not recoded are published as they are.
    """

    name = kind = "boxes"
    draws = 1

    def __init__(
        self, sample: Sample, policy: Policy, columns: tuple[str, ...], *, seed: int = 0, ways: bool = True
    ) -> None:
        self._sample = sample
        self._policy = policy.by_records()  # a sample does not say whose its rows are; the whole table is judged so
        self._columns = columns
        self._seed, self._ways = seed, ways
        self._others = {
            name: CodedColumn.of(sample.histograms[name].domain) for name in sample.codes if name not in columns
        }

    def __repr__(self) -> str:
        return f"BoxesCandidate({', '.join(self._columns)})"

    def split(self, part: Part, *, draw: int) -> Split:
        sample = self._sample
        codes = np.column_stack([sample.codes[name] for name in self._columns]).astype(np.int64)
        policy = policy_for_share(self._policy, len(part.training) / sample.table_rows)
        classes = classes_of_rows(sample, self._columns, part.training, self._policy.attributes)
        growth = usual_growth(classes)
        if self._ways:
            growth = growth_for(classes, policy, sample.label, turns=1, seed=self._seed)
        boxes = grow_boxes(classes, policy, labels=[sample.label], growth=growth).boxes
        domains = [sample.histograms[name].domain for name in self._columns]
        recoded = box_columns(
            boxes, boxes.box_of(domains, codes[part.training]), boxes.box_of(domains, codes[part.testing])
        )
        others = tuple(
            SplitColumn(column, training=sample.codes[name][part.training], testing=sample.codes[name][part.testing])
            for name, column in self._others.items()
        )
        return Split(columns=(*recoded, *others), target=part.training_target, test_rows=len(part.testing))
