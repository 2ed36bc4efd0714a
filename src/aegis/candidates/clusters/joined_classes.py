"""Classes that fail join the class with the nearest centre until none fails: by a whole policy, or by people.

The compiled search keeps by itself what a policy asks of every class alone (`ClassLimits`). The whole policy is a judge
that looks at all classes (`PolicyClasses`): a partition that it refuses is not thrown away, its failing classes are
joined. So every partition that the search considers is compared by what it loses *after* it was made to satisfy the
policy.

A method that forms classes of k records may put five records of one person together (`joined_until_enough`). Joining
classes never takes a person away, so it ends: at the latest with all records in one class.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Ints
from aegis.candidates.clusters.first_partition import Say
from aegis.candidates.clusters.information_loss import Scale, centers_of, divisors
from aegis.candidates.clusters.records import Records
from aegis.counts.class_table import ClassTable
from aegis.counts.people import People
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.errors import AnonymizerError, PolicyNotSatisfiedError
from aegis.privacy.judgement import Judgement, judge_all
from aegis.privacy.policy import Policy


class PolicyClasses:
    """Judges partitions of some records by a policy, and joins what fails."""

    def __init__(self, records: Records, policy: Policy, *, scale: Scale) -> None:
        if policy.unit is not None or records.persons is not None:
            raise AnonymizerError("a policy that counts people cannot be judged inside this search; use boxes")
        if policy.hierarchical:
            raise AnonymizerError(
                "a model that measures along a hierarchy cannot be judged inside this search; use boxes"
            )
        for attribute in policy.attributes:
            if attribute not in records.sensitive_names:
                raise AnonymizerError(f"the policy protects {attribute!r}, which is not among the sensitive attributes")
        self._records, self._scale = records, scale
        self._policy = replace(policy, max_suppression=0.0)  # classes are joined, nobody is left out
        self._contents = secrets_of(records)

    def judged(self, labels: Ints) -> Judgement:
        """What the policy says of the classes."""
        table = ClassTable.from_codes(
            columns=("class",),
            domains=(Domain.of(Kind.INTEGER, np.arange(int(labels.max()) + 1)),),
            codes=labels[:, None],
            counts=np.ones(len(labels), dtype=np.int64),
            contents=self._contents,
            encoded=True,
        )
        return judge_all(table, self._policy)

    def joined(self, labels: Ints, *, say: Say | None = None) -> Ints:
        """The partition after failing classes joined the nearest others until the policy holds.

        Raises PolicyNotSatisfiedError where not even all records in one class satisfy it.
        """
        labels = np.unique(labels, return_inverse=True)[1].astype(np.int64)
        while True:
            judgement = self.judged(labels)
            if judgement.satisfied:
                return labels
            classes = int(labels.max()) + 1
            if classes == 1:
                raise PolicyNotSatisfiedError(
                    f"not even all records in one class satisfy this policy: {judgement.reason}; ask for less"
                )
            failing = np.zeros(classes, dtype=bool)
            for verdict in judgement.came_verdicts:
                failing |= verdict.failing[:classes]
            if not failing.any():  # a model about all classes together: the smallest class has to go
                failing[int(np.bincount(labels).argmin())] = True
            if say is not None:
                say(f"joining {int(failing.sum()):,} of {classes:,} classes that do not satisfy the policy")
            labels = self._merged(labels, failing)

    def _merged(self, labels: Ints, failing: NDArray[np.bool_]) -> Ints:
        """Each failing class joined to the class with the nearest centre, the smallest first."""
        centers = centers_of(self._records, labels)
        numbers = centers.numeric / divisors(self._records, scale=self._scale)
        codes, sizes = centers.categorical, np.bincount(labels)
        target = np.arange(len(sizes))
        places = np.flatnonzero(failing)
        for place in places[np.argsort(sizes[places], kind="stable")]:
            if target[place] != place or (target == place).sum() > 1:  # joined in this round: look again in the next
                continue
            away = ((numbers - numbers[place]) ** 2).sum(axis=1) + (codes != codes[place]).sum(axis=1)
            away[place] = np.inf
            target[place] = target[int(away.argmin())]
        return np.unique(target[labels], return_inverse=True)[1].astype(np.int64)


def secrets_of(records: Records) -> dict[str, tuple[Domain, Ints]]:
    """The sensitive attributes as a policy looks at them: by name the domain and the code of each record."""
    return {
        name: (_domain(values), codes)
        for name, values, codes in zip(
            records.sensitive_names, records.sensitive_values, records.sensitive.T, strict=True
        )
    }


def _domain(values: NDArray[np.generic]) -> Domain:
    """The domain behind the codes of a sensitive attribute, numbers in their order; names are not needed."""
    present = [value for value in values.tolist() if value is not None]
    missing = len(present) < len(values)
    if present and all(isinstance(value, int | float) and not isinstance(value, bool) for value in present):
        return Domain.of(Kind.REAL, present, missing=missing)
    return Domain.of(Kind.TEXT, [f"{code:09d}" for code in range(len(present))], missing=missing)


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
