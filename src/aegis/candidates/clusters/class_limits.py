"""What a policy asks of a class that its counts of sensitive values can answer, for the compiled tries.

Judging a whole partition costs thousands of tries. Distinct and entropy l-diversity and t-closeness need no more than
the counts that the tries keep anyway, so a try that breaks one of them is refused at once. All other models are judged
on whole partitions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Floats, Ints
from aegis.candidates.clusters.records import Records
from aegis.candidates.clusters.units import State, Units
from aegis.compiled import compiled
from aegis.privacy.model import ROUNDING
from aegis.privacy.models.l_diversity import DistinctLDiversity, EntropyLDiversity
from aegis.privacy.models.t_closeness import TCloseness
from aegis.privacy.policy import Policy


class ClassLimits(NamedTuple):
    """Per sensitive attribute what a class must keep; what asks for nothing is zero, or infinite for a distance."""

    distinct: Ints
    nats: Floats  # of entropy
    apart: Floats  # equal distance from the whole table
    steps_apart: Floats  # ordered distance from it, in steps
    shares: Floats  # (sensitive values,), in the whole table
    asked: bool  # whether anything is

    def __repr__(self) -> str:  # shares are of the data
        return f"ClassLimits({len(self.distinct)} attributes)"


def limits_of(records: Records, policy: Policy | None) -> ClassLimits:
    """The limits that a policy sets on classes of these records."""
    attributes = len(records.sensitive_names)
    counts = [np.bincount(column) for column in records.sensitive.T]
    limits = ClassLimits(
        distinct=np.zeros(attributes, dtype=np.int64),
        nats=np.zeros(attributes),
        apart=np.full(attributes, np.inf),
        steps_apart=np.full(attributes, np.inf),
        shares=np.concatenate([np.zeros(0), *counts]) / len(records),
        asked=False,
    )
    for model in () if policy is None else policy.models:
        if model.subject not in records.sensitive_names:
            continue
        j = records.sensitive_names.index(model.subject)
        match model:
            case DistinctLDiversity():
                limits.distinct[j] = model.l
            case EntropyLDiversity():
                limits.nats[j] = np.log(model.l * (1 - ROUNDING))
            case TCloseness(distance="equal"):
                limits.apart[j] = model.t + ROUNDING
            case TCloseness(distance="ordered") if _in_order(records.sensitive_values[j]):
                limits.steps_apart[j] = (model.t + ROUNDING) * (len(counts[j]) - 1)
            case _:
                continue
        limits = limits._replace(asked=True)
    return limits


def _in_order(values: NDArray[np.generic]) -> bool:
    """Whether the codes of these values follow their order: numbers, none of them missing."""
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values.tolist())


@compiled
def within(units: Units, state: State, c: int, limits: ClassLimits) -> bool:
    """Whether class ``c`` is empty or keeps the limits."""
    size = state.size[c]
    if size == 0 or not limits.asked:
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
            gap = share - limits.shares[v]
            if share > 0.0:
                nats -= share * np.log(share)
            apart += max(gap, 0.0)
            ahead += gap
            steps += abs(ahead)
            v += 1
        if nats < limits.nats[j] or apart > limits.apart[j] or steps > limits.steps_apart[j]:
            return False
    return True
