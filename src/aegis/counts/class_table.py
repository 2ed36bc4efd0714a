"""The distinct tuples of several columns with how often each occurs, alone and with other columns.

This is what privacy models and the search look at: every generalisation of the columns is a merge of its rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Codes
from aegis.counts.content import Content
from aegis.counts.grouping import Tuples, group_rows, group_tuples, packed, summed, width
from aegis.counts.people import People
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.errors import SummaryError
from aegis.masking.transition import Partition

SUPPRESSED = -1
"""The code of every column in the class of suppressed records."""

_ONE_VALUE = Domain.of(Kind.INTEGER, [0])

Made = tuple[Tuples, Codes, dict[str, Content], Codes | None]
"""The tuples, sizes and contents of the classes of a table, and where it is known the class of every row."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ClassTable:
    """Equivalence classes of the columns ``columns``.

    ``codes[i]`` is the tuple of class i as codes of ``domains``; ``sizes[i]`` how many records are in it, at least one.
    ``contents[c]`` says what a further column c (a sensitive attribute or the label) holds in each class.
    With ``star`` the last class is that of the suppressed records: `SUPPRESSED` in every column, written ``*``.
    ``population`` counts the same columns, coded by the same domains, in the population the records were drawn from.
    ``people`` says whose records they are, where several may belong to one person; without it every record is a person.
    """

    columns: tuple[str, ...]
    domains: tuple[Domain, ...]
    tuples: Tuples
    sizes: Codes
    contents: Mapping[str, Content] = field(default_factory=dict)
    star: bool = False
    population: ClassTable | None = None
    people: People | None = None

    def __repr__(self) -> str:
        return f"ClassTable({', '.join(self.columns)}: {len(self.sizes)} classes, {self.records} records)"

    @classmethod
    def from_codes(
        cls,
        *,
        columns: Sequence[str],
        domains: Sequence[Domain],
        codes: Codes,
        counts: Codes,
        contents: Mapping[str, tuple[Domain, Codes]] | None = None,
        suppressed: NDArray[np.bool_] | None = None,
        population: ClassTable | None = None,
        encoded: bool = False,
        persons: tuple[str, Codes] | None = None,
    ) -> ClassTable:
        """From the answer of a GROUP BY over the columns and the contents together, in any order.

        Row i stands for ``counts[i]`` records with the tuple ``codes[i]`` and, for each content, its code i.
        ``suppressed`` marks the rows whose records were suppressed; their codes are not looked at.
        ``encoded`` says that the codes were made from these domains just now, so that none can lie outside.
        ``persons`` names the column that says whose records they are, with the code of the person of each row.

        >>> from aegis.data.kind import Kind
        >>> age, ill = Domain.of(Kind.INTEGER, [30, 40]), Domain.of(Kind.TEXT, ["flu", "none"])
        >>> codes, counts = np.array([[0], [0], [1]]), np.array([2, 1, 4])
        >>> ClassTable.from_codes(columns=["age"], domains=[age], codes=codes, counts=counts,
        ...                       contents={"ill": (ill, np.array([0, 1, 1]))})
        ClassTable(age: 2 classes, 7 records)
        """
        contents = {name: (d, np.asarray(values, np.int64)) for name, (d, values) in (contents or {}).items()}
        codes = np.asfortranarray(np.asarray(codes, dtype=np.int64).reshape(-1, len(columns)))
        counts = np.asarray(counts, dtype=np.int64)
        _check(columns, domains, codes, counts, contents, suppressed)
        if not encoded:
            _check_domains(columns, domains, codes, contents, suppressed)
        keep = counts > 0
        if not keep.all():
            codes, counts = codes[keep], counts[keep]
            contents = {name: (domain, values[keep]) for name, (domain, values) in contents.items()}
            suppressed = None if suppressed is None else suppressed[keep]
            persons = None if persons is None else (persons[0], persons[1][keep])
        star = suppressed is not None and bool(suppressed.any())
        keys = None if star or persons is not None else packed(list(zip(codes.T, map(width_of, domains), strict=True)))
        arranged = None if keys is None else _arranged(domains, keys, counts, contents)
        tuples, sizes, class_contents, group = arranged or _grouped(
            domains, codes, counts, contents, suppressed if star else None
        )
        people = None
        if persons is not None:
            assert group is not None, "rows that belong to people are grouped, not packed"
            people = People.of(
                column=persons[0],
                owners=group,
                persons=np.asarray(persons[1], dtype=np.int64),
                records=counts,
                classes=len(sizes),
                contents=contents,
            )
        return cls(
            columns=tuple(columns),
            domains=tuple(domains),
            tuples=tuples,
            sizes=sizes,
            contents=class_contents,
            star=star,
            population=population,
            people=people,
        )

    @classmethod
    def from_keys(
        cls,
        *,
        columns: Sequence[str],
        domains: Sequence[Domain],
        keys: Codes,
        counts: Codes,
        contents: Mapping[str, tuple[Domain, Codes]],
    ) -> ClassTable | None:
        """The same from tuples that were packed into one number each, a field of `width_of` its domain per column.

        None where a tuple, a value and a count do not fit into one number. The keys are used up.
        """
        arranged = _arranged(domains, keys, counts, contents)
        if arranged is None:
            return None
        tuples, sizes, class_contents, _ = arranged
        return cls(columns=tuple(columns), domains=tuple(domains), tuples=tuples, sizes=sizes, contents=class_contents)

    @property
    def codes(self) -> Codes:
        """The tuple of each class, by columns."""
        return self.tuples.codes

    @property
    def records(self) -> int:
        return int(self.sizes.sum())

    @property
    def classes(self) -> int:
        return len(self.sizes)

    @property
    def persons(self) -> Codes:
        """How many people each class holds: its records, where nothing says whose they are."""
        return self.sizes if self.people is None else self.people.sizes

    @property
    def chances(self) -> NDArray[np.float64]:
        """The highest chance, over the people of a class, that a record drawn from it is that person's."""
        return 1.0 / self.sizes if self.people is None else self.people.largest_share

    @property
    def suppressed(self) -> int:
        """How many records are suppressed."""
        return int(self.sizes[-1]) if self.star else 0

    def merged(self, partitions: Mapping[str, Partition]) -> ClassTable:
        """The table after masking some of its columns, contents included."""
        if self.star:
            raise SummaryError("records were suppressed already; mask the columns first and suppress afterwards")
        codes = np.empty_like(self.codes, order="F")
        domains = list(self.domains)
        for position, column in enumerate(self.columns):
            if column in partitions:
                np.take(partitions[column].codes, self.codes[:, position], out=codes[:, position], mode="clip")
                domains[position] = partitions[column].target
            else:
                codes[:, position] = self.codes[:, position]
        tuples, group = group_tuples(codes, [domain.size for domain in domains])
        contents = {}
        for name, content in self.contents.items():
            masked = content.masked(partitions[name]) if name in partitions else content
            contents[name] = masked.regrouped(group, len(tuples))
        quasi = {column: partitions[column] for column in self.columns if column in partitions}
        people = None if self.people is None else self.people.masked(partitions).regrouped(group, len(tuples))
        return replace(
            self,
            domains=tuple(domains),
            tuples=Tuples(tuples),
            sizes=summed(self.sizes, group, len(tuples)),
            contents=contents,
            population=None if self.population is None else self.population.merged(quasi),
            people=people,
        )

    def suppress(self, failing: NDArray[np.bool_]) -> ClassTable:
        """The table after the records of the classes marked became the class ``*…*``, which stands last."""
        failing = failing.copy()
        if self.star:
            failing[-1] = True  # who is suppressed stays so
        if not failing.any() or (self.star and failing.sum() == 1):
            return self
        passing = np.flatnonzero(~failing)
        group = np.full(self.classes, len(passing), dtype=np.int64)
        group[passing] = np.arange(len(passing))
        classes = len(passing) + 1
        codes = np.full((classes, len(self.columns)), SUPPRESSED, dtype=np.int64, order="F")
        codes[:-1] = self.codes[passing]
        return replace(
            self,
            tuples=Tuples(codes),
            sizes=summed(self.sizes, group, classes),
            contents={name: content.regrouped(group, classes) for name, content in self.contents.items()},
            star=True,
            people=None if self.people is None else self.people.regrouped(group, classes),
        )

    def without_star(self, *, published: bool) -> ClassTable:
        """The classes that keep their values.

        ``published`` says that the suppressed records are published all the same, so that the distribution of a
        sensitive attribute in the whole table still counts theirs; otherwise they are gone.
        """
        if not self.star:
            return self
        classes = self.classes - 1
        people = None if self.people is None else self.people.selected(np.arange(classes))
        return replace(
            self,
            tuples=Tuples(np.asfortranarray(self.codes[:-1])),
            sizes=self.sizes[:-1],
            contents={name: c.first(classes, new_reference=not published) for name, c in self.contents.items()},
            star=False,
            people=people if people is None or published else people.with_new_reference(),
        )

    def together(self) -> ClassTable:
        """All records as one class: what is left when every column is hidden."""
        classes = min(self.classes, 1)
        return replace(
            self,
            tuples=Tuples(np.full((classes, len(self.columns)), SUPPRESSED, dtype=np.int64, order="F")),
            sizes=self.sizes.sum(keepdims=True)[:classes],
            contents={name: content.together() for name, content in self.contents.items()},
            star=classes > 0,
            people=None
            if self.people is None
            else self.people.regrouped(np.zeros(self.classes, dtype=np.int64), classes),
        )

    def holders(self, column: str) -> Codes:
        """How many people have each value of a quasi-identifier, by its code; records where records are counted."""
        place = self.columns.index(column)
        codes, size = self.codes[:, place].astype(np.int64), self.domains[place].size
        if self.people is None:
            return summed(self.sizes, codes, size)
        return replace(self.people, held={}).regrouped(codes, size).sizes

    def by_records(self) -> ClassTable:
        """The same table where every record counts, whoever it belongs to."""
        return self if self.people is None else replace(self, people=None)

    def with_levels(self, levels: Mapping[str, tuple[Partition, ...]]) -> ClassTable:
        """The same table that knows the hierarchies of some of its contents."""
        contents = dict(self.contents)
        for name, partitions in levels.items():
            if name in contents:
                contents[name] = contents[name].with_levels(partitions)
        return replace(self, contents=contents)


