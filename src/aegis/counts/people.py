"""Whose records the classes of a table hold, where several records belong to one person.

People do not add up: whoever has a record in each of two classes is one person in both together. So the class table
keeps who is in which class, as codes that say nothing about anybody, and every merge counts the distinct ones again.
docs/theory/people.md says what each model makes of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Codes
from aegis.counts.content import Content
from aegis.counts.grouping import group_keys, row_keys, summed
from aegis.data.domain import Domain
from aegis.masking.transition import Partition

ONE = 1 << 32
"""What a whole person weighs where shares of people are kept as whole numbers."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class People:
    """Who has records in which class.

    Entry i says that person ``persons[i]`` has ``records[i]`` records in class ``owners[i]``, each pair once.
    ``held[c]`` says the same with the values of a further column c. ``everybody`` is how many people the
    published table holds, the reference that a class is compared with.
    """

    column: str
    classes: int
    owners: Codes
    persons: Codes
    records: Codes
    held: Mapping[str, HeldValues]
    everybody: int

    def __repr__(self) -> str:
        return f"People(by {self.column}: {self.everybody} in {self.classes} classes)"

    @classmethod
    def of(
        cls,
        *,
        column: str,
        owners: Codes,
        persons: Codes,
        records: Codes,
        classes: int,
        contents: Mapping[str, tuple[Domain, Codes]],
    ) -> People:
        """From entries in any order, repeated ones too: ``contents`` gives the value of each entry in other columns."""
        values_of = {
            name: HeldValues.of(
                domain=domain, owners=owners, values=values, persons=persons, records=records, classes=classes
            )
            for name, (domain, values) in contents.items()
        }
        (distinct_owners, distinct_persons), count = _distinct([owners, persons], records)
        return cls(
            column=column,
            classes=classes,
            owners=distinct_owners,
            persons=distinct_persons,
            records=count,
            held=values_of,
            everybody=len(np.unique(persons)),
        )

    @cached_property
    def sizes(self) -> Codes:
        """How many people each class holds."""
        return np.bincount(self.owners, minlength=self.classes).astype(np.int64)

    @cached_property
    def largest_share(self) -> NDArray[np.float64]:
        """The largest share of the records of each class that belong to one person."""
        most = np.zeros(self.classes, dtype=np.int64)
        np.maximum.at(most, self.owners, self.records)
        return most / summed(self.records, self.owners, self.classes)

    def regrouped(self, group: Codes, classes: int) -> People:
        """The people after the classes were merged: ``group`` is the new class of each old one."""
        (owners, persons), records = _distinct([group[self.owners], self.persons], self.records)
        return replace(
            self,
            classes=classes,
            owners=owners,
            persons=persons,
            records=records,
            held={name: values.regrouped(group, classes) for name, values in self.held.items()},
        )

    def selected(self, classes: Codes) -> People:
        """Some of the classes, by position; the reference stays that of all."""
        place = np.full(self.classes, -1, dtype=np.int64)
        place[classes] = np.arange(len(classes))
        stays = place[self.owners] >= 0
        return replace(
            self,
            classes=len(classes),
            owners=place[self.owners[stays]],
            persons=self.persons[stays],
            records=self.records[stays],
            held={name: values.selected(place, len(classes)) for name, values in self.held.items()},
        )

    def with_new_reference(self) -> People:
        """The same where only these classes are published."""
        return replace(
            self,
            everybody=len(np.unique(self.persons)),
            held={name: values.with_new_reference() for name, values in self.held.items()},
        )

    def masked(self, partitions: Mapping[str, Partition]) -> People:
        """The same after further columns were masked."""
        masked_values = {
            name: values.masked(partitions[name]) if name in partitions else values
            for name, values in self.held.items()
        }
        return replace(self, held=masked_values)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class HeldValues:
    """Which people have which values of a column in which class, each triple once with its records.

    ``holders`` counts the people of the published table who have each value; ``reference`` is the distribution of the
    value in a record drawn from a person drawn from the table, in parts of `ONE`.
    """

    domain: Domain
    classes: int
    owners: Codes
    values: Codes
    persons: Codes
    records: Codes
    holders: Codes
    reference: Codes

    @classmethod
    def of(
        cls, *, domain: Domain, owners: Codes, values: Codes, persons: Codes, records: Codes, classes: int
    ) -> HeldValues:
        """From entries in any order, repeated ones too; the entries are those of the whole published table."""
        (distinct_owners, value, distinct_persons), count = _distinct([owners, values, persons], records)
        entries = cls(
            domain=domain,
            classes=classes,
            owners=distinct_owners,
            values=value,
            persons=distinct_persons,
            records=count,
            holders=np.zeros(0, dtype=np.int64),
            reference=np.zeros(0, dtype=np.int64),
        )
        return entries.with_new_reference()

    def with_new_reference(self) -> HeldValues:
        (value, who), count = _distinct([self.values, self.persons], self.records)
        return replace(
            self,
            holders=np.bincount(value, minlength=self.domain.size).astype(np.int64),
            reference=summed(_weights(who, count), value, self.domain.size),
        )

    def regrouped(self, group: Codes, classes: int) -> HeldValues:
        (owners, values, persons), records = _distinct([group[self.owners], self.values, self.persons], self.records)
        return replace(self, classes=classes, owners=owners, values=values, persons=persons, records=records)

    def selected(self, place: Codes, classes: int) -> HeldValues:
        stays = place[self.owners] >= 0
        return replace(
            self,
            classes=classes,
            owners=place[self.owners[stays]],
            values=self.values[stays],
            persons=self.persons[stays],
            records=self.records[stays],
        )

    def masked(self, partition: Partition) -> HeldValues:
        return HeldValues.of(
            domain=partition.target,
            owners=self.owners,
            values=partition.codes[self.values],
            persons=self.persons,
            records=self.records,
            classes=self.classes,
        )

    def having(self) -> Content:
        """How many people of each class have each value: a person with two values counts for both."""
        return Content.grouped(
            domain=self.domain,
            owners=self.owners,
            values=self.values,
            counts=np.ones_like(self.owners),
            classes=self.classes,
            totals=self.holders,
        )

    def most_alike(self, people: Codes) -> Content:
        """The least diverse way to choose one value for each person of a class, or one that is less diverse still.

        In falling order every value is given to as many people as have it, until all ``people`` of the class have
        one. No choice gives any number of values to more people, so the counts majorise those of every choice.
        """
        content = self.having()
        order = np.lexsort((-content.counts, content.owners))
        counts, owners = content.counts[order], content.owners[order]
        before = np.cumsum(counts) - counts
        before -= np.repeat(before[content.starts[:-1]], content.distinct)
        shares = np.clip(people[owners] - before, 0, counts)
        positive = shares > 0
        return Content.grouped(
            domain=self.domain,
            owners=owners[positive],
            values=content.values[order][positive],
            counts=shares[positive],
            classes=self.classes,
            totals=self.holders,
        )

    def drawn(self, levels: tuple[Partition, ...]) -> Content:
        """The distribution of the value of a record that is drawn from a person who is drawn from a class."""
        owner_and_person, _ = row_keys(
            np.stack([self.owners, self.persons], axis=1), [self.classes, int(self.persons.max(initial=0)) + 1]
        )
        return Content.grouped(
            domain=self.domain,
            owners=self.owners,
            values=self.values,
            counts=_weights(owner_and_person, self.records),
            classes=self.classes,
            totals=self.reference,
            levels=levels,
        )


def _weights(persons: Codes, records: Codes) -> Codes:
    """The share of each entry in the records of its person, in parts of `ONE`."""
    distinct, person = np.unique(persons, return_inverse=True)
    whole = summed(records, person, len(distinct))
    return np.maximum(np.rint(records / whole[person] * ONE).astype(np.int64), 1)


def _distinct(columns: list[Codes], records: Codes) -> tuple[list[Codes], Codes]:
    """The distinct rows of some columns in order, and how many records each has."""
    if not len(records):
        return columns, records
    codes = np.stack(columns, axis=1)
    keys, room = row_keys(codes, [int(column.max()) + 1 for column in columns])
    distinct, group = group_keys(keys, room)
    first = np.empty(len(distinct), dtype=np.int64)
    first[group] = np.arange(len(group))
    return [column[first] for column in columns], summed(records, group, len(distinct))
