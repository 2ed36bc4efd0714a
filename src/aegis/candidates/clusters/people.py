"""Classes of enough people: classes whose records belong to too few of them join the nearest other one.

A method that forms classes of k records may put five records of one person together. Joining classes never takes a
person away, so it ends: at the latest with all records in one class.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aegis.candidates.clusters.arrays import Ints
from aegis.candidates.clusters.information_loss import Scale, centers_of, divisors
from aegis.candidates.clusters.records import Records
from aegis.counts.people import People
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.errors import AnonymizerError


def check_enough_people(records: Records, *, k: int) -> None:
    """Raise where the table holds fewer than ``k`` people."""
    if records.persons is None:
        return
    people = len(np.unique(records.persons))
    if k > people:
        raise AnonymizerError(
            f"k = {k} needs at least {k} people and the table has {people}: use k of at most {people}"
        )


def people_in(records: Records, labels: Ints) -> People:
    """Who is in which class; the records must say whose they are."""
    assert records.persons is not None, "asked only where people are counted"
    contents = {
        name: (Domain.of(Kind.INTEGER, np.arange(int(codes.max()) + 1)), codes)
        for name, codes in zip(records.sensitive_names, records.sensitive.T, strict=True)
    }
    return People.of(
        column="person",
        owners=labels,
        persons=records.persons,
        records=np.ones(len(labels), dtype=np.int64),
        classes=int(labels.max()) + 1,
        contents=contents,
    )


def too_few(people: People, *, k: int, l: int) -> NDArray[np.bool_]:  # noqa: E741 - l as in l-diversity
    """The classes with fewer than ``k`` people, or with fewer than ``l`` values however one is chosen for each."""
    failing = people.sizes < k
    for held in people.held.values() if l > 1 else ():
        failing |= held.most_alike(people.sizes).distinct < l
    return failing


def joined_until_enough(records: Records, labels: Ints, *, k: int, l: int, scale: Scale) -> Ints:  # noqa: E741
    """The classes with those of too few people joined to the class with the nearest centre."""
    labels = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    unit = divisors(records, scale=scale)
    while True:
        people = people_in(records, labels)
        failing = np.flatnonzero(too_few(people, k=k, l=l))
        if not len(failing):
            return labels
        if people.classes == 1:
            raise AnonymizerError(
                f"not even all records in one class have {l} values that not everybody shares; ask for a smaller l"
            )
        centers = centers_of(records, labels)
        numbers, codes = centers.numeric / unit, centers.categorical
        target = np.arange(people.classes)
        for place in failing[np.argsort(people.sizes[failing], kind="stable")]:
            if target[place] != place:  # somebody joined it in this round: look again in the next
                continue
            away = ((numbers - numbers[place]) ** 2).sum(axis=1) + (codes != codes[place]).sum(axis=1)
            away[target == place] = np.inf
            target[target == place] = target[int(away.argmin())]  # whoever joined either of them before comes along
        labels = np.unique(target[labels], return_inverse=True)[1].astype(np.int64)
