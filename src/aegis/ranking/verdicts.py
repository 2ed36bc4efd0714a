"""Counts to verdicts: which candidates may be released at all, judged by the policy on one class table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from aegis.counts.class_table import ClassTable
from aegis.masking.configuration import Configuration
from aegis.masking.transition import Partition, transition
from aegis.privacy.judgement import Judgement, judge_all
from aegis.privacy.policy import Policy
from aegis.privacy.together import KNOWN_CLASS, GoneFrom, Together, judge_together, nobody_gone


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ReleasedClasses:
    """The classes that a candidate would publish, and what its masks do to the columns of the counted table."""

    table: ClassTable
    partitions: Mapping[str, Partition]


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateVerdict:
    """Whether a candidate satisfies the policy; None where there is no policy.

    ``drawn`` says that a mask draws at random: counts cannot judge it, only its release can, and it does not pass.
    ``average_risk`` is the share of rows that somebody would name rightly who knows everybody's quasi-identifiers and
    takes one of the rows that fit at random: classes by rows. None where the classes are not known.
    """

    satisfied: bool | None
    suppressed: int
    smallest_class: int
    failing: tuple[str, ...]
    drawn: bool = False
    released: ReleasedClasses | None = None
    average_risk: float | None = None

    @classmethod
    def of(cls, judgement: Judgement, partitions: Mapping[str, Partition] | None = None) -> CandidateVerdict:
        """From what the models say of its classes; ``partitions`` are what its masks do, where it is made of masks."""
        failing = tuple(verdict.title for verdict in judgement.verdicts if not verdict.satisfied)
        return cls(
            satisfied=judgement.satisfied,
            suppressed=judgement.suppressed,
            smallest_class=judgement.smallest_class,
            failing=failing or (() if judgement.satisfied else ("max_suppression",)),
            released=None if partitions is None else ReleasedClasses(table=judgement.released, partitions=partitions),
            average_risk=judgement.classes / max(judgement.records, 1),
        )

    @classmethod
    def without_policy(cls, table: ClassTable) -> CandidateVerdict:
        """What is known of its classes where nothing has to be satisfied."""
        return cls(
            satisfied=None,
            suppressed=table.suppressed,
            smallest_class=int(table.persons.min(initial=table.records)),
            failing=(),
            average_risk=table.classes / max(table.records, 1),
        )

    def beside(self, together: Together) -> CandidateVerdict:
        """The same candidate judged together with earlier releases; one that fails by itself fails for that."""
        if together.satisfied or not self.satisfied:
            return self
        failing = tuple(f"{broken.model} together with earlier releases" for broken in together.broken) or (
            "earlier releases",
        )
        return replace(self, satisfied=False, failing=failing)

    @property
    def reason(self) -> str:
        """Why it does not pass."""
        if self.drawn:
            return "masks a quasi-identifying or sensitive column at random: only the written release can be judged"
        return "does not satisfy " + ", ".join(self.failing)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    """The candidates that passed, why the others did not, and what was found of each; all pass without a policy."""

    passed: tuple[Configuration, ...]
    rejected: Mapping[str, str] = field(default_factory=dict)
    by_name: Mapping[str, CandidateVerdict] = field(default_factory=dict)


def judge(
    configurations: Sequence[Configuration],
    classes: ClassTable,
    policy: Policy,
    *,
    gone: GoneFrom = nobody_gone,
) -> Verdicts:
    """Judge each configuration on the merged classes of the one table that was counted.

    Where the last column of the table says in which known class a record is, each is judged together with earlier
    releases; ``gone`` are the records that are no longer in the table.
    """
    verdicts = verdicts_on(configurations, classes, policy, gone=gone)
    passed = tuple(configuration for configuration in configurations if verdicts[configuration.name].satisfied)
    rejected = {name: verdict.reason for name, verdict in verdicts.items() if not verdict.satisfied}
    return Verdicts(passed=passed, rejected=rejected, by_name=verdicts)


def verdicts_on(
    configurations: Iterable[Configuration], classes: ClassTable, policy: Policy, *, gone: GoneFrom = nobody_gone
) -> dict[str, CandidateVerdict]:
    """What the policy says of each configuration, by its name."""
    return {configuration.name: _verdict(configuration, classes, policy, gone) for configuration in configurations}


def class_sizes(configurations: Iterable[Configuration], classes: ClassTable) -> dict[str, CandidateVerdict]:
    """The smallest class of each configuration where nothing has to be satisfied; without those whose masks draw."""
    sizes = {}
    for configuration in configurations:
        merged = merged_classes(configuration, classes)
        if merged is not None:
            sizes[configuration.name] = CandidateVerdict.without_policy(merged)
    return sizes


def merged_classes(configuration: Configuration, table: ClassTable) -> ClassTable | None:
    """The classes after masking; None where a mask draws."""
    partitions = partitions_of(configuration, table)
    return None if partitions is None else table.merged(partitions)


def partitions_of(
    configuration: Configuration, table: ClassTable, *, counts: Mapping[str, NDArray[np.float64]] | None = None
) -> dict[str, Partition] | None:
    """What the masks do to each column of a class table; None where one draws.

    ``counts`` are those of `counts_of`, for whoever asks for several configurations.
    """
    by_class = counts_of(table) if counts is None else counts
    partitions: dict[str, Partition] = {}
    domains = dict(zip(table.columns, table.domains, strict=True))
    domains.update({name: content.domain for name, content in table.contents.items()})
    for column, domain in domains.items():
        change = transition(configuration[column], domain, by_class[column])
        if not isinstance(change, Partition):
            return None
        partitions[column] = change
    return partitions


def counts_of(table: ClassTable) -> dict[str, NDArray[np.float64]]:
    """How many records have each value, for every column and content of a class table."""
    counts: dict[str, NDArray[np.float64]] = {
        column: np.asarray(
            np.bincount(table.codes[:, place], weights=table.sizes, minlength=domain.size), dtype=np.float64
        )
        for place, (column, domain) in enumerate(zip(table.columns, table.domains, strict=True))
    }
    for name, content in table.contents.items():
        totals = np.bincount(content.values, weights=content.counts, minlength=content.domain.size)
        counts[name] = np.asarray(totals, dtype=np.float64)
    return counts


def _verdict(configuration: Configuration, classes: ClassTable, policy: Policy, gone: GoneFrom) -> CandidateVerdict:
    partitions = partitions_of(configuration, classes)
    if partitions is None:
        return CandidateVerdict(satisfied=False, suppressed=0, smallest_class=0, failing=(), drawn=True)
    merged = classes.merged(partitions)
    if KNOWN_CLASS not in classes.columns:
        return CandidateVerdict.of(judge_all(merged, policy), partitions)
    together = judge_together(merged, policy, gone=gone(merged))
    del partitions[KNOWN_CLASS]
    return CandidateVerdict.of(together.own, partitions).beside(together)
