"""Boxes that are cut anew on some rows and meet others: in the race, and in a comparison of anonymizers by split.

Boxes are cut for a label. Cut once on all rows, they would have seen the labels of the rows that models are tested on,
and a score on those rows would be too good. Some rows are fewer than the table, so k is taken in proportion: the boxes
are as fine as those of the release.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Ints
from aegis.candidates.boxes.choosing import growth_for, usual_growth
from aegis.candidates.boxes.growing import grow_boxes
from aegis.candidates.boxes.model_columns import box_columns
from aegis.candidates.some_rows import classes_of_rows, policy_for_share
from aegis.counts.class_table import ClassTable
from aegis.data.domain import Domain
from aegis.data.kind import Kind
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SplitRecoding:
    """The original columns of a table, its label and its secrets, ready to be cut on any of its rows.

    ``table_rows`` is how many rows the release is made of; k is taken in proportion to it.
    """

    columns: tuple[str, ...]
    domains: tuple[Domain, ...]
    codes: Ints  # a line per row
    label: str
    contents: Mapping[str, tuple[Domain, Ints]]
    policy: Policy
    table_rows: int
    seed: int = 0

    def __repr__(self) -> str:
        return f"SplitRecoding({', '.join(self.columns)})"

    @property
    def id(self) -> str:
        """What a cached result depends on beside the rows; the last number counts changes of what boxes come to."""
        return f"boxes-{self.policy.id}-{self.seed}-5"

    def take(self, rows: Ints) -> SplitRecoding:
        """The same with some of its rows; k stays in proportion to the release."""
        held = {name: (domain, codes[rows]) for name, (domain, codes) in self.contents.items()}
        return replace(self, codes=self.codes[rows], contents=held)

    def recoded(self, training: Ints) -> dict[str, tuple[Domain, Ints]]:
        """What is published of every row by boxes that were cut on the rows ``training`` alone."""
        counts = ClassTable.from_codes(
            columns=self.columns,
            domains=self.domains,
            codes=self.codes[training],
            counts=np.ones(len(training), dtype=np.int64),
            contents={name: (domain, codes[training]) for name, (domain, codes) in self.contents.items()},
            encoded=True,
        )
        policy = policy_for_share(self.policy.by_records(), len(training) / self.table_rows)
        growth = growth_for(counts, policy, self.label, seed=self.seed)
        boxes = grow_boxes(counts, policy, labels=[self.label], growth=growth).boxes
        published = boxes.published(boxes.box_of(self.domains, self.codes))
        return {name: _coded_texts(texts) for name, texts in published.items()}


def _coded_texts(texts: NDArray[Any]) -> tuple[Domain, Ints]:
    absent = np.array([text is None for text in texts])
    domain = Domain.of(Kind.TEXT, sorted({text for text in texts if text is not None}), missing=bool(absent.any()))
    place = {text: code for code, text in enumerate(domain.values.tolist())} | {None: len(domain.values)}
    return domain, np.array([place[text] for text in texts], dtype=np.int64)