def suppressed_classes(before: ClassTable, after: ClassTable) -> NDArray[np.bool_]:
    """Which classes of ``before``, which has no suppressed records, ``after`` no longer publishes as they were."""
    unstarred = after.codes[: after.classes - after.star]
    sizes = [domain.size for domain in before.domains]
    _, group = group_rows(np.concatenate([unstarred, before.codes]), sizes)
    published = np.zeros(int(group.max(initial=-1)) + 1, dtype=bool)
    published[group[: len(unstarred)]] = True
    return np.asarray(~published[group[len(unstarred) :]])


def _arranged(
    domains: Sequence[Domain],
    keys: Codes,
    counts: Codes,
    contents: Mapping[str, tuple[Domain, Codes]],
) -> Made | None:
    """Classes, sizes and contents by sorting numbers that hold a whole row each; None where a row does not fit."""
    widths = [width_of(domain) for domain in domains]
    if not _fit(widths, contents, counts):
        return None
    # Without contents one that holds a single value stands in: its counts are the sizes.
    counted = contents or {"": (_ONE_VALUE, np.zeros(len(keys), dtype=np.int64))}
    class_contents, sizes, distinct = {}, counts, keys
    for number, (name, (domain, values)) in enumerate(counted.items(), start=1):
        content = Content.arranged(
            domain=domain,
            keys=keys,
            key_width=sum(widths),
            values=values,
            counts=counts,
            overwrite=number == len(counted),
        )
        if content is None:
            return None
        class_contents[name], distinct = content
        sizes = class_contents[name].sizes
    return Tuples.packed(distinct, widths), sizes, class_contents if contents else {}, None


