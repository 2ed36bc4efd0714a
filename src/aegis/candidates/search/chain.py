"""The levels of one column: masks from the raw value to ``*``, each merging what the one before left apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aegis.data.domain import Domain, show
from aegis.data.hierarchy import TOP, Hierarchy
from aegis.data.kind import Kind
from aegis.errors import HierarchyError
from aegis.masking.mask import Mask
from aegis.masking.masks.generalize import Generalize
from aegis.masking.masks.identity import Identity
from aegis.masking.masks.suppress import Suppress
from aegis.masking.transition import Partition, transition


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Level:
    """One level: its number in the hierarchy, the mask that makes it, and which values it merges."""

    number: int
    mask: Mask
    partition: Partition


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Chain:
    """The levels of a column, finest first. The first is the raw value, the last has one value only."""

    column: str
    domain: Domain
    levels: tuple[Level, ...]

    @classmethod
    def of_masks(cls, column: str, domain: Domain, masks: Sequence[Mask]) -> Chain:
        """From masks of growing strength between the raw value and suppression.

        Levels that merge no more than the one before are left out, since no search gains by them. Masks that split
        what an earlier one merged are refused.
        """
        counts = np.ones(domain.size)
        levels = [Level(number=0, mask=Identity(), partition=Partition.identity(domain))]
        for number, mask in enumerate([*masks, Suppress()], start=1):
            partition = transition(mask, domain, counts)
            assert isinstance(partition, Partition)
            before = levels[-1].partition
            if not before.refines(partition):
                raise HierarchyError(
                    f"level {number} of column {column!r} splits what level {number - 1} merged; "
                    "each level must merge values of the level before"
                )
            if partition.target.size < before.target.size:
                everything = partition.target.size == 1
                levels.append(Level(number=number, mask=Suppress() if everything else mask, partition=partition))
            if partition.target.size == 1:
                break
        return cls(column=column, domain=domain, levels=tuple(levels))

    @classmethod
    def of_hierarchy(cls, column: str, domain: Domain, hierarchy: Hierarchy) -> Chain:
        """From a hierarchy that covers the column's values."""
        hierarchy.check_covers(domain, column=column)
        masks = [Generalize(level=level, hierarchy=hierarchy) for level in range(1, hierarchy.levels)]
        return cls.of_masks(column, domain, masks)

    @property
    def partitions(self) -> tuple[Partition, ...]:
        return tuple(level.partition for level in self.levels)

    @property
    def top(self) -> int:
        """The position of the last level."""
        return len(self.levels) - 1

    def hierarchy(self) -> Hierarchy:
        """The levels as a hierarchy that can be saved, edited and read again; missing values have no line in it."""
        labels = []
        for level in self.levels:
            target = level.partition.target
            names = [show(value) for value in target.values.tolist()] + [TOP] * target.missing
            labels.append([names[code] for code in level.partition.codes[: len(self.domain.values)].tolist()])
        if len(self.levels) == 1 or self.levels[-1].partition.target.kind is not Kind.TEXT:
            labels.append([TOP] * len(self.domain.values))
        return Hierarchy.of(zip(*labels, strict=True))
