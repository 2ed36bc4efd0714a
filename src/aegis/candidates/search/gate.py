"""The policy as a search asks it: quickly where class sizes and sets of values decide, else by its own judgement.

k-anonymity and distinct l-diversity are read off sizes and bits. A policy of these alone is *plain*: nearly every node
is decided at once. Other models are judged in full, on a table merged for the purpose, but only where the plain part
of the policy and the bound on utility leave a chance. So are people, where they are counted: a class of too few records
has too few people anyhow.

Where something was released before, what a release has to hide at least is counted before anything is judged
(`KnownParts`): a part of a known class that is too small, and not the whole class, fails whatever else is hidden, so
its records have to be starred or held back, and count against the policy's limit. Finer masks only make parts smaller.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from aegis.arrays import Codes, Ints
from aegis.candidates.search.classes import Classes, mark_ends, mark_failing, released_labels
from aegis.candidates.search.objective import Objective
from aegis.counts.class_table import ClassTable
from aegis.counts.grouping import group_keys, needs_sorting, summed
from aegis.errors import PolicyNotSatisfiedError
from aegis.masking.transition import Partition
from aegis.privacy.judgement import Judgement, hopeless, judge_all
from aegis.privacy.policy import Policy, Suppressed
from aegis.privacy.together import COMPANION, Gone, GoneFrom, judge_together, nobody_gone


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A node that satisfies the policy. ``score`` is the utility, turned so that larger is better."""

    score: float
    suppressed: int
    classes: int
    smallest_class: int
    risk: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """What the sizes of a node's classes say.

    ``bound`` holds for the node and everything coarser. ``failing`` records are in classes that fail the plain models,
    at least as many in every finer node. ``outcome`` is there if the node is known to satisfy the policy; ``open`` says
    that only a full judgement can tell.
    """

    bound: float
    failing: int
    outcome: Outcome | None
    open: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Out:
    """The earlier releases of the table: its classes with the known class of every record, and the records that are
    gone.

    ``apart`` says that those who get the next release hold different things.
    """

    table: ClassTable
    apart: bool = False
    gone: GoneFrom = nobody_gone
    _raw: list[Gone | None] = field(default_factory=list)

    def gone_from(self, merged: ClassTable) -> Gone | None:
        """The records that are gone, for a node; asked once where masks leave the sensitive values as they are."""
        raw = self.table.contents
        if any(content.domain is not raw[name].domain for name, content in merged.contents.items()):
            return self.gone(merged)
        if not self._raw:
            self._raw.append(self.gone(merged))
        return self._raw[0]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Gate:
    """One policy, ready to be asked about many nodes of one table, together with the earlier releases of it.

    ``sized`` says that sizes and sets of values decide about a release by itself; it is ``plain`` where nothing was
    released before.
    """

    table: ClassTable
    policy: Policy
    label: str
    objective: Objective
    limit: int
    least: int
    ends: Ints
    wanted: Ints
    sized: bool
    plain: bool
    out: Out | None = None
    parts: KnownParts | None = None

    @classmethod
    def of(cls, table: ClassTable, policy: Policy, *, label: str, objective: Objective, out: Out | None = None) -> Gate:
        diversity = [model for model in policy.models if model.name == "distinct-l-diversity"]
        sizes = [model for model in policy.models if model.name == "k-anonymity"]
        sized = table.people is None and len(sizes) + len(diversity) == len(policy.models)
        return cls(
            table=table,
            policy=policy,
            label=label,
            objective=objective,
            limit=int(np.floor(policy.max_suppression * table.records + 1e-9)),
            least=max((int(model.threshold) for model in sizes), default=1),
            ends=mark_ends(table, [str(model.subject) for model in diversity]),
            wanted=np.array([int(model.threshold) for model in diversity], dtype=np.int64),
            sized=sized,
            plain=out is None and sized,
            out=out,
            parts=None if out is None else KnownParts.of(out.table, policy, apart=out.apart),
        )

    @staticmethod
    def marked(policy: Policy) -> tuple[str, ...]:
        """The attributes whose values must be kept as bits."""
        return tuple(str(model.subject) for model in policy.models if model.name == "distinct-l-diversity")

    def settles(self, failing: int, pool_passes: bool) -> bool:
        """Whether so many failing records, pooled, satisfy the policy without a further look."""
        judged = self.policy.suppressed is Suppressed.JUDGED
        return self.plain and failing <= self.limit and (failing == 0 or not judged or pool_passes)

    def weigh(self, classes: Classes) -> Weighed:
        """Weigh a node by its classes."""
        failing, sizes = mark_failing(classes.labels, classes.marks, self.least, self.ends, self.wanted)
        records = int(sizes[failing].sum())
        bound, score = self.objective.weigh(classes.labels, failing)
        if records > self.limit:
            return Weighed(bound=bound, failing=records, outcome=None, open=False)
        judged = self.policy.suppressed is Suppressed.JUDGED
        if not self.settles(records, not records or self._pool_holds(classes, failing, records)):
            return Weighed(bound=bound, failing=records, outcome=None, open=True)
        shown = sizes[~failing] if records else sizes
        smallest = int(shown.min()) if len(shown) else 0
        star = int(records > 0 and self.policy.suppressed is not Suppressed.DROPPED)
        outcome = Outcome(
            score=score,
            suppressed=records,
            classes=len(shown) + star,
            smallest_class=min(smallest or records, records) if records and judged else smallest,
            risk=1.0 / smallest if smallest else 0.0,
        )
        return Weighed(bound=bound, failing=records, outcome=outcome, open=False)

    def _pool_holds(self, classes: Classes, failing: np.ndarray[tuple[int], np.dtype[np.bool_]], records: int) -> bool:
        """Whether the class of suppressed records satisfies the plain models."""
        if records < self.least:
            return False
        union = np.bitwise_or.reduce(classes.marks[failing], axis=0)
        different = np.bitwise_count(union)
        ends = self.ends
        return all(different[ends[a] : ends[a + 1]].sum() >= wanted for a, wanted in enumerate(self.wanted))

    def judge(self, partitions: Mapping[str, Partition], *, most: float = math.inf) -> Outcome | None:
        """The full judgement of a node; None if it does not satisfy the policy.

        ``most`` is the node's bound. What is hidden because of earlier releases is no whole classes: which of a class's
        records are hidden may tell of their labels, which is not what its masks tell and does not count.
        """
        judgement = self._judged(partitions)
        if judgement is None:
            return None
        released = judgement.released
        chances = released.chances[:-1] if released.star else released.chances
        labels = released_labels(released, self.label, self.table.contents[self.label].totals)
        return Outcome(
            score=min(self.objective.value(labels), most),
            suppressed=judgement.suppressed,
            classes=judgement.classes,
            smallest_class=judgement.smallest_class,
            risk=float(chances.max()) if len(chances) else 0.0,
        )

    def _judged(self, partitions: Mapping[str, Partition]) -> Judgement | None:
        """The release of a node by itself, where it satisfies the policy, together with earlier releases if something
        is."""
        if self.out is None:
            judgement = judge_all(self.table.merged(partitions), self.policy)
            return judgement if judgement.satisfied else None
        if self.parts is not None and self.parts.must_be_hidden(partitions) > self.limit:
            return None
        seen = self.out.table.merged(partitions)
        together = judge_together(seen, self.policy, gone=self.out.gone_from(seen))  # by itself too, and first
        return together.own if together.satisfied else None

    def must_go(self, classes: Classes, partitions: Mapping[str, Partition]) -> int:
        """How many records at least must be suppressed in this node and in every finer one.

        More than the limit: neither the node nor anything finer can satisfy the policy.
        """
        failing, sizes = mark_failing(classes.labels, classes.marks, self.least, self.ends, self.wanted)
        records = int(sizes[failing].sum())
        if self.parts is not None and records <= self.limit:
            records = max(records, self.parts.must_be_hidden(partitions))
        monotone = self.policy.absorbing or (self.policy.monotone and self.limit == 0)
        if self.sized or records > self.limit or not monotone:
            return records
        judgement = judge_all(self.table.merged(partitions), self.policy, suppress=False)
        stands = np.zeros(judgement.released.classes, dtype=bool)
        for verdict in judgement.verdicts:
            stands |= verdict.failing
        return int(judgement.released.sizes[stands].sum())

    def refuse(self) -> PolicyNotSatisfiedError:
        """The error for a policy that no configuration satisfies: which models fail with everything in one class."""
        if self.out is not None:
            return PolicyNotSatisfiedError(
                "no configuration that was looked at satisfies the policy together with earlier releases; make an "
                "earlier "
                "release again (aegis ledger show names them), or allow more suppression"
            )
        verdicts = hopeless(self.table, self.policy)
        if not verdicts:
            together = self.table.together()
            judged = (model.judge(together) for model in self.policy.models)
            verdicts = tuple(verdict for verdict in judged if not verdict.satisfied)
        names = ", ".join(f"{v.name} of {v.attribute}" if v.attribute else v.name for v in verdicts)
        if not names:
            return PolicyNotSatisfiedError(
                "no configuration that was looked at satisfies the policy; allow more suppression or relax a threshold"
            )
        return PolicyNotSatisfiedError(
            f"no configuration can satisfy the policy: {names} fails even with every column suppressed; "
            "relax that threshold or take the model out of the policy"
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class KnownParts:
    """The records of a table that are out, by the known class they are in.

    Records that never left may wait and are not among them. Those that are gone are left out of account, which makes
    what has to be hidden less. ``least`` is how many records a part needs.
    """

    least: int
    columns: Mapping[str, tuple[Codes, int]]
    known: Codes
    sizes: Codes
    whole: Codes

    @classmethod
    def of(cls, table: ClassTable, policy: Policy, *, apart: bool = False) -> KnownParts | None:
        """Of a table whose last column is the known class.

        None where sizes say nothing: without k, where recipients hold different things (``apart``), or people are
        counted.
        """
        least = max((int(model.threshold) for model in policy.models if model.name == "k-anonymity"), default=1)
        if least == 1 or table.people is not None or apart:
            return None
        marked = table.domains[-1].values.astype(np.int64) % COMPANION
        out = np.flatnonzero(marked[table.codes[:, -1]] > 0)
        _, known = np.unique(marked[table.codes[out, -1]], return_inverse=True)
        sizes = table.sizes[out]
        return cls(
            least=least,
            columns={
                column: (np.ascontiguousarray(table.codes[out, place]), domain.size)
                for place, (column, domain) in enumerate(zip(table.columns[:-1], table.domains[:-1], strict=True))
            },
            known=known.astype(np.int64),
            sizes=sizes,
            whole=summed(sizes, known, int(known.max(initial=-1)) + 1),
        )

    def must_be_hidden(self, partitions: Mapping[str, Partition]) -> int:
        """How many records a release by these masks has to hide at least."""
        keys, width = self.known.copy(), 1
        for column, (codes, size) in self.columns.items():
            change = partitions.get(column)
            groups = size if change is None else change.target.size
            if groups < 2:
                continue
            if width * len(self.whole) > 2**62 // groups:
                return 0  # no number holds a tuple: judging finds it
            keys *= groups
            keys += codes if change is None else change.codes[codes]
            width *= groups
        room = width * len(self.whole)
        if needs_sorting(len(keys), room):
            keys, part_of = group_keys(keys, room)
            sizes = summed(self.sizes, part_of, len(keys))
        else:
            sizes = summed(self.sizes, keys, room)
            keys = np.flatnonzero(sizes < self.least)
            sizes = sizes[keys]
        return int(sizes[(sizes < self.least) & (sizes < self.whole[keys // width])].sum())
