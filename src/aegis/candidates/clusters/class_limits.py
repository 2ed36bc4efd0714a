"""What a policy, or a number of people, asks of classes: limits for the compiled tries, and joining those that fail.

Judging a whole partition costs thousands of tries. Most models say what they ask of every class by itself
(`Model.class_bounds`), and the tries keep counts that answer it: whatever breaks such a bound (`ClassLimits`) is
refused at once. The whole policy, models that speak of all classes together included, is a judge that looks at whole
partitions (`PolicyClasses`): one that it refuses is not thrown away, its failing classes join the class with the
nearest centre until none fails. So every partition that the search considers is compared by what it loses *after* it
was made to satisfy the policy.

A method that forms classes of k records may put five records of one person together (`joined_until_enough`). Joining
classes never takes a person away, so it ends: at the latest with all records in one class.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Flags, Floats, Ints
from aegis.candidates.clusters.first_partition import Say
from aegis.candidates.clusters.information_loss import Scale, centers_of, divisors
from aegis.candidates.clusters.records import Records
from aegis.candidates.clusters.units import State, Units
from aegis.compiled import compiled
from aegis.counts.class_table import ClassTable
from aegis.counts.people import People
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.errors import AnonymizerError, PolicyNotSatisfiedError
from aegis.privacy.class_bounds import SecretShares
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

    def _merged(self, labels: Ints, failing: Flags) -> Ints:
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


def too_few(people: People, *, k: int, l: int) -> Flags:
    """The classes with fewer than ``k`` people, or with fewer than ``l`` values however one is chosen for each."""
    failing = people.sizes < k
    for held in people.held.values() if l > 1 else ():
        failing |= held.most_alike(people.sizes).distinct < l
    return failing


def joined_until_enough(records: Records, labels: Ints, *, k: int, l: int, scale: Scale) -> Ints:
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


class ClassLimits(NamedTuple):
    """The bounds of all models of a policy together; what asks for nothing is zero, or infinite for what must be below.

    Per attribute there are as many places as sensitive attributes, per value as values of all of them.
    """

    records: int
    distinct: Ints  # per attribute
    nats: Floats
    apart: Floats
    steps_apart: Floats  # the sum over all steps
    least: Floats  # per value, as a share of the class
    least_held: Floats
    most: Floats
    outweighed: Ints  # the attributes whose largest count must stay below others, one for each model that asks it
    times: Floats
    first: Ints
    shares: Floats  # per value, in the whole table
    asked: bool  # whether any attribute is asked about
    whole: bool  # whether this is all that the policy asks

    def __repr__(self) -> str:  # shares are of the data
        return f"ClassLimits({len(self.distinct)} attributes)"


def limits_of(records: Records, policy: Policy | None) -> ClassLimits:
    """The limits that a policy sets on classes of these records."""
    secrets = {
        name: SecretShares(domain=domain, shares=np.bincount(codes, minlength=domain.size) / len(records))
        for name, (domain, codes) in secrets_of(records).items()
    }
    asked = [model.class_bounds(secrets) for model in (() if policy is None else policy.models)]
    bounds = [bound for model in asked for bound in model or ()]
    of = {name: [bound for bound in bounds if bound.attribute == name] for name in secrets}

    def per_value(field: str, *, most: bool) -> Floats:
        """The strictest of the shares that some bounds name, for the values of all attributes."""
        nothing, strictest = (np.inf, np.minimum) if most else (0.0, np.maximum)
        parts = [np.zeros(0)]
        for name, secret in secrets.items():
            named = [getattr(bound, field) for bound in of[name] if getattr(bound, field) is not None]
            parts.append(strictest.reduce([np.full(len(secret.shares), nothing), *named]))
        return np.concatenate(parts)

    outweighed = [
        (at, bound.outweighed) for at, name in enumerate(of) for bound in of[name] if bound.outweighed is not None
    ]
    steps = [max(np.count_nonzero(secret.shares) - 1, 1) for secret in secrets.values()]
    steps_apart = [min((bound.steps_apart for bound in of[name]), default=np.inf) for name in of]
    return ClassLimits(
        records=max((bound.records for bound in bounds), default=1),
        distinct=np.array([max((bound.distinct for bound in of[name]), default=1) for name in of], dtype=np.int64),
        nats=np.array([max((bound.nats for bound in of[name]), default=0.0) for name in of], dtype=np.float64),
        apart=np.array([min((bound.apart for bound in of[name]), default=np.inf) for name in of], dtype=np.float64),
        steps_apart=np.array(steps) * np.array(steps_apart, dtype=np.float64),
        least=per_value("least", most=False),
        least_held=per_value("least_held", most=False),
        most=per_value("most", most=True),
        outweighed=np.array([at for at, _ in outweighed], dtype=np.int64),
        times=np.array([bound.times for _, bound in outweighed], dtype=np.float64),  # also where a policy says 2
        first=np.array([bound.first for _, bound in outweighed], dtype=np.int64),
        shares=np.concatenate([np.zeros(0), *(secret.shares for secret in secrets.values())]),
        asked=any(bound.attribute is not None for bound in bounds),
        whole=all(model is not None for model in asked),
    )


@compiled
def within(units: Units, state: State, c: int, limits: ClassLimits) -> bool:
    """Whether class ``c`` is empty or keeps the limits."""
    size = state.size[c]
    if size == 0:
        return True
    if size < limits.records:
        return False
    if not limits.asked:
        return True
    for j in range(len(limits.distinct)):
        if state.distinct[c, j] < limits.distinct[j]:
            return False
    values = len(limits.shares)
    v = 0
    while v < values:
        j = units.sensitive_attribute[v]
        nats, apart, ahead, steps = 0.0, 0.0, 0.0, 0.0
        while v < values and units.sensitive_attribute[v] == j:
            share = state.seen[c, v] / size
            if share < limits.least[v] or share > limits.most[v] or 0.0 < share < limits.least_held[v]:
                return False
            gap = share - limits.shares[v]
            if share > 0.0:
                nats -= share * np.log(share)
            apart += max(gap, 0.0)
            ahead += gap
            if limits.shares[v] > 0.0:  # only values that occur are steps
                steps += abs(ahead)
            v += 1
        if nats < limits.nats[j] or apart > limits.apart[j] or steps > limits.steps_apart[j]:
            return False
    for at in range(len(limits.outweighed)):
        if _outweighs(units, state, c, limits.outweighed[at], limits.times[at], limits.first[at]):
            return False
    return True


@compiled
def _outweighs(units: Units, state: State, c: int, j: int, times: float, first: int) -> bool:
    """Whether the largest count of attribute ``j`` reaches so many times the sum of all from the ``first``-th on."""
    left, largest = state.size[c], 0
    below = state.size[c] + 1  # all counts from here up were taken already
    taken = 0
    while taken < first - 1 or largest == 0:
        count, equal = 0, 0
        for v in range(len(units.sensitive_attribute)):
            seen = state.seen[c, v]
            if units.sensitive_attribute[v] != j or seen >= below or seen < count:
                continue
            equal = equal + 1 if seen == count else 1
            count = seen
        if count == 0:
            break
        if largest == 0:
            largest = count
        leaving = min(equal, first - 1 - taken)
        left -= leaving * count
        taken += leaving
        below = count
    return left == 0 or largest / left >= times
