"""Families of candidates to evaluate: generated ones of one strength, k-anonymous ones, and other kinds of release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from aegis.candidates.search.search import search
from aegis.commands.evaluate import K_ANONYMOUS, RELEASED
from aegis.counts.answer import ask
from aegis.counts.collect import count_joints
from aegis.counts.collect_classes import count_classes
from aegis.counts.collect_pairs import count_pairs
from aegis.counts.joint import Joint, TableCounts
from aegis.data.dataset import Dataset
from aegis.data.engine import open_dataset
from aegis.data.hierarchy import Hierarchy
from aegis.errors import ConfigurationError, DataError, PolicyNotSatisfiedError
from aegis.evaluation.coded_rows import CodedRows, read_rows
from aegis.evaluation.sanitizing import Sanitizers, choose_private, find_sanitizers
from aegis.evaluation.selectors import PublishedTable
from aegis.library.anonymize import anonymize
from aegis.library.releasing.sanitized_release import released_columns, with_releases
from aegis.library.tables.proposals import generated
from aegis.library.tables.records import column_values
from aegis.masking.configuration import Configuration
from aegis.measures.measure import find_attribute_measure
from aegis.privacy.policy import Policy
from aegis.report.figures import listed

GIVEN = "given"
"""What a user brings, as a family."""

K = 5
_QUASI = 5  # columns taken for quasi-identifiers where none are named: those with most values
_MOST_NODES = 2_000  # not seconds: a family is the same on a busy machine
_CLUSTERED = (5, 10, 25, 50)
_NOISY = ("add_gaussian_noise", "add_laplace_noise", "randomize", "shuffle")
_LABEL_MEASURE = "leave-one-out-information"  # a column of many values does not look better for that
_RANGES = 10  # and a number whose values hardly repeat does not look worse


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Family:
    """Candidates that are compared with one another: configurations, and tables that no mask made."""

    name: str
    seed: int
    configurations: tuple[Configuration, ...]
    tables: tuple[PublishedTable, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FamilySource:
    """What families are made of."""

    dataset: Dataset
    counted: TableCounts
    rows: CodedRows
    hierarchies: Mapping[str, Hierarchy]
    seed: int
    label_bins: int | None = None

    def draws(self, name: str, count: int, *, seeds: Sequence[int], tables: Sequence[Any] = ()) -> tuple[Family, ...]:
        """The family called ``name`` with about ``count`` candidates, once for each seed if anything in it is drawn.

        Released ``tables`` join the family of released ones.
        """
        if name == K_ANONYMOUS:  # what a search finds is found again
            return (Family(name=name, seed=self.seed, configurations=tuple(self._k_anonymous(count))),)
        if name == RELEASED:
            return self._released(count, seeds, tables)
        return tuple(
            Family(name=name, seed=seed, configurations=tuple(self.generated(count, name, seed=seed))) for seed in seeds
        )

    def _released(self, count: int, seeds: Sequence[int], tables: Sequence[Any]) -> tuple[Family, ...]:
        """Masks, noise, clustered and sanitized tables: clusters and mechanisms are found once, noise is drawn anew."""
        clustered = [self._clustered(k) for k in _CLUSTERED if 2 * k <= self.counted.rows]
        fixed = (*clustered, *(self.published(table) for table in tables))
        sanitizing = SanitizedTables.of(self.dataset, self.counted, quasi=self.quasi(), seed=self.seed)
        noisy = max(count // 4, 1)
        masked = max(count - noisy - len(fixed) - len(sanitizing.names), 1)
        return tuple(
            Family(
                name=RELEASED,
                seed=seed,
                configurations=(
                    *self.generated(masked, "mixed", seed=seed),
                    *self.generated(noisy, "mixed", seed=seed, masks=_NOISY, prefix="noise"),
                ),
                tables=(*fixed, *(self.published(table, name=name) for name, table in sanitizing.drawn(seed))),
                notes=sanitizing.notes,
            )
            for seed in seeds
        )

    def generated(
        self, count: int, strength: str, *, seed: int, masks: Sequence[str] = (), prefix: str = ""
    ) -> list[Configuration]:
        """``count`` configurations of that strength, called by the ``prefix`` and a number if there is one."""
        configurations = generated(
            self.counted, count=count, strength=strength, masks=masks, seed=seed, hierarchies=self.hierarchies
        )
        if not prefix:
            return configurations
        return [
            Configuration(name=f"{prefix}{number:03d}", masks=configuration.masks)
            for number, configuration in enumerate(configurations, start=1)
        ]

    def quasi(self) -> list[str]:
        """The quasi-identifiers: those named, or the columns with most values."""
        named = [name for name in self.dataset.roles.quasi_identifying if name in self.counted.joints]
        if named:
            return named
        by_size = sorted(self.counted.joints, key=lambda name: -self.counted.joints[name].attribute.size)
        return by_size[:_QUASI]

    def _k_anonymous(self, count: int) -> list[Configuration]:
        """Configurations of the quasi-identifiers that the search found, from the best to far behind it."""
        table = count_classes(self.dataset, self.quasi(), contents=(self.counted.label,))
        policy = Policy.from_mapping({"k": K, "max_suppression": 0.02})
        present = {name: hierarchy for name, hierarchy in self.hierarchies.items() if name in table.columns}
        try:
            result = search(
                table,
                label=self.counted.label,
                policy=policy,
                hierarchies=present,
                space="levels",
                shortlist=4 * count,
                seconds=None,
                most_nodes=_MOST_NODES,
            )
        except PolicyNotSatisfiedError:
            raise ConfigurationError(
                f"no configuration of {', '.join(table.columns)} is {K}-anonymous with 2% suppressed; name other "
                "quasi-identifiers, or leave the family out"
            ) from None
        places = np.unique(np.linspace(0, len(result.shortlist) - 1, count).round().astype(int))
        return [
            Configuration(name=f"k{i:03d}", masks=result.shortlist[place].masks)
            for i, place in enumerate(places, start=1)
        ]

    def _clustered(self, k: int) -> PublishedTable:
        """Classes of ``k`` records, their centres published in place of the quasi-identifiers.

        Where none are named these are all attributes that are not sensitive; numbers that miss some have no centre.
        """
        roles = self.dataset.roles
        names = roles.quasi_identifying or [name for name in self.counted.joints if name not in roles.sensitive]
        domains = {name: joint.attribute for name, joint in self.counted.joints.items() if name in names}
        quasi = [name for name, domain in domains.items() if not (domain.missing and domain.kind.is_number)]
        clustered = anonymize(self.dataset, method="mdav", k=k, quasi=quasi)
        return self.published(clustered.table, name=f"clustered-{k}")

    def published(self, table: Any, *, name: str | None = None) -> PublishedTable:
        """A released table of the same records in the same order, read and counted."""
        dataset = open_dataset(table, roles=self.dataset.roles)
        counted = count_joints(dataset, label=self.counted.label, label_bins=self.label_bins)
        rows = read_rows(dataset, counted, in_order=True)
        called = name or dataset.name
        if (
            rows.label_domain.labels() != self.rows.label_domain.labels()
            or rows.rows != self.rows.rows
            or (rows.label != self.rows.label).any()
        ):
            raise DataError(f"{called} does not hold the same records in the same order with the same label")
        pairs = count_pairs(dataset, counted, seed=self.seed) if len(counted.joints) > 1 else None
        return PublishedTable(name=called, counted=counted, pairs=pairs, rows=rows)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SanitizedTables:
    """Mechanisms that were found once, and the table whose noise they draw."""

    table: pa.Table
    columns: dict[str, NDArray[Any]]
    sanitizers: Sanitizers
    notes: tuple[str, ...]

    @classmethod
    def of(cls, dataset: Dataset, counted: TableCounts, *, quasi: Sequence[str], seed: int) -> SanitizedTables:
        """Mechanisms for the sensitive attributes or, where none is named, for those that say most about the label.

        The adversary knows the quasi-identifiers, the authorised party every attribute that is not private.
        """
        table = ask(dataset.table)
        columns = {name: column_values(table[name], dataset.schema.kind(name)) for name in counted.joints}
        named = [name for name in dataset.roles.sensitive if name in columns]
        private = named
        if not named:
            others = [name for name in columns if name not in dataset.roles.quasi_identifying]
            tells = {name: _label_information(counted.joints[name]) for name in others or columns}
            private = choose_private(columns, sorted(tells, key=lambda name: -tells[name]), seed=seed)
        sanitizers = find_sanitizers(columns, private=private, adversary=quasi, seed=seed)
        why = "named as sensitive" if named else "none is named as sensitive, these say most about the label"
        return cls(table=table, columns=columns, sanitizers=sanitizers, notes=_notes(sanitizers, why))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(_called(share) for share in self.sanitizers.by_share)

    def drawn(self, seed: int) -> Iterator[tuple[str, pa.Table]]:
        """The sanitized tables by name, rows in their order, releases called what the columns were called."""
        for number, (share, mechanisms) in enumerate(self.sanitizers.by_share.items()):
            noise = np.random.default_rng([seed, number])
            drawn = {
                mechanism.column: mechanism.apply(self.columns[mechanism.column], rng=noise) for mechanism in mechanisms
            }
            released = released_columns(mechanisms, drawn, keep_names=True)
            yield _called(share), with_releases(self.table, released)


def _label_information(joint: Joint) -> float:
    """How much an attribute says about the label, ordered values in ranges of equally many records."""
    counts = np.asarray(joint.counts, dtype=np.float64)
    if joint.attribute.kind.is_ordered:
        records = counts.sum(axis=1)
        middle = (np.cumsum(records) - records / 2) / max(records.sum(), 1.0)
        grouped = np.zeros((_RANGES, counts.shape[1]))
        np.add.at(grouped, np.minimum((_RANGES * middle).astype(np.int64), _RANGES - 1), counts)
        counts = grouped
    return float(find_attribute_measure(_LABEL_MEASURE)(counts))


def _called(share: float) -> str:
    return f"sanitized-{100 * share:.0f}"


def _notes(sanitizers: Sanitizers, why: str) -> tuple[str, ...]:
    if not sanitizers.by_share:
        return sanitizers.notes
    first = (
        f"{', '.join(_called(share) for share in sanitizers.by_share)}: {listed(list(sanitizers.private))} ({why}) "
        "released at that percentage of the error which knowing the other columns leaves without a release; the "
        f"adversary knows {', '.join(sanitizers.adversary)} and how the release was made"
    )
    audited = [
        f"{_called(share)}, {column.mechanism.column}: the authorised party errs by {column.reconstruction.loss:.4g}, "
        f"the adversary by {column.audit.worst:.4g}, and {100 * column.protection[0].after.certain:.1f} % of the "
        f"records are determined for it{''.join(f'; {words}' for words in column.cautions)}"
        for share, fitted in sanitizers.fitted.items()
        for column in fitted
    ]
    return (first, *audited, *sanitizers.notes)
