"""Local recoding of a table: counted, cut into boxes under a policy, written, and measured again."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from aegis.candidates.boxes.estimator import LocalRecoding, k_and_l
from aegis.candidates.boxes.recoding import FORMAT, Boxes
from aegis.candidates.boxes.tree import STAR
from aegis.candidates.boxes.tuples import check_to_keep
from aegis.candidates.clusters.methods import ANONYMIZERS
from aegis.candidates.clusters.outcome import THRESHOLDS, Anonymized
from aegis.commands.anonymize import Anonymize
from aegis.counts.answer import ask, codes_in
from aegis.counts.class_table import ClassTable
from aegis.data.dataset import Dataset
from aegis.data.engine import open_dataset
from aegis.data.output import PRIVATE, PUBLIC, drafts_of
from aegis.data.schema import Roles
from aegis.errors import AnonymizerError, LabelError, RoleError
from aegis.library.ledgers.derivation import note_made_of
from aegis.library.releasing.recoded_certificate import recoded_certificate
from aegis.library.tables.judging import by_person, classes_of, read_policy
from aegis.library.tables.opening import find_hierarchies
from aegis.library.tables.written import check_written, open_written
from aegis.privacy.judgement import Judgement
from aegis.privacy.policy import Policy, Suppressed
from aegis.releases.certificate import Certificate, certificate_paths
from aegis.releases.write import look_into, write_rows


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Recoded:
    """A recoded table with its boxes and figures."""

    boxes: Boxes
    table: pa.Table
    result: Anonymized
    judgement: Judgement
    columns: tuple[str, ...]
    sensitive: tuple[str, ...]

    def __repr__(self) -> str:
        return f"Recoded({self.boxes!r})"


def recoded(dataset: Dataset, options: Anonymize) -> Recoded:
    """Cut the records into boxes and give the table with intervals and sets in place of quasi-identifiers."""
    dataset = _as_categories(dataset, options.categorical)
    labels = tuple(options.label) or ((dataset.roles.label,) if dataset.roles.label else ())
    policy, roles = _policy(dataset, options, labels)
    options.refuse_without_secrets(roles.sensitive)
    hierarchies = find_hierarchies(options.hierarchies, options.data)
    began = time.perf_counter()
    counts = classes_of(
        dataset, policy, roles, contents=tuple(dict.fromkeys((*labels, *roles.sensitive))), hierarchies=hierarchies
    )
    if options.k is not None and options.k > counts.records:
        raise AnonymizerError(
            f"k = {options.k} needs at least {options.k} records and the table has {counts.records}: use k of at most "
            f"{counts.records}"
        )
    for label in labels:
        check_to_keep(label, counts.contents[label])
    estimator = ANONYMIZERS[options.method].anonymizer(
        k=None,
        seed=options.seed,
        policy=policy,
        hierarchies=hierarchies if options.hierarchies is not None else None,
        by_branch=options.by_branch,
        label_weight=options.label_weight,
    )
    if not labels:
        options.refuse("label_weight", because="there is no label to weigh, and boxes are cut where they are widest")
    assert isinstance(estimator, LocalRecoding), "a method that recodes is fitted to counts"
    boxes = hiding(estimator.fit_counts(counts, labels=labels, progress=options.progress), dataset.roles.identifying)
    result = estimator.outcome_of_counts(
        counts,
        roles.sensitive,
        seconds=time.perf_counter() - began,
        thresholds=tuple(sorted({*THRESHOLDS, *options.tau})),
    )
    if options.k is not None:
        result = replace(result, k=options.k, l=options.l)
    table = recoded_rows(ask(dataset.table), boxes, counts)
    if policy.suppressed is Suppressed.DROPPED and boxes.suppressed:
        stars = np.logical_and.reduce([np.array(table[c].to_pylist(), dtype=object) == "*" for c in counts.columns])
        table = table.filter(pa.array(~stars))
    return Recoded(
        boxes=boxes,
        table=table,
        result=result,
        judgement=estimator.judgement_,
        columns=counts.columns,
        sensitive=roles.sensitive,
    )


def recoded_rows(rows: pa.Table, boxes: Boxes, counts: ClassTable) -> pa.Table:
    """The same rows with what the boxes publish of them; the columns are coded by the domains of ``counts``."""
    codes = np.column_stack(
        [codes_in(rows[name], domain) for name, domain in zip(counts.columns, counts.domains, strict=True)]
    )
    box = pa.array(boxes.box_of(counts.domains, codes) % (len(boxes.leaves) + 1))  # whoever is in no box comes last
    for at, column in enumerate(boxes.columns):
        texts = pa.array([*(line[at] for line in boxes.texts), STAR], type=pa.string())
        rows = rows.set_column(rows.column_names.index(column.name), column.name, texts.take(box))
    return rows


def hiding(boxes: Boxes, identifying: Sequence[str]) -> Boxes:
    """The same boxes, with these columns hidden wherever they are applied."""
    recoded = {column.name for column in boxes.columns}
    return replace(boxes, hidden=tuple(sorted(set(identifying) - recoded)))


def boxes_in(config: object) -> Boxes | None:
    """The boxes of a file, where it is one of boxes and not of masks."""
    if not isinstance(config, str | Path) or Path(config).suffix.lower() != ".json" or not Path(config).is_file():
        return None
    text = Path(config).read_text(encoding="utf-8")
    return Boxes.from_text(text) if f'"format": "{FORMAT}"' in text[:200] else None


def write_recoded(done: Recoded, dataset: Dataset, options: Anonymize, table: pa.Table) -> None:
    """Write table, certificate, its page and boxes together, once the written table was found to satisfy the policy."""
    labels = tuple(options.label) or ((dataset.roles.label,) if dataset.roles.label else ())
    policy, roles = _policy(dataset, options, labels)
    hierarchies = find_hierarchies(options.hierarchies, options.data)
    paths = [Path(path) for path in (options.out, options.model) if path is not None]
    modes = [PUBLIC, PUBLIC, PUBLIC, PRIVATE]
    if options.out is None:
        modes = [PRIVATE]
    else:
        paths[1:1] = certificate_paths(Path(options.out))
    with drafts_of(paths, overwrite=options.overwrite, modes=modes[: len(paths)]) as drafts:
        if options.out is not None:
            write_rows(table, drafts[0], like=Path(options.out))
            kinds = {name: dataset.schema.kind(name) for name in policy.attributes}
            judged_roles = replace(roles, label=None)
            file = look_into(drafts[0], named=Path(options.out))
            written = check_written(
                open_written(drafts[0], named=Path(options.out), header=file.header),
                policy,
                judged_roles,
                kinds=kinds,
                hierarchies=hierarchies,
                judged=done.judgement,
            )
            certificate = recoded_certificate(
                done.boxes, written, done.judgement, file, out=Path(options.out), dataset=dataset, policy=policy,
                roles=judged_roles, kinds=kinds, hierarchies=hierarchies,
            )  # fmt: skip
            drafts[1].write_text(certificate.to_json(), encoding="utf-8")
            drafts[2].write_text(_page(certificate, done.boxes), encoding="utf-8")
            out = Path(options.out)
            note_made_of(options.data, dataset, drafts[0], out=out, command="anonymize", changed=done.columns)
        if options.model is not None:
            drafts[-1].write_text(done.boxes.to_text(), encoding="utf-8")


def _page(certificate: Certificate, boxes: Boxes) -> str:
    """The certificate's page, with the picture of the tree."""
    from aegis.report.box_tree import box_tree  # an extra
    from aegis.report.certificate_report import render_certificate

    return render_certificate(certificate.content, tree=box_tree(boxes))


