"""Local recoding of a table: counted, cut into boxes under a policy, written, and measured again."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from aegis.candidates.boxes.estimator import LocalRecoding, k_and_l
from aegis.candidates.boxes.in_words import column_recodings
from aegis.candidates.boxes.recoding import FORMAT, Boxes
from aegis.candidates.boxes.tree import STAR
from aegis.candidates.boxes.tuples import check_to_keep
from aegis.candidates.clusters.methods import ANONYMIZERS
from aegis.candidates.clusters.outcome import THRESHOLDS, Anonymized
from aegis.commands.anonymize import Anonymize
from aegis.counts.answer import ask, codes_in
from aegis.counts.class_table import ClassTable
from aegis.counts.collect_classes import count_classes
from aegis.data.dataset import Dataset
from aegis.data.domain import show
from aegis.data.engine import open_dataset
from aegis.data.hierarchy import Hierarchy
from aegis.data.kind import Kind
from aegis.data.output import PRIVATE, PUBLIC, drafts_of
from aegis.data.schema import Roles
from aegis.errors import AnonymizerError, LabelError, RoleError, VerificationError
from aegis.library.ledgers.recognition import note_made_of
from aegis.library.tables.judging import by_person, check_written, classes_of, open_written, read_policy
from aegis.library.tables.opening import find_hierarchies
from aegis.library.tables.unlisted import unlisted
from aegis.privacy.judgement import Judgement, certified
from aegis.privacy.policy import Policy, Suppressed
from aegis.releases.certificate import MEASURED, Certificate, certificate_head, certificate_paths
from aegis.releases.write import WrittenFile, look_into, write_rows


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
    from aegis.report.certificate_report import render_certificate
    from aegis.report.release_pictures import box_tree  # an extra

    return render_certificate(certificate.content, tree=box_tree(boxes))


def _policy(dataset: Dataset, options: Anonymize, labels: Sequence[str]) -> tuple[Policy, Roles]:
    """What has to hold, and the roles of the columns; a label is no quasi-identifier."""
    own = dataset.roles
    dataset.schema.check(*labels)
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
    dataset.schema.check(*names)
    if not names:
        return dataset
    table = dataset.table.mutate(**{name: dataset.table[name].cast("string") for name in names})
    return replace(open_dataset(table), name=dataset.name, roles=dataset.roles)


def recoded_certificate(
    boxes: Boxes,
    measured: Judgement,
    judged: Judgement,
    file: WrittenFile,
    *,
    out: Path,
    dataset: Dataset,
    policy: Policy,
    roles: Roles,
    kinds: Mapping[str, Kind],
    hierarchies: Mapping[str, Hierarchy],
) -> Certificate:
    """What is promised of a table of boxes; it names the boxes by their hash and holds no value of theirs."""
    return Certificate(
        content={
            **certificate_head(
                MEASURED,
                release={
                    "name": out.name,
                    "sha256": file.sha256,
                    "bytes": file.bytes,
                    "rows": measured.records,
                    "columns": list(dataset.schema.names),
                    "left_out": [],
                    "shuffled": False,
                },
                source={"name": dataset.name, "rows": boxes.records},
                engine=dataset.backend.name,
            ),
            "roles": {
                **roles.to_mapping(),
                "unlisted_are_insensitive": list(unlisted(dataset.schema, roles)),
            },
            "kinds": {name: kind.value for name, kind in kinds.items()},
            "hierarchies": {name: hierarchies[name].digest for name in policy.hierarchical},
            "policy": policy.to_mapping(),
            "policy_id": policy.id,
            "recoding": {
                "method": "boxes",
                "sha256": sha256_of_boxes(boxes.to_text()),
                "boxes": boxes.many,
                "labels": list(boxes.labels),
                "columns": {recoding.column: recoding.describe() for recoding in column_recodings(boxes)},
            },
            "suppressed": {
                "records": boxes.suppressed,
                "dropped": policy.suppressed is Suppressed.DROPPED,
            },
            **certified(measured, judged, policy.unit),
            "classes": measured.classes,
        }
    )


def sha256_of_boxes(text: str) -> str:
    """The hash of a boxes file."""
    return hashlib.sha256(text.encode()).hexdigest()


def check_recoding(certificate: Certificate, text: str, released: Dataset) -> str:
    """What was found where a file of boxes is the one of a certificate and made every row of a release.

    Raises VerificationError where it is another file, or where the release holds other tuples than its boxes publish,
    or another number of records in one of them.
    """
    if sha256_of_boxes(text) != certificate.content["recoding"]["sha256"]:
        raise VerificationError("the boxes are not those of the certificate: their hash differs")
    boxes = Boxes.from_text(text)
    expected: dict[tuple[str | None, ...], int] = {}
    dropped = bool(certificate.content["suppressed"]["dropped"])
    for leaf, texts in zip(boxes.boxes, boxes.texts, strict=True):
        if not (leaf.suppressed and dropped):
            expected[texts] = expected.get(texts, 0) + leaf.records
    counted = count_classes(released, [column.name for column in boxes.columns])
    values: list[list[Any]] = [
        [*(show(value) for value in domain.values.tolist()), *[None] * domain.missing] for domain in counted.domains
    ]
    rows = zip(counted.codes.tolist(), counted.sizes.tolist(), strict=True)
    seen = {tuple(values[at][code] for at, code in enumerate(codes)): size for codes, size in rows}
    if seen != expected:
        raise VerificationError(
            "the release is not what the boxes publish: a tuple or how many records have it differs"
        )
    return f"the release is what {boxes.many} boxes publish, record by record"
