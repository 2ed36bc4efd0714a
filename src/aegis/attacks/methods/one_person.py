"""Find the rows of somebody who has several: a group may look like a crowd and be one person."""

from __future__ import annotations

import numpy as np

from aegis.arrays import Codes
from aegis.attacks.attack import Claims, NotApplicable, attack
from aegis.attacks.scene import Scene


@attack(
    "one-person",
    knows="the quasi-identifiers of one of the person's records; claims the rows that fit where all are that person's",
    cheap=True,
)
def one_person(scene: Scene) -> Claims | NotApplicable:
    """Claims a person where every row that fits one of the person's records is that person's, however many."""
    truth = scene.truth
    if scene.unit is None or scene.unit not in truth.codes:
        return NotApplicable(reason="nothing says whose the records are: name the column with --person, or as unit")
    person = truth.codes[scene.unit]
    candidates = scene.candidates(scene.release.view)
    tuples, classes = len(candidates.tuple_rows), len(candidates.class_rows)
    owner = np.repeat(np.arange(tuples), np.diff(candidates.ends))
    lowest, highest = _spread(candidates.tuple_of, person, person, tuples)
    # A class holds people from the lowest to the highest number among the tuples that fit it, and so on back to tuples.
    low, high = _spread(candidates.listed, lowest[owner], highest[owner], classes)
    fewest, most = _spread(owner, low[candidates.listed], high[candidates.listed], tuples)
    alone = (fewest == most) & (candidates.tuple_rows > 0)
    exposed = np.unique(person[alone[candidates.tuple_of]])
    people = len(np.unique(person))
    return Claims(
        people=people,
        singled_out=len(exposed),
        right=len(exposed),
        baseline=1 / max(people, 1),
        details={"records": float(alone[candidates.tuple_of].sum())},
    )


def _spread(group: Codes, low: Codes, high: Codes, groups: int) -> tuple[Codes, Codes]:
    """The smallest of ``low`` and the largest of ``high`` in each group."""
    smallest = np.full(groups, np.iinfo(np.int64).max, dtype=np.int64)
    largest = np.full(groups, -1, dtype=np.int64)
    np.minimum.at(smallest, group, low)
    np.maximum.at(largest, group, high)
    return smallest, largest