def _policy(dataset: Dataset, options: Anonymize, labels: Sequence[str]) -> tuple[Policy, Roles]:
    """What has to hold, and the roles of the columns; a label is no quasi-identifier."""
    own = dataset.roles
    for label in labels:
        dataset.schema.kind(label)  # says which columns there are if it is not one of them
    if options.policy is None:
        if not own.quasi_identifying:
            raise RoleError("no column is quasi-identifying; name some with --quasi or in the roles file")
        assert options.k is not None, "the options ask for k or a policy"
        policy = by_person(k_and_l(options.k, options.l, own.sensitive), options.person)
    else:
        policy = read_policy(options.policy, person=options.person)
    roles = policy.roles_in(dataset.schema, own)
    for label in labels:
        if label in roles.quasi_identifying:
            raise LabelError(f"the label {label!r} is quasi-identifying, so it would be recoded itself; choose another")
    return policy, roles


def _as_categories(dataset: Dataset, names: Sequence[str]) -> Dataset:
    """The dataset with some columns of numbers as texts."""
    for name in names:
        dataset.schema.kind(name)
    if not names:
        return dataset
    table = dataset.table.mutate(**{name: dataset.table[name].cast("string") for name in names})
    return replace(open_dataset(table), name=dataset.name, roles=dataset.roles)
