"""Classes under a whole policy: t-closeness, diversity of any kind, risks, whatever is registered.

The compiled search keeps k and l by itself. Every other model is a judge that looks at whole classes: a partition that
it refuses is not thrown away, its failing classes join the class with the nearest centre until none fails. So every
partition that the search considers is compared by what it loses *after* it was made to satisfy the policy.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from aegis.candidates.clusters.arrays import Ints
from aegis.candidates.clusters.first_partition import Say
from aegis.candidates.clusters.information_loss import Scale, centers_of, divisors
from aegis.candidates.clusters.records import Records
from aegis.counts.class_table import ClassTable
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.errors import AnonymizerError, PolicyNotSatisfiedError
from aegis.privacy.judgement import Judgement, judge_all
from aegis.privacy.models.k_anonymity import KAnonymity
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
        self._contents = {
            name: (_domain(values), codes)
            for name, values, codes in zip(
                records.sensitive_names, records.sensitive_values, records.sensitive.T, strict=True
            )
        }

    @property
    def k(self) -> int:
        """The fewest records that the policy asks for by k."""
        return max((model.k for model in self._policy.models if isinstance(model, KAnonymity)), default=1)

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


def _domain(values: NDArray[np.generic]) -> Domain:
    """The domain behind the codes of a sensitive attribute, numbers in their order; names are not needed."""
    present = [value for value in values.tolist() if value is not None]
    missing = len(present) < len(values)
    if present and all(isinstance(value, int | float) and not isinstance(value, bool) for value in present):
        return Domain.of(Kind.REAL, present, missing=missing)
    return Domain.of(Kind.TEXT, [f"{code:09d}" for code in range(len(present))], missing=missing)
