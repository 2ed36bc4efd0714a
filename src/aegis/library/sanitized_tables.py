"""Sanitized candidates for an evaluation: the table with private columns released at several distortions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from aegis.counts.answer import ask
from aegis.counts.joint import Joint, TableCounts
from aegis.data.dataset import Dataset
from aegis.evaluation.sanitizing import Sanitizers, choose_private, find_sanitizers
from aegis.library.sanitize import column_values
from aegis.library.sanitized_files import released_columns, with_releases
from aegis.measures.measure import find_attribute_measure
from aegis.report.figures import listed

_SAID = "leave-one-out-information"  # a column of many values does not look better for that
_RANGES = 10  # and a number whose values hardly repeat does not look worse


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SanitizedTables:
    """Mechanisms that were found once, and the table whose noise they draw."""

    table: pa.Table
    columns: dict[str, NDArray[Any]]
    found: Sanitizers
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
            tells = {name: _said(counted.joints[name]) for name in others or columns}
            private = choose_private(columns, sorted(tells, key=lambda name: -tells[name]), seed=seed)
        sanitizers = find_sanitizers(columns, private=private, adversary=quasi, seed=seed)
        why = "named as sensitive" if named else "none is named as sensitive, these say most about the label"
        return cls(table=table, columns=columns, found=sanitizers, notes=_notes(sanitizers, why))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(_called(share) for share in self.found.by_share)

    def drawn(self, seed: int) -> Iterator[tuple[str, pa.Table]]:
        """The sanitized tables by name, rows in their order, releases called what the columns were called."""
        for number, (share, mechanisms) in enumerate(self.found.by_share.items()):
            noise = np.random.default_rng([seed, number])
            drawn = {
                mechanism.column: mechanism.apply(self.columns[mechanism.column], rng=noise) for mechanism in mechanisms
            }
            released = released_columns(mechanisms, drawn, keep_names=True)
            yield _called(share), with_releases(self.table, released)


def _said(joint: Joint) -> float:
    """How much an attribute says about the label, ordered values in ranges of equally many records."""
    counts = np.asarray(joint.counts, dtype=np.float64)
    if joint.attribute.kind.is_ordered:
        held = counts.sum(axis=1)
        middle = (np.cumsum(held) - held / 2) / max(held.sum(), 1.0)
        grouped = np.zeros((_RANGES, counts.shape[1]))
        np.add.at(grouped, np.minimum((_RANGES * middle).astype(np.int64), _RANGES - 1), counts)
        counts = grouped
    return float(find_attribute_measure(_SAID)(counts))


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
        "records are determined for it"
        for share, fitted in sanitizers.fitted.items()
        for column in fitted
    ]
    return (first, *audited, *sanitizers.notes)
