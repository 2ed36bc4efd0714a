"""What the certificate of a release says, and what the release keeps of what the raw table says about its label.

The certificate lists the values behind the labels of a mask, so that "group 1" says something to whoever gets it. Only
values that at least k people have, by the rule for what may be shown. Which these are is decided once, when the first
release of a column states it, and the ledger remembers it: a list that followed the table would say by what it gained
or lost that one more person came or left. What a list does not name may be rare, new, or not there at all. Where that
list does not fit the present release, because its k is larger, the column holds other kinds of values, or its hierarchy
misses one of them, nothing is listed: a second list beside the first would tell what changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ibis
import numpy as np

from aegis.commands.release import Release
from aegis.counts.answer import ask, encode
from aegis.counts.class_table import ClassTable
from aegis.counts.collect_classes import count_classes
from aegis.counts.disclosure_rule import FEWEST, may_name
from aegis.counts.grouping import summed
from aegis.data.dataset import Dataset
from aegis.data.domain import Domain, show
from aegis.data.kind import Kind
from aegis.data.schema import Role, Roles
from aegis.errors import HierarchyError
from aegis.library.releasing.release_draft import Draft, as_certified
from aegis.library.releasing.release_judgement import Judged
from aegis.library.releasing.release_source import ReleaseCounts, Source, judged_kinds
from aegis.library.tables.judging import pseudonymous
from aegis.library.tables.masked_data import masked_data
from aegis.library.tables.unlisted import unlisted
from aegis.masking.configuration import Configuration
from aegis.masking.configuration_file import LABELS_ID, to_mapping
from aegis.masking.mask import Mask
from aegis.masking.masks.regroup import Regroup
from aegis.masking.transition import Partition, transition
from aegis.measures.leave_one_out import leave_one_out_information
from aegis.privacy.judgement import Judgement, certified
from aegis.privacy.policy import Suppressed
from aegis.releases.certificate import MEASURED, Certificate, certificate_head
from aegis.releases.ledger_entry import RecordedRelease
from aegis.releases.row_digest import OWN
from aegis.releases.write import PLACE, TableAddress, is_url
from aegis.result import plain

if TYPE_CHECKING:
    from aegis.attacks.attack import AttackResult


MOST_ROWS = 250_000
"""Larger tables are compared on a sample of about so many rows: raw tuples are nearly as many as rows."""
MOST_LISTED = 500
"""A column with more values than this lists none: nobody reads them, and its labels are likely to say what it holds."""


def certificate_of(
    source: Source,
    counts: ReleaseCounts,
    judged: Judged,
    draft: Draft,
    options: Release,
    *,
    measured: Judgement,
    utility: Mapping[str, Any] | None,
    attacked: Sequence[AttackResult],
    listed: Mapping[str, ListedValues],
) -> Certificate:
    """How the release was made and what was measured on the table as it was written.

    Of the source's values it names those that ``listed`` says, each of k people or more.
    """
    dataset, out = source.dataset, options.out
    stated = _stated(source, counts, judged)
    return Certificate(
        content={
            **certificate_head(
                MEASURED,
                release={
                    "name": TableAddress.parse(str(out)).table if is_url(out) else Path(out).name,
                    "sha256": draft.sha256,
                    "bytes": draft.bytes,
                    "rows": measured.records,
                    "columns": [
                        name for name in counts.published.table.columns if name != PLACE and not name.startswith(OWN)
                    ],
                    "left_out": list(source.left_out),
                    "shuffled": options.shuffle,
                },
                source={"name": dataset.name, "rows": counts.classes.records},
                engine=dataset.backend.name,
            ),
            **({} if options.for_ is None else {"for": options.for_}),
            "roles": {
                **source.roles.to_mapping(),
                "unlisted_are_insensitive": [
                    name for name in unlisted(dataset.schema, source.roles) if name not in source.left_out
                ],
                "insensitive_as_the_rest": list(source.as_the_rest),
                "left_out_as_identifying": list(source.suspicious),
                "insensitive_that_look_identifying": list(source.suspicious_and_named),
                "identifying_as_pseudonyms": [
                    name
                    for name in pseudonymous(source.roles, source.configuration.masks)
                    if name not in source.left_out
                ],
            },
            "kinds": {name: kind.value for name, kind in judged_kinds(source, counts).items()},
            "hierarchies": {name: source.hierarchies[name].digest for name in source.judged_policy.hierarchical},
            "policy": source.policy.to_mapping(),
            "policy_id": source.policy.id,
            "configuration": {
                "id": source.configuration.id,
                **({} if stated is source.configuration else {LABELS_ID: stated.id}),
                **to_mapping(stated),
            },
            "suppressed": {
                "records": judged.own.suppressed,
                "dropped": source.policy.suppressed is Suppressed.DROPPED,
            },
            **certified(measured, judged.own, source.policy.unit),
            "classes": measured.classes,
            "group_records": group_records(stated, judged.own.released),
            **({} if not listed else {"group_values": _group_values(source.configuration, stated, listed)}),
            "utility": utility,
            "ledger": _ledger_block(source, judged),
            **({"attacks": as_certified(attacked)} if attacked else {}),
        }
    )


def _stated(source: Source, counts: ReleaseCounts, judged: Judged) -> Configuration:
    """The masks as the certificate may state them: no value of the source that a mask lists leaves with it, and no edge
    that has suppressed records on both sides."""
    listing = [column for column, mask in source.configuration.masks.items() if mask.labels]
    released = judged.own.released.without_star(published=True)
    written: dict[str, frozenset[str]] = {}
    for column in listing:
        if column in released.columns:
            place = released.columns.index(column)
            values, codes = released.domains[place].values, np.unique(released.codes[:, place])
            labels = values[codes[codes < len(values)]].tolist()  # a missing value has no label
        elif column in counts.published.table.columns:
            table = counts.published.table
            labels = ask(table.select(table[column]).distinct())[column].to_pylist()
        else:
            labels = []
        written[column] = frozenset(show(label) for label in labels if label is not None)
    stated = source.configuration.without_values(written)
    return source.configuration if stated.id == source.configuration.id else stated


def _group_values(
    full: Configuration, stated: Configuration, listed: Mapping[str, ListedValues]
) -> dict[str, dict[str, Any]]:
    """The values behind each label that stands in the release, as far as enough people have them.

    What is in no group is listed nowhere, also where nothing but that stands there: no configuration says what it is.
    """
    written = {column: set(full[column].labels) for column in listed}
    return {
        column: values.stated(label for label in stated.masks[column].labels if label in written[column])
        for column, values in listed.items()
        if column in stated.masks
    }


def group_records(configuration: Configuration, released: ClassTable) -> dict[str, list[int]]:
    """How many records of the release stand in each group of a quasi-identifier that is put into groups, in order.

    Records of suppressed classes stand in none. The groups are those of the stated mask, so no name is repeated here.
    """
    counted = {}
    published = released.without_star(published=True)
    for place, column in enumerate(published.columns):
        mask = configuration.masks.get(column)
        if not isinstance(mask, Regroup):
            continue
        domain = published.domains[place]
        sizes = dict(
            zip(
                map(show, domain.values.tolist()),
                summed(published.sizes, published.codes[:, place], domain.size).tolist(),
                strict=False,
            )
        )
        counted[column] = [sizes.get(show(name), 0) for name in dict(mask.groups)]
    return counted


def _ledger_block(source: Source, judged: Judged) -> dict[str, Any] | None:
    """What the certificate says of the ledger: what the release was judged together with, and what waits."""
    earlier = source.earlier
    if earlier is None:
        return None
    together = None if judged.despite is not None else judged.together
    return {
        "name": earlier.path.name,
        "number": earlier.ledger.next_release,
        "head": earlier.ledger.head,
        "recipient": earlier.recipient,
        "recipients": source.policy.recipients.value,
        "together_with": list(earlier.counted),
        "together_with_files": sorted(
            {recorded.file_sha256 for recorded in earlier.counted.values() if recorded.file_sha256}
        ),
        "smallest_class_together": None if together is None else together.smallest_part,
        "held": 0 if together is None else together.held,
        "withdrawn": 0 if together is None else together.withdrawn,
        "despite": judged.despite,
        **({} if earlier.same_rows is None else {"order_seen_by": plain(earlier.same_rows)}),
    }


def utility_kept(
    dataset: Dataset, masks: Mapping[str, Mask], roles: Roles, *, released: ClassTable
) -> dict[str, Any] | None:
    """What the quasi-identifiers say about the label, in bits of leave-one-out information: released and raw.

    Once summed over the columns, each by itself, and once of the whole tuple. The share kept is that of the columns:
    raw tuples are often too rare for anything to be learned from them, and masking then makes the tuple say more.
    None where there is no label, or it is masked, or no quasi-identifier is released.
    """
    label = roles.label
    quasi = roles.quasi_identifying
    if label is None or label not in released.contents or label in masks or not quasi:
        return None
    if released.records <= MOST_ROWS:
        after, raw = released, count_classes(dataset, quasi, contents=(label,))
    else:
        # Rare values say less in a sample than in all rows, so both are measured on the same one, before suppression.
        sample = dataset.with_table(dataset.table.filter(ibis.random() < MOST_ROWS / released.records).cache())
        masked = masked_data(sample, {column: mask for column, mask in masks.items() if column in quasi}).dataset
        after, raw = (count_classes(rows, quasi, contents=(label,)) for rows in (masked, sample))
    columns, raw_columns = _column_bits(after, label), _column_bits(raw, label)
    return {
        "label": label,
        "measure": "leave-one-out-information",
        "unit": "bits",
        "columns": {"released": columns, "raw": raw_columns},
        "tuple": {"released": _tuple_bits(after, label), "raw": _tuple_bits(raw, label)},
        "kept_share": columns / raw_columns if raw_columns > 0 else None,
        "compared_on_rows": raw.records,
    }


def _tuple_bits(table: ClassTable, label: str) -> float:
    return float(leave_one_out_information(np.asarray(table.contents[label].dense())))


def _column_bits(table: ClassTable, label: str) -> float:
    """The sum over the columns; the suppressed records count as a value of their own."""
    content = table.contents[label]
    total = 0.0
    for position, domain in enumerate(table.domains):
        codes = table.codes[:, position][content.owners]  # the code of suppressed records, -1, is the last row
        joint = np.bincount(
            np.where(codes < 0, domain.size, codes) * content.domain.size + content.values,
            weights=content.counts,
            minlength=(domain.size + 1) * content.domain.size,
        )
        total += float(leave_one_out_information(joint.reshape(domain.size + 1, content.domain.size)))
    return total


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
