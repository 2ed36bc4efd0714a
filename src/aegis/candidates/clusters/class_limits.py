"""What a policy asks of a class that its size and its counts of sensitive values can answer, for the compiled tries.

Judging a whole partition costs thousands of tries. Most models say what they ask of every class by itself
(`Model.class_bounds`), and the tries keep counts that answer it: whatever breaks such a bound is refused at once.
Models that speak of all classes together are asked about whole partitions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from aegis.arrays import Floats, Ints
from aegis.candidates.clusters.joined_classes import secrets_of
from aegis.candidates.clusters.records import Records
from aegis.candidates.clusters.units import State, Units
from aegis.compiled import compiled
from aegis.privacy.class_bounds import SecretShares
from aegis.privacy.policy import Policy


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
        nats=np.array([max((bound.nats for bound in of[name]), default=0.0) for name in of]),
        apart=np.array([min((bound.apart for bound in of[name]), default=np.inf) for name in of]),
        steps_apart=np.array(steps) * np.array(steps_apart),
        least=per_value("least", most=False),
        least_held=per_value("least_held", most=False),
        most=per_value("most", most=True),
        outweighed=np.array([at for at, _ in outweighed], dtype=np.int64),
        times=np.array([bound.times for _, bound in outweighed]),
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
