"""Boxes judged together with the earlier releases of the table that they were grown on, from its class table alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from aegis.candidates.boxes.recoding import Boxes
from aegis.counts.class_table import ClassTable
from aegis.counts.grouping import Tuples, group_tuples, summed
from aegis.data.domain import Domain
from aegis.data.hierarchy import Hierarchy
from aegis.data.kind import Kind
from aegis.data.schema import Roles
from aegis.errors import LedgerError
from aegis.library.ledgers.earlier_promises import masks_to_repeat
from aegis.library.ledgers.earlier_releases import EarlierReleases
from aegis.library.tables.judging import classes_of
from aegis.privacy.policy import Policy
from aegis.privacy.together import KNOWN_CLASS, Together, judge_together


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BoxesUnderLedger:
    """A table of which something was released, counted with the known class of every record for boxes to be judged
    by."""

    earlier: EarlierReleases
    policy: Policy
    roles: Roles
    contents: tuple[str, ...]
    hierarchies: Mapping[str, Hierarchy]

    def counts(self) -> ClassTable:
        """The classes of the table, the known class last; raises where boxes cannot be judged with earlier releases."""
        masked = masks_to_repeat(self.earlier)
        if masked:
            raise LedgerError(
                f"the sensitive column {next(iter(masked))!r} left masked, and boxes leave it as it is: what both show "
                "of it together cannot be judged; search for masks (--space both), which repeats that mask"
            )
        return self._counted(self.earlier)

    def judge(self, boxes: Boxes, counts: ClassTable) -> Together:
        """What somebody sees who links the rows of a table in ``boxes`` to all earlier releases."""
        return self._judged(self.earlier, boxes, counts)

    def judged_with(self, boxes: Boxes, earlier: EarlierReleases) -> Together:
        """The same as if only some of it were out."""
        return self._judged(earlier, boxes, self._counted(earlier))

    def _counted(self, earlier: EarlierReleases) -> ClassTable:
        return classes_of(
            earlier.dataset,
            self.policy,
            self.roles,
            contents=self.contents,
            hierarchies=self.hierarchies,
            known=True,
        )

    def _judged(self, earlier: EarlierReleases, boxes: Boxes, counts: ClassTable) -> Together:
        table = in_boxes(boxes, counts)
        return judge_together(table, self.policy, gone=earlier.gone_from(table))


def in_boxes(boxes: Boxes, counts: ClassTable) -> ClassTable:
    """The classes of a table with what boxes publish in place of its tuples, beside the known class.

    Boxes that publish the same, as those of suppressed records do, are one.
    """
    if counts.columns[-1] != KNOWN_CLASS:
        raise LedgerError("nothing says in which known class the records are")
    texts: dict[tuple[str | None, ...], int] = {}
    number = np.array([texts.setdefault(tuple(published), len(texts)) for published in boxes.texts], dtype=np.int64)
    box = number[boxes.box_of(counts.domains[:-1], counts.codes[:, :-1])]
    seen = Domain.of(Kind.INTEGER, np.arange(len(texts)))
    codes = np.asfortranarray(np.stack([box, counts.codes[:, -1]], axis=1))
    tuples, group = group_tuples(codes, [seen.size, counts.domains[-1].size])
    return replace(
        counts,
        columns=("box", KNOWN_CLASS),
        domains=(seen, counts.domains[-1]),
        tuples=Tuples(tuples),
        sizes=summed(counts.sizes, group, len(tuples)),
        contents={name: content.regrouped(group, len(tuples)) for name, content in counts.contents.items()},
        population=None,
        people=None if counts.people is None else counts.people.regrouped(group, len(tuples)),
    )