def width_of(domain: Domain) -> int:
    """How many bits hold a code of a domain."""
    return width(domain.size)


def _fit(widths: Sequence[int], contents: Mapping[str, tuple[Domain, Codes]], counts: Codes) -> bool:
    """Whether a tuple, a value of any content and a count fit into one number."""
    widest = max((width(domain.size) for domain, _ in contents.values()), default=0)
    return sum(widths) + widest + width(int(counts.max(initial=0)) + 1) <= 63


def _grouped(
    domains: Sequence[Domain],
    codes: Codes,
    counts: Codes,
    contents: Mapping[str, tuple[Domain, Codes]],
    suppressed: NDArray[np.bool_] | None,
) -> Made:
    """The same for rows of any width, and for tables with suppressed records."""
    sizes = [domain.size for domain in domains]
    shown = slice(None) if suppressed is None else np.flatnonzero(~suppressed)
    tuples, inner = group_tuples(codes[shown], sizes)
    group = np.full(len(codes), len(tuples), dtype=np.int64)
    group[shown] = inner
    if suppressed is not None:
        tuples = np.asfortranarray(np.pad(tuples, ((0, 1), (0, 0)), constant_values=SUPPRESSED))
    classes = len(tuples)
    class_contents = {
        name: Content.grouped(domain=domain, owners=group, values=values, counts=counts, classes=classes)
        for name, (domain, values) in contents.items()
    }
    return Tuples(tuples), summed(counts, group, classes), class_contents, group


def _check(
    columns: Sequence[str],
    domains: Sequence[Domain],
    codes: Codes,
    counts: Codes,
    contents: Mapping[str, tuple[Domain, Codes]],
    suppressed: NDArray[np.bool_] | None,
) -> None:
    if len(columns) != len(domains):
        raise SummaryError(f"a class table has {len(columns)} columns and {len(domains)} domains; give one for each")
    if len(set(columns)) < len(columns):
        raise SummaryError("a class table names a column twice; name each column once")
    rows = len(counts)
    lengths = {len(codes), *(len(values) for _, values in contents.values())}
    if suppressed is not None:
        lengths.add(len(suppressed))
    if lengths != {rows}:
        raise SummaryError("the codes and counts of a class table differ in length; give one count for each row")
    if rows and counts.min() < 0:
        raise SummaryError("a class table holds negative counts; counts are zero or more")


def _check_domains(
    columns: Sequence[str],
    domains: Sequence[Domain],
    codes: Codes,
    contents: Mapping[str, tuple[Domain, Codes]],
    suppressed: NDArray[np.bool_] | None,
) -> None:
    looked_at = codes if suppressed is None else codes[~suppressed]
    for position, (column, domain) in enumerate(zip(columns, domains, strict=True)):
        _check_codes(column, domain, looked_at[:, position])
    for name, (domain, values) in contents.items():
        _check_codes(name, domain, values)


def _check_codes(column: str, domain: Domain, codes: Codes) -> None:
    # A negative number is a very large one without its sign.
    if len(codes) and codes.view(np.uint64).max() >= domain.size:
        raise SummaryError(f"column {column!r} of a class table has codes outside its domain; count the table again")
