"""Several configurations of one table judged together: what somebody sees who links the rows of all their releases.

Each release puts the distinct tuples of the table into classes; together they show the common refinement. So any number
of releases is one more grouping of the class table that was counted once, and no second pass over the rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Codes
from aegis.counts.class_table import ClassTable, suppressed_classes
from aegis.counts.grouping import Tuples, group_keys, group_tuples, overflows, row_keys, summed
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.errors import ConfigurationError
from aegis.masking.configuration import Configuration
from aegis.masking.transition import Partition
from aegis.privacy.judgement import judge_all
from aegis.privacy.model import ClassModel, Model
from aegis.privacy.policy import Policy
from aegis.ranking.verdicts import counts_of, partitions_of

TOGETHER = "_aegis_together"
_PAIRS = 10
"""Up to so many configurations every pair is tried, to say which two break the policy."""


def joint_classes(configurations: Sequence[Configuration], classes: ClassTable, policy: Policy) -> ClassTable:
    """The classes that several releases show together, each with the records suppressed that it would suppress.

    ``classes`` counts the raw tuples. A sensitive attribute is seen as finely as all of them together show it.
    """
    return SeveralReleases.of(configurations, classes, policy, suppress=True).together()


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SeveralReleases:
    """Configurations of one table, to be judged together: all of them, or some.

    Releases that suppress nothing show together exactly the common refinement of their masks, which is taken column by
    column, on the values, so that any number of them is one grouping of the class table: none at all where the
    refinement is the table itself. A release that suppresses records shows less of those and has a grouping of its own.
    """

    names: tuple[str, ...]
    partitions: tuple[Mapping[str, Partition], ...]
    classes: ClassTable
    policy: Policy
    suppress: bool
    as_written: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls,
        configurations: Sequence[Configuration],
        classes: ClassTable,
        policy: Policy,
        *,
        suppress: bool,
        as_written: frozenset[str] = frozenset(),
    ) -> SeveralReleases:
        """Raises for masks that draw: what they show is known only when it is released.

        Those named ``as_written`` are files that are finished: nothing in them is suppressed that is not yet.
        """
        counts = counts_of(classes)
        partitions = []
        for configuration in configurations:
            own = partitions_of(configuration, classes, counts=counts)
            if own is None:
                raise ConfigurationError(
                    f"configuration {configuration.name!r} masks a quasi-identifier or a sensitive column at random, "
                    "and what it draws is known only when it is released; release it, and judge the next one by its "
                    "ledger"
                )
            partitions.append(own)
        names = tuple(configuration.name for configuration in configurations)
        return cls(
            names=names,
            partitions=tuple(partitions),
            classes=classes,
            policy=policy,
            suppress=suppress,
            as_written=as_written,
        )

    def together(self, some: Sequence[int] | None = None) -> ClassTable:
        """The classes that the releases show together."""
        chosen = range(len(self.names)) if some is None else some
        group, count = self._grouped(chosen)
        finest = {
            name: _finest(content.domain, [self.partitions[configuration][name] for configuration in chosen])
            for name, content in self.classes.contents.items()
        }
        shown = {name: partition for name, partition in finest.items() if partition is not None}
        contents = {
            name: content.masked(shown[name]) if name in shown else content
            for name, content in self.classes.contents.items()
        }
        people = None if self.classes.people is None else self.classes.people.masked(shown)
        if group is not None:
            contents = {name: content.regrouped(group, count) for name, content in contents.items()}
            people = None if people is None else people.regrouped(group, count)
        return ClassTable(
            columns=(TOGETHER,),
            domains=(Domain(kind=Kind.INTEGER, values=np.arange(count)),),
            tuples=Tuples(np.asfortranarray(np.arange(count)[:, None])),
            sizes=self.classes.sizes if group is None else summed(self.classes.sizes, group, count),
            contents=contents,
            people=people,
        )

    def breaking(self) -> tuple[tuple[str, ...], ...]:
        """Which releases break the policy together."""
        alone = [(name,) for place, name in enumerate(self.names) if self._breaks([place])]
        if alone or len(self.names) > _PAIRS:
            return tuple(alone) or (self.names,)
        pairs = [
            (self.names[a], self.names[b]) for a, b in combinations(range(len(self.names)), 2) if self._breaks([a, b])
        ]
        return tuple(pairs) or (self.names,)

    def _breaks(self, some: Sequence[int]) -> bool:
        """Whether these break the policy.

        Models of sizes are asked first, because sizes are quickly summed; then those that a class keeps once any raw
        tuple in it does, and these only of the classes in which no tuple does.
        """
        if self.classes.people is not None:
            return not judge_all(self.together(some), self.policy, suppress=False).satisfied
        group, count = self._grouped(some)
        sizes = self.classes.sizes if group is None else summed(self.classes.sizes, group, count)
        bare = _bare(sizes)
        quick = [model for model in self.policy.models if not model.needs]
        if not all(model.judge(bare).satisfied for model in quick):
            return True
        absorbing = [
            model
            for model in self.policy.models
            if model.needs and isinstance(model, ClassModel) and model.absorbing and self._is_plain(model, some)
        ]
        if any(self._fails_where_all_do(model, group, count) for model in absorbing):
            return True
        if len(quick) + len(absorbing) == len(self.policy.models):
            return False
        return not judge_all(self.together(some), self.policy, suppress=False).satisfied

    def _is_plain(self, model: Model, some: Sequence[int]) -> bool:
        """Whether these releases together leave the attributes as they are that a model looks at."""
        return all(
            _finest(
                self.classes.contents[name].domain, [self.partitions[configuration][name] for configuration in some]
            )
            is None
            for name in model.needs
        )

    def _fails_where_all_do(self, model: Model, group: Codes | None, count: int) -> bool:
        """Whether a class fails: one can only where every raw tuple in it fails alone."""
        failing = self._failing_alone[model]
        if group is None:
            return bool(failing.any())
        holds = np.zeros(count, dtype=bool)
        holds[group[~failing]] = True
        doubtful = np.flatnonzero(~holds[group])
        if not len(doubtful):
            return False
        classes, place = np.unique(group[doubtful], return_inverse=True)
        sizes = summed(self.classes.sizes[doubtful], place, len(classes))
        contents = {
            name: self.classes.contents[name].selected(doubtful).regrouped(place, len(classes)) for name in model.needs
        }
        return not model.judge(replace(_bare(sizes), contents=contents)).satisfied

    @cached_property
    def _failing_alone(self) -> Mapping[Model, NDArray[np.bool_]]:
        """The raw tuples that fail each model by themselves, of those that are about single classes."""
        return {
            model: model.judge(self.classes).failing
            for model in self.policy.models
            if model.needs and isinstance(model, ClassModel) and model.absorbing
        }

    def _grouped(self, some: Sequence[int]) -> tuple[Codes | None, int]:
        """The class that each raw tuple has in these releases together, None where it is its own; and how many."""
        hiding = {place: codes for place in some if (codes := self._hiding[place]) is not None}
        plain = [self.partitions[place] for place in some if place not in hiding]
        group, count = _meet(self.classes, plain)
        for codes in hiding.values():
            whole = np.arange(self.classes.classes) if group is None else group
            pair = np.stack([whole, codes], axis=1)
            tuples, group = group_tuples(pair, [count, int(codes.max()) + 1])
            count = len(tuples)
        return group, count

    @cached_property
    def _hiding(self) -> tuple[Codes | None, ...]:
        """For each release that suppresses records the class of each raw tuple, the suppressed ones being one."""
        if not self.suppress or self.policy.max_suppression == 0:
            return (None,) * len(self.names)
        return tuple(
            None if name in self.as_written else self._with_star(place) for place, name in enumerate(self.names)
        )

    def _with_star(self, place: int) -> Codes | None:
        merged = self.classes.merged(self.partitions[place])
        judged = judge_all(merged, self.policy, suppress=True)
        if not judged.suppressed:
            return None
        hidden = suppressed_classes(merged, judged.released)
        group, count = _meet(self.classes, [self.partitions[place]], merges=True)
        assert group is not None, "asked to merge"
        assert count == merged.classes, "both group the tuples in their order"
        return np.where(hidden[group], count, group)


def _bare(sizes: Codes) -> ClassTable:
    """Classes of which only the sizes are known."""
    return ClassTable(
        columns=(TOGETHER,),
        domains=(Domain(kind=Kind.INTEGER, values=np.arange(len(sizes))),),
        tuples=Tuples(np.asfortranarray(np.arange(len(sizes))[:, None])),
        sizes=sizes,
        contents={},
    )


def _meet(
    classes: ClassTable, releases: Sequence[Mapping[str, Partition]], *, merges: bool = False
) -> tuple[Codes | None, int]:
    """The common refinement of masks: the group of each raw tuple, None where each stays alone; and how many.

    With ``merges`` the groups are given even then.
    """
    if not releases:
        return np.zeros(classes.classes, dtype=np.int64), min(classes.classes, 1)
    refined: list[tuple[int, Codes]] = []
    sizes, unchanged = [], not merges
    for place, (column, domain) in enumerate(zip(classes.columns, classes.domains, strict=True)):
        distinct = {partition.codes.tobytes(): partition for partition in (own[column] for own in releases)}
        parts = list(distinct.values())
        if len(parts) == 1:
            finest, size = parts[0].codes, parts[0].target.size
            unchanged &= len(np.unique(finest)) == domain.size
        else:
            stacked = np.stack([part.codes for part in parts], axis=1)
            tuples, finest = group_tuples(stacked, [part.target.size for part in parts])
            size = len(tuples)
            unchanged &= size == domain.size
        if size > 1:  # a column that all of them suppress tells nothing apart
            refined.append((place, finest))
            sizes.append(size)
    if unchanged:
        return None, classes.classes
    if not refined:
        return np.zeros(classes.classes, dtype=np.int64), min(classes.classes, 1)
    codes = np.empty((classes.classes, len(refined)), dtype=classes.codes.dtype, order="F")
    for at, (place, finest) in enumerate(refined):
        np.take(finest, classes.codes[:, place], out=codes[:, at], mode="clip")
    if overflows(sizes):
        tuples, group = group_tuples(codes, sizes)
        return group, len(tuples)
    keys, group = group_keys(*row_keys(codes, sizes))
    return group, len(keys)


def _finest(domain: Domain, parts: Sequence[Partition]) -> Partition | None:
    """A sensitive attribute as finely as several masks of it show it together; None where that is as it is."""
    first = parts[0]
    if all(np.array_equal(part.codes, first.codes) for part in parts):
        return None if first.target.size == domain.size else first
    codes = np.stack([part.codes for part in parts], axis=1)
    tuples, group = group_tuples(codes, [part.target.size for part in parts])
    if len(tuples) == domain.size:
        return None
    return Partition(codes=group, target=Domain(kind=Kind.INTEGER, values=np.arange(len(tuples))))
