"""Boxes judged together with the earlier releases of the table that they were grown on, from its class table alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from aegis.candidates.boxes.recoding import Boxes
from aegis.counts.class_table import ClassTable
from aegis.counts.grouping import Tuples, group_tuples, summed
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.errors import LedgerError
from aegis.library.ledgers.constraints import Constraints
from aegis.library.ledgers.earlier_promises import masks_to_repeat
from aegis.privacy.together import KNOWN_CLASS, Together, judge_together


def counts_for_boxes(constraints: Constraints, contents: tuple[str, ...]) -> ClassTable:
    """The classes of a table that boxes are cut by, the known class last where something was released of it before.

    Raises where boxes cannot be judged together with that.
    """
    masked = {} if constraints.earlier is None else masks_to_repeat(constraints.earlier)
    if masked:
        raise LedgerError(
            f"the sensitive column {next(iter(masked))!r} left masked, and boxes leave it as it is: what both show "
            "of it together cannot be judged; search for masks (--space both), which repeats that mask"
        )
    return constraints.classes(contents=contents)


def judge_boxes(boxes: Boxes, counts: ClassTable, constraints: Constraints) -> Together:
    """What somebody sees who links the rows of a table in ``boxes`` to all earlier releases."""
    assert constraints.earlier is not None, "alone boxes are judged where they are cut"
    table = in_boxes(boxes, counts)
    return judge_together(table, constraints.policy, gone=constraints.earlier.gone_from(table))


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
