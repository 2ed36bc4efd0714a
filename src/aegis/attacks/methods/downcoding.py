"""Undo a recoding that is as fine as it may be: the ends of a tight interval are values that somebody has.

Where each group's interval runs exactly from its smallest to its largest value, somebody in the group has each end. If
only one person who fits the group has it, that person is in the group, however many other groups fit as well.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Codes
from aegis.attacks.attack import Claims, NotApplicable, attack
from aegis.attacks.candidates import Candidates
from aegis.attacks.scene import Scene
from aegis.data.domain import Domain
from aegis.data.published_values import Interval

_TIGHT = 0.95  # share of the ends that are true values where intervals are tight


@attack(
    "downcoding",
    knows="all quasi-identifiers of everybody, and that intervals are no wider than their groups need",
)
def downcoding(scene: Scene) -> Claims | NotApplicable:
    """Claims a group for a person whom several fit, where he alone can be one of its ends."""
    view, people = scene.release.view, scene.truth
    columns = [name for name in view.telling(scene.known) if name in people.codes]
    candidates = scene.candidates(view)
    per_tuple = np.diff(candidates.ends)
    if not (per_tuple > 1).any():
        return NotApplicable(reason="no person fits more than one group")
    whole = scene.whole(view)
    in_tuple = np.bincount(candidates.tuple_of, minlength=len(per_tuple))
    owner = np.repeat(np.arange(len(per_tuple)), per_tuple)
    person_of = np.zeros(len(per_tuple), dtype=np.int64)
    person_of[candidates.tuple_of] = np.arange(people.count)
    forced: list[Codes] = []
    for name in columns:
        column = view.columns[name]
        written = column.codes[candidates.row_of_class]
        low, high = column.reading.low[written], column.reading.high[written] - 1
        wide = low < high
        true = people.codes[name][person_of[owner]]
        tight = _named_ends(column.texts, people.domains[name])
        for end, named in ((low, tight[0][written]), (high, tight[1][written])):
            # Where an end is often a number that nobody has, intervals are not tight, and no end says anything.
            if not wide.any() or named[wide].mean() < _TIGHT:
                continue
            at_end = (true == end[candidates.listed]) & (wide & named)[candidates.listed]
            reached = np.bincount(candidates.listed[at_end], weights=in_tuple[owner[at_end]], minlength=len(low))
            alone = at_end & (reached[candidates.listed] == 1) & (per_tuple[owner] > 1)
            forced.append(np.flatnonzero(alone))
    pairs = np.unique(np.concatenate(forced)) if forced else np.zeros(0, dtype=np.int64)
    persons, classes = person_of[owner[pairs]], candidates.listed[pairs]
    right = _own_class(whole, candidates.class_of, persons, classes)
    chance = 1 / per_tuple[owner[pairs]]
    return Claims(
        people=int((per_tuple[candidates.tuple_of] > 1).sum()),
        singled_out=len(persons),
        right=int(right.sum()),
        baseline=float(chance.mean()) if len(chance) else 0.0,
    )


def _named_ends(texts: tuple[str | None, ...], domain: Domain) -> NDArray[np.bool_]:
    """Whether the smallest, and the largest, number of each written interval is one that somebody has."""
    named = np.zeros((2, len(texts)), dtype=bool)
    if not domain.kind.is_number:
        return named
    values = set(domain.values.astype(np.float64).tolist())
    for number, text in enumerate(texts):
        interval = None if text is None else Interval.parse(text)
        if interval is not None:
            named[0, number] = interval.closed_low and interval.low in values
            named[1, number] = interval.closed_high and interval.high in values
    return named


def _own_class(
    whole: Candidates, class_of: Codes, persons: Codes, classes: Codes
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Whether a row that fits the person in every column is in the class that was claimed."""
    own_class = class_of[whole.row_of_class]  # rows that are alike in every column are in one class
    alone = np.zeros(len(persons), dtype=bool)
    tuples = whole.tuple_of[persons]
    lengths = np.diff(whole.ends)[tuples]
    places = np.repeat(whole.ends[tuples], lengths) + (
        np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    )
    hit = own_class[whole.listed[places]] == np.repeat(classes, lengths)
    np.logical_or.at(alone, np.repeat(np.arange(len(persons)), lengths), hit)
    return alone
