"""The values that a certificate lists behind the labels of a mask, so that "group 1" says something to whoever gets it.

Only values that at least k people have, by the rule for what may be shown. Which these are is decided once, when the
first release of a column states it, and the ledger remembers it: a list that followed the table would say by what it
gained or lost that one more person came or left. What a list does not name may be rare, new, or not there at all.
Where that list does not fit the present release, because its k is larger, the column holds other kinds of values, or
its hierarchy misses one of them, nothing is listed: a second list beside the first would tell what changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aegis.counts.answer import ask, encode
from aegis.counts.disclosure_rule import FEWEST, may_name
from aegis.data.dataset import Dataset
from aegis.data.domain import Domain, show
from aegis.data.kind import Kind
from aegis.data.schema import Role
from aegis.errors import HierarchyError
from aegis.library.releasing.release_source import ReleaseCounts, Source
from aegis.masking.mask import Mask
from aegis.masking.partition import Partition
from aegis.masking.transition import transition
from aegis.releases.ledger_entry import RecordedRelease

MOST_LISTED = 500
"""A column with more values than this lists none: nobody reads them, and its labels are likely to say what it holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedValues:
    """The values of a column that at least ``at_least`` people have, as JSON writes them, and the label of each."""

    at_least: int
    kind: Kind
    values: tuple[Any, ...]
    labels: tuple[str, ...]

    def remembered(self) -> dict[str, Any]:
        """What the ledger keeps."""
        return {"at_least": self.at_least, "kind": self.kind.value, "values": list(self.values)}

    def stated(self, written: Iterable[str]) -> dict[str, Any]:
        """What the certificate says: the values of each label that stands in the release."""
        groups: dict[str, list[str]] = {label: [] for label in written}
        for value, label in zip(self.values, self.labels, strict=True):
            if label in groups:
                groups[label].append(show(value))
        return {"at_least": self.at_least, "groups": groups}


def listed_values(source: Source, counts: ReleaseCounts) -> dict[str, ListedValues]:
    """What may be listed of each column that a mask puts into groups."""
    listed = {}
    listed_before = _listed_earlier(() if source.earlier is None else source.earlier.ledger.releases.values())
    k = [int(model.threshold) for model in source.policy.models if model.name == "k-anonymity"]
    at_least = max([FEWEST, *k])
    for column, mask in source.configuration.masks.items():
        fitted = counts.masked.masks.get(column)
        if fitted is None or not mask.names_values or source.roles.get(column) is Role.IDENTIFYING:
            continue
        if fitted.is_random:
            continue  # which label a value got was drawn
        kind = source.dataset.schema.kind(column)
        values = listed_before.get(column) or _common(source.dataset, column, source.policy.unit, at_least=at_least)
        fits = values["at_least"] >= at_least and values.get("kind") == kind.value
        labels = _labels(values["values"], kind, fitted) if fits else None
        listed[column] = (
            ListedValues(at_least=at_least, kind=kind, values=(), labels=())
            if labels is None
            else ListedValues(at_least=values["at_least"], kind=kind, values=tuple(values["values"]), labels=labels)
        )
    return listed


def _listed_earlier(leavings: Iterable[RecordedRelease]) -> dict[str, Mapping[str, Any]]:
    """What the first release said that listed values of a column."""
    first: dict[str, Mapping[str, Any]] = {}
    for recorded in leavings:
        for column, values in (recorded.listed or {}).items():
            first.setdefault(column, values)
    return first


def _common(dataset: Dataset, column: str, unit: str | None, *, at_least: int) -> dict[str, Any]:
    """The values that enough people have, in order, as the ledger keeps them; none where they are too many."""
    kind = dataset.schema.kind(column)
    table = dataset.table.filter(dataset.table[column].notnull())
    people = table.count() if unit is None else table[unit].nunique()
    groups = table.group_by(value=table[column]).aggregate(people=people)
    answer = ask(groups.filter(groups["people"] >= at_least).limit(MOST_LISTED + 1))
    allowed = may_name(answer["people"].to_numpy(), at_least=at_least)
    listed: list[Any] = []
    if allowed.all() and 0 < len(allowed) <= MOST_LISTED:
        values = encode(answer["value"], kind)[0].values
        listed = (np.datetime_as_string(values) if kind in (Kind.DATE, Kind.TIMESTAMP) else values).tolist()
    return {"at_least": at_least, "kind": kind.value, "values": listed}


def _labels(values: Sequence[Any], kind: Kind, mask: Mask) -> tuple[str, ...] | None:
    """What a mask makes of each value; None where its hierarchy misses one, which nobody has any more."""
    if not values:
        return ()
    typed = np.empty(len(values), dtype=object) if kind is Kind.TEXT else np.asarray(values, dtype=kind.dtype)
    typed[:] = values
    domain = Domain(kind=kind, values=typed)
    try:
        change = transition(mask, domain, np.ones(domain.size, dtype=np.int64))
    except HierarchyError:
        return None
    assert isinstance(change, Partition), "masks that draw are left out"
    texts = [show(value) for value in change.target.values.tolist()]
    return tuple(texts[code] for code in change.codes.tolist())
