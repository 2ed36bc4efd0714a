"""Several configurations of one table judged together: what somebody sees who links the rows of all their releases.

Each release puts the distinct tuples of the table into classes; together they show the common refinement. So any number
of releases is one more grouping of the class table that was counted once, and no second pass over the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from aegis.counts.class_table import ClassTable, suppressed_classes
from aegis.counts.content import Content
from aegis.counts.grouping import Codes, Tuples, group_tuples, summed
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.errors import ConfigurationError
from aegis.masking.configuration import Configuration
from aegis.masking.partition import Partition
from aegis.privacy.judgement import judge_all
from aegis.privacy.policy import Policy
from aegis.ranking.verdicts import partitions_of

TOGETHER = "_aegis_together"
_PAIRS = 10
"""Up to so many configurations every pair is tried, to say which two break the policy."""


def joint_classes(
    configurations: Sequence[Configuration], classes: ClassTable, policy: Policy, *, suppress: bool = True
) -> ClassTable:
    """The classes that several releases show together, each with the records suppressed that it would suppress.

    ``classes`` counts the raw tuples. A sensitive attribute is seen as finely as all of them together show it.
    """
    together = np.zeros(classes.classes, dtype=np.int64)
    seen: dict[str, list[Partition]] = {name: [] for name in classes.contents}
    for configuration in configurations:
        partitions = partitions_of(configuration, classes)
        if partitions is None:
            raise ConfigurationError(
                f"configuration {configuration.name!r} masks a quasi-identifier or a sensitive column at random, and "
                "what it draws is known only when it is released; release it, and judge the next one by its ledger"
            )
        own = _classes_in(classes, partitions, policy, suppress=suppress)
        pair = np.stack([together, own], axis=1)
        together = group_tuples(pair, [int(together.max()) + 1, int(own.max()) + 1])[1]
        for name in seen:
            seen[name].append(partitions[name])
    count = int(together.max(initial=-1)) + 1
    contents = {name: _finest(classes.contents[name], parts).regrouped(together, count) for name, parts in seen.items()}
    return ClassTable(
        columns=(TOGETHER,),
        domains=(Domain.of(Kind.INTEGER, np.arange(count)),),
        tuples=Tuples(np.asfortranarray(np.arange(count)[:, None])),
        sizes=summed(classes.sizes, together, count),
        contents=contents,
    )


def breaking(
    configurations: Sequence[Configuration], classes: ClassTable, policy: Policy, *, suppress: bool = True
) -> tuple[tuple[str, ...], ...]:
    """Which configurations break the policy together: those that do so alone, else pairs, else all of them."""

    def breaks(some: Sequence[Configuration]) -> bool:
        return not judge_all(joint_classes(some, classes, policy, suppress=suppress), policy, suppress=False).satisfied

    alone = [(each.name,) for each in configurations if breaks([each])]
    if alone or len(configurations) > _PAIRS:
        return tuple(alone) or (tuple(each.name for each in configurations),)
    pairs = [(a.name, b.name) for a, b in combinations(configurations, 2) if breaks([a, b])]
    return tuple(pairs) or (tuple(each.name for each in configurations),)


def _classes_in(classes: ClassTable, partitions: dict[str, Partition], policy: Policy, *, suppress: bool) -> Codes:
    """The class that each raw tuple has in one release; the suppressed ones are one class."""
    codes = np.stack(
        [partitions[column].codes[classes.codes[:, place]] for place, column in enumerate(classes.columns)], axis=1
    )
    _, group = group_tuples(codes, [partitions[column].target.size for column in classes.columns])
    merged = classes.merged(partitions)
    judged = judge_all(merged, policy, suppress=suppress)
    if not judged.suppressed:
        return group
    hidden = suppressed_classes(merged, judged.released)
    return np.where(hidden[group], merged.classes, group)


def _finest(content: Content, parts: Sequence[Partition]) -> Content:
    """A sensitive attribute as finely as several masks of it show it together."""
    first = parts[0]
    if all(np.array_equal(part.codes, first.codes) for part in parts):
        return content if first.target.size == content.domain.size else content.masked(first)
    codes = np.stack([part.codes for part in parts], axis=1)
    tuples, group = group_tuples(codes, [part.target.size for part in parts])
    if len(tuples) == content.domain.size:
        return content
    return content.masked(Partition(codes=group, target=Domain.of(Kind.INTEGER, np.arange(len(tuples)))))
