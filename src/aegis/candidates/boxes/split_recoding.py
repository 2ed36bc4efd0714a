"""Local recoding inside a comparison: cut anew on the training rows of every split, as a consumer would meet it.

Boxes are cut for a label. Cut once on all rows, they would have seen the labels of the rows that models are tested on,
and a score on those rows would be too good. A split has fewer rows than the table, so k is taken in proportion: the
boxes are as fine as those of the release.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Ints
from aegis.candidates.boxes.choosing import growth_for
from aegis.candidates.boxes.growing import grow_boxes
from aegis.candidates.some_rows import policy_for_share
from aegis.counts.class_table import ClassTable
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.privacy.policy import Policy


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
