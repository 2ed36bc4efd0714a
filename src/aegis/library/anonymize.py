"""Publish centres of classes, or boxes, instead of quasi-identifiers; rows in order, other columns untouched."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from aegis.candidates.boxes.recoding import Boxes
from aegis.candidates.clusters.methods import ANONYMIZERS
from aegis.candidates.clusters.outcome import THRESHOLDS, Anonymized, measure_risk, risk_before
from aegis.commands.anonymize import Anonymize
from aegis.counts.answer import ask
from aegis.counts.collect_classes import count_classes
from aegis.counts.joint import check_classes, check_no_numbering
from aegis.data.dataset import Dataset
from aegis.data.engine import open_dataset
from aegis.data.output import check_free, draft_of
from aegis.data.schema import Role
from aegis.errors import LabelError, PolicyNotSatisfiedError, RoleError
from aegis.library.ledgers.recognition import not_judged_with, note_made_of
from aegis.library.releasing.recode import recoded, write_recoded
from aegis.library.tables.judging import check_written, open_written, read_policy
from aegis.library.tables.opening import open_table
from aegis.library.tables.records import FilledColumn, as_dates, dates_among, filled_table, read_records
from aegis.library.tables.unlisted import hidden_warning, looks_identifying
from aegis.masking.masks.suppress import STAR
from aegis.operation import operation
from aegis.privacy.models.k_anonymity import KAnonymity
from aegis.privacy.policy import Policy
from aegis.releases.certificate import certificate_paths
from aegis.releases.write import check_format, look_into, write_rows
from aegis.result import AMONG_OTHERS, UNWRITTEN, Result, called


@dataclass(frozen=True, slots=True, kw_only=True)
class Anonymization(Result):
    """A clustered table, written or not, with what it cost and what it protects.

    ``not_judged_with`` says that something was released from the source before, which this table was not judged with.
    ``table`` and the ``boxes`` of a local recoding are not part of the JSON: what was read from there has None.
    ``filled`` are the columns in which missing numbers stand at the median of the others, ``rare`` says by column how
    many records have a text that fewer than k people have, and fewer than five: such texts count as one, which is
    written as ``*``.
    """

    result: Anonymized = field(metadata=AMONG_OTHERS)
    path: Path | None = field(metadata=called("out"))
    suppressed: tuple[str, ...] = field(metadata=called("identifying_suppressed"))
    as_they_are: tuple[str, ...] = field(metadata=called("published_as_they_are"))
    looks_identifying: tuple[str, ...]
    not_judged_with: str | None = None
    table: pa.Table | None = field(default=None, metadata=UNWRITTEN)
    boxes: Boxes | None = field(default=None, metadata=UNWRITTEN)
    filled: tuple[FilledColumn, ...] = ()
    rare: Mapping[str, int] = field(default_factory=dict)

    @property
    def exit_status(self) -> int:
        """130 where Ctrl-C ended the search; the table is valid all the same."""
        return 130 if self.result.diagnosis.finished == "interrupted" else 0

    @property
    def headline(self) -> str:
        """The method with its loss, and how near that is to what is possible."""
        result = self.result
        return f"{result.method}: information loss {result.information_loss:.5f} ({result.scale} scale), {result.gap}"

    @property
    def warnings(self) -> tuple[str, ...]:
        """Columns that may name people and were hidden, what left before, and an interruption."""
        texts = [hidden_warning(self.looks_identifying)] if self.looks_identifying else []
        if self.not_judged_with is not None:
            texts.append(self.not_judged_with)
        if self.exit_status:
            texts.append(f"interrupted: {self.path or 'this'} holds the best valid table so far")
        return tuple(texts)

    def table_rows(self) -> list[dict[str, Any]]:
        """What an attacker sees, before and after."""
        before, after = self.result.before, self.result.after
        figures = [
            ("classes an attacker sees", before.classes, after.classes),
            ("smallest class", before.smallest_class, after.smallest_class),
            *((f"people at linkage risk above {tau:g}", n, after.linkage[tau]) for tau, n in before.linkage.items()),
            *(
                (f"people whose {name} is certain", people, after.homogeneity_by_attribute[name])
                for name, people in before.homogeneity_by_attribute.items()
            ),
        ]
        return [{"what": what, "before": then, "after": now} for what, then, now in figures]


@operation(Anonymize)
def anonymize(options: Anonymize) -> Anonymization:
    """Publish class centres instead of quasi-identifiers, with every class at least ``k`` records and ``l`` values.

    With ``method="boxes"`` intervals and sets are published, and every class satisfies ``k`` or a ``policy``; beside
    the table stands its certificate, for `verify`.

    ``method`` is a name in `ANONYMIZERS`; an option that it does not use is refused. ``seconds`` is its own default
    unless given.

    Columns that are identifying by their role are replaced by ``*``, and so are those that look identifying unless they
    have another role; all others are published as they are, and the answer names them. What is written is read back and
    counted again: if a class has fewer than ``k`` records, or the policy does not hold, nothing is left behind.

    Example::

        aegis.anonymize(
            "clinic.csv", quasi=["age", "gender"], sensitive=["diagnosis"], k=5, method="mdav", out="clustered.csv"
        )
    """
    target = None if options.out is None else Path(options.out)
    if target is not None:
        check_format(target)
    beside = certificate_paths(target) if ANONYMIZERS[options.method].recodes and target is not None else ()
    check_free(options.out, options.model, *beside, overwrite=options.overwrite)
    dataset = _hiding(open_table(options.data, options), options.person)
    suspicious = _that_look_identifying(dataset, options)
    dataset = dataset.with_roles(replace(dataset.roles, identifying=(*dataset.roles.identifying, *suspicious)))
    policy = None if options.policy is None else read_policy(options.policy, person=options.person)
    if policy is not None:  # also what the policy calls identifying is not published
        dataset = dataset.with_roles(policy.roles_in(dataset.schema, dataset.roles))
    if ANONYMIZERS[options.method].recodes:
        return _recoded(dataset, options, suspicious)
    if not options.label:
        options.refuse("label_weight", because="there is no label to weigh")
    estimator = ANONYMIZERS[options.method].anonymizer(
        k=options.k,
        seed=options.seed,
        centroid=options.centroid,
        scale=options.scale,
        policy=policy,
        label_weight=_label_weight(options),
        **options.asked(),
    )
    quasi = tuple(options.quasi) or dataset.roles.quasi_identifying
    dates = dates_among(dataset, quasi, options.categorical)
    table, filled = filled_table(ask(dataset.table), quasi)
    records = read_records(
        dataset,
        quasi=options.quasi,
        sensitive=options.sensitive,
        categorical=options.categorical,
        rows=table,
        person=options.person,
    )
    records, rare = records.with_rare_together(k=_k_of(options, policy), called=STAR)
    chosen, hidden = records.quasi_identifiers, records.sensitive_names
    options.refuse_without_secrets(hidden)
    label = _label_values(table, dataset, options, chosen)
    published = estimator.fit_transform(records, label, progress=options.progress)
    table, starred = _starred(table, dataset, published)
    for name, values in published.items():
        column = as_dates(values, dates[name]) if name in dates else pa.array(values.tolist())
        table = table.set_column(table.column_names.index(name), name, column)
    if target is not None:
        with draft_of(target, overwrite=options.overwrite) as draft:
            write_rows(table, draft, like=target)
            formed = None if options.person is None else estimator.result_.distinct_tuples
            _check_classes(draft, target, chosen, hidden, k=estimator.result_.k, l=options.l, formed=formed)
            if policy is not None:
                check_written(
                    open_written(draft, named=target, header=look_into(draft, named=target).header),
                    policy,
                    replace(dataset.roles, label=None),
                    kinds={name: dataset.schema.kind(name) for name in policy.attributes},
                )
            note_made_of(options.data, dataset, draft, out=target, command="anonymize", changed=tuple(published))
    result = estimator.result_
    if options.tau:
        thresholds = tuple(sorted({*THRESHOLDS, *options.tau}))
        seen = measure_risk(
            estimator.labels_,
            records.sensitive,
            names=records.sensitive_names,
            thresholds=thresholds,
            persons=records.persons,
        )
        result = replace(result, before=risk_before(records, thresholds=thresholds), after=seen)
    return Anonymization(
        result=result,
        path=target,
        table=table,
        suppressed=starred,
        as_they_are=tuple(n for n in table.column_names if n not in published and n not in starred),
        looks_identifying=suspicious,
        not_judged_with=None if options.out is None else not_judged_with(options.data, dataset, options),
        filled=filled,
        rare=rare,
    )


def _k_of(options: Anonymize, policy: Policy | None) -> int:
    """How many people a class has at least, as far as k says it."""
    asked = [] if policy is None else [model.k for model in policy.models if isinstance(model, KAnonymity)]
    return max([*asked, options.k or 1])


def _label_weight(options: Anonymize) -> float | None:
    """What the label counts against the loss of the quasi-identifiers; as much as all of them unless said."""
    return None if not options.label else 1.0 if options.label_weight is None else float(options.label_weight)


def _label_values(
    table: pa.Table, dataset: Dataset, options: Anonymize, quasi: Sequence[str]
) -> NDArray[np.generic] | None:
    """The label of each row, numbers as numbers, a missing one as their mean; None where none is named."""
    if not options.label:
        return None
    (name,) = options.label
    kind = dataset.schema.kind(name)
    if name in quasi:
        raise LabelError(f"the label {name!r} is quasi-identifying, so it would be averaged itself; choose another")
    values = table[name].to_pylist()
    known = [value for value in values if value is not None]
    if known and kind.is_number:
        numbers = np.array([float(value) for value in known])
        check_no_numbering(name, kind, numbers)
        return np.array([float(numbers.mean()) if value is None else float(value) for value in values])
    check_classes(name, np.unique(np.array([f"={value}" for value in known]), return_counts=True)[1])
    return np.array(["missing" if value is None else f"={value}" for value in values])


def _hiding(dataset: Dataset, person: str | None) -> Dataset:
    """The dataset where the column that says whose records they are is identifying: it is not published."""
    if person is None:
        return dataset
    dataset.schema.check(person)
    role = dataset.roles.get(person)
    if role not in (None, Role.IDENTIFYING):
        raise RoleError(f"people are counted by {person!r}, which is named {role.value}; it is identifying")
    if role is not None:
        return dataset
    return dataset.with_roles(replace(dataset.roles, identifying=(*dataset.roles.identifying, person)))


def _that_look_identifying(dataset: Dataset, options: Anonymize) -> tuple[str, ...]:
    """Columns that nobody decided about and that look as if they named people: they are not published."""
    roles = dataset.roles
    if options.policy is not None:
        roles = read_policy(options.policy, person=options.person).roles_in(dataset.schema, roles)
    decided = (*options.quasi, *options.sensitive, *options.label, *([] if roles.label is None else [roles.label]))
    return looks_identifying(dataset, roles, masked=decided)


def _recoded(dataset: Dataset, options: Anonymize, suspicious: tuple[str, ...]) -> Anonymization:
    """Boxes: counted, cut, written, measured again."""
    recoding = recoded(dataset, options)
    table, starred = _starred(recoding.table, dataset, recoding.columns)
    if options.out is not None or options.model is not None:
        write_recoded(recoding, dataset, options, table)
    return Anonymization(
        result=recoding.result,
        path=None if options.out is None else Path(options.out),
        table=table,
        boxes=recoding.boxes,
        suppressed=starred,
        as_they_are=tuple(n for n in table.column_names if n not in recoding.columns and n not in starred),
        looks_identifying=suspicious,
        not_judged_with=None if options.out is None else not_judged_with(options.data, dataset, options),
    )


def _starred(table: pa.Table, dataset: Dataset, published: Collection[str]) -> tuple[pa.Table, tuple[str, ...]]:
    """The table with stars in its identifying columns, and which these are."""
    starred = tuple(n for n in dataset.roles.identifying if n in table.column_names and n not in published)
    for name in starred:
        table = table.set_column(table.column_names.index(name), name, pa.array([STAR] * len(table)))
    return table, starred


def _check_classes(
    draft: Path,
    target: Path,
    quasi: Sequence[str],
    sensitive: Sequence[str],
    *,
    k: int,
    l: int,
    formed: int | None,
) -> None:
    """Count the written file again, every value as it stands there.

    Where people were counted, it has as many classes as were ``formed``.
    """
    link = draft.with_name(f"{draft.name}{target.suffix}")
    link.hardlink_to(draft)
    try:
        classes = count_classes(open_dataset(link, as_text=True), quasi, contents=sensitive)
    finally:
        link.unlink()
    smallest = int(classes.sizes.min())
    fewest = min((int(classes.contents[name].distinct.min()) for name in sensitive), default=l)
    if smallest < k or fewest < l:
        raise PolicyNotSatisfiedError(
            f"the written table has a class of {smallest} records and {fewest} sensitive values where {k} and {l} are "
            "asked; nothing was kept"
        )
    if formed is not None and classes.classes != formed:
        raise PolicyNotSatisfiedError(
            "the written table has other classes than those whose people were counted; nothing was kept"
        )
