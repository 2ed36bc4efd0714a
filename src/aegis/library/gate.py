"""Which configurations may leave at all: every one judged by the policy, from one class table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from aegis.counts.class_table import ClassTable
from aegis.data.dataset import Dataset
from aegis.library.check import classes_of
from aegis.masking.configuration import Configuration
from aegis.masking.partition import Partition
from aegis.masking.transition import transition
from aegis.privacy.judgement import judge_all
from aegis.privacy.policy import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """Whether a configuration satisfies the policy; None where a mask draws, so that only its release can tell."""

    satisfied: bool | None
    suppressed: int
    smallest_class: int
    failing: tuple[str, ...]

    @property
    def reason(self) -> str:
        """Why it does not pass."""
        if self.satisfied is None:
            return "masks a quasi-identifying or sensitive column at random: only the written release can be judged"
        return "does not satisfy " + ", ".join(self.failing)


def judge_configurations(
    dataset: Dataset,
    configurations: Iterable[Configuration],
    policy: Policy,
    *,
    hierarchies: Mapping[str, Any] | None = None,
) -> dict[str, Passage]:
    """Judge each configuration on the merged classes of the one table that was counted."""
    roles = policy.roles_in(dataset.schema, dataset.roles)
    table = classes_of(dataset, policy, roles, hierarchies=hierarchies)
    return {one.name: _passage(one, table, policy) for one in configurations}


def merged_classes(configuration: Configuration, table: ClassTable) -> ClassTable | None:
    """The classes after masking; None where a mask draws."""
    partitions: dict[str, Partition] = {}
    domains = dict(zip(table.columns, table.domains, strict=True))
    domains.update({name: content.domain for name, content in table.contents.items()})
    for column, domain in domains.items():
        if column in table.columns:
            codes = table.codes[:, table.columns.index(column)]
            counts = np.bincount(codes, weights=table.sizes, minlength=domain.size)
        else:
            counts = np.asarray(table.contents[column].dense().sum(axis=0), dtype=np.float64)
        change = transition(configuration[column], domain, counts)
        if not isinstance(change, Partition):
            return None
        partitions[column] = change
    return table.merged(partitions)


def _passage(configuration: Configuration, table: ClassTable, policy: Policy) -> Passage:
    merged = merged_classes(configuration, table)
    if merged is None:
        return Passage(satisfied=None, suppressed=0, smallest_class=0, failing=())
    judged = judge_all(merged, policy)
    failing = tuple(v.title for v in judged.verdicts if not v.satisfied)
    if not judged.satisfied and not failing:
        failing = ("max_suppression",)
    return Passage(
        satisfied=judged.satisfied,
        suppressed=judged.suppressed,
        smallest_class=judged.smallest_class,
        failing=failing,
    )
