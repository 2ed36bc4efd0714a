"""Mask, write, measure what was written, and only then let it leave.

``count → judge → write → measure again → certify``. The source is opened once: its rows are counted, and read once more
when they are written. The written file is looked into once for its hash, and its rows are counted from scratch. Nothing
appears under its name before the last step.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ibis.expr.types as ir

from aegis._version import __version__
from aegis.commands.release import Release
from aegis.counts.class_table import ClassTable
from aegis.data.dataset import Dataset
from aegis.data.engine import as_dataset, read_frame
from aegis.data.hierarchy import Hierarchy
from aegis.data.kind import Kind
from aegis.data.output import PRIVATE, PUBLIC, check_apart, check_free, drafts_of
from aegis.data.schema import Roles
from aegis.data.yaml_text import dump
from aegis.errors import OutputError, PolicyNotSatisfiedError, RoleError
from aegis.library.check import unlisted
from aegis.library.judging import classes_of, read_policy, refuse_sanitized, why_not
from aegis.library.masked_data import MaskedData, all_masks, mapping_text, masked_data, roles_with
from aegis.library.opening import open_table
from aegis.library.proposals import find_hierarchies, one_configuration
from aegis.library.unlisted import looks_identifying, warning
from aegis.library.utility_kept import utility_kept
from aegis.library.written import measure_written, open_written
from aegis.masking.configuration import Configuration
from aegis.masking.configuration_file import to_mapping
from aegis.masking.masks.suppress import Suppress
from aegis.operation import operation
from aegis.privacy.judgement import Judgement, judge_all
from aegis.privacy.policy import Policy, Suppressed, narrowed, without
from aegis.privacy.verdict import StatedVerdict
from aegis.releases.apply import with_suppression
from aegis.releases.certificate import FORMAT_VERSION, Certificate, certificate_paths, read_certificate
from aegis.releases.table_hash import sha256_of_table
from aegis.releases.write import (
    TableAddress,
    blank_is_missing,
    check_format,
    draft_table,
    is_csv,
    is_url,
    look_into,
    write_table,
)
from aegis.result import Result, plain

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class Released(Result):
    """A written table with its certificate.

    ``verdicts``, ``classes`` and ``smallest_class`` were measured on the table as it was written; ``utility`` says what
    it keeps about the label, where it has one.
    """

    out: str
    certificate_path: Path
    rows: int
    suppressed: int
    verdicts: tuple[StatedVerdict, ...]
    classes: int
    smallest_class: int
    utility: Mapping[str, Any] | None
    sha256: str
    unlisted_are_insensitive: tuple[str, ...] = ()
    unlisted_that_look_identifying: tuple[str, ...] = ()

    @property
    def certificate(self) -> Certificate:
        """The certificate, read from its file."""
        return read_certificate(self.certificate_path)

    def frame(self) -> pd.DataFrame:
        """The rows as they were written."""
        return read_frame(self.out)

    @property
    def label(self) -> str | None:
        return None if self.utility is None else str(self.utility["label"])

    @property
    def kept_share(self) -> float | None:
        """The share kept of what the quasi-identifiers say about the label, each by itself."""
        return None if self.utility is None else self.utility["kept_share"]

    @property
    def headline(self) -> str:
        return f"{self.out}: {self.rows:,} rows that satisfy the policy, {self.suppressed:,} suppressed"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What must not be overlooked before the table is given to anybody."""
        suspicious = self.unlisted_that_look_identifying
        return (warning(suspicious),) if suspicious else ()

    def table_rows(self) -> list[dict[str, Any]]:
        return [verdict.as_row() for verdict in self.verdicts]

    def to_json(self) -> dict[str, Any]:
        """The object that ``aegis release --json`` prints."""
        content = plain(self)
        return {"out": content.pop("out"), "certificate": content.pop("certificate_path"), **content}

    @classmethod
    def fields_in(cls, content: Mapping[str, Any]) -> Mapping[str, Any]:
        return {**content, "certificate_path": content["certificate"]}


@operation(Release)
def release(options: Release) -> Released:
    """Write the table masked by the configuration if, and only if, what is written satisfies the policy.

    Without a configuration the table is released as it is: it was anonymized before, by clustering for instance.
    ``columns`` names those that are written; the policy is judged on what is left, and the certificate names the rest.

    Records of failing classes are starred in every quasi-identifier, up to the policy's limit, or left out with
    ``drop_suppressed``. Identifying columns without a mask of their own are suppressed. If the policy is not satisfied
    nothing is written.
    """
    paths = _paths(options)
    source = _open(options)
    counts = _count(source, options)  # ① source → counts of what would be published
    judgement = _judge(source, counts)  # ② counts → verdict
    utility = utility_kept(source.dataset, counts.masked.masks, source.published_roles, released=judgement.released)
    dropped = source.policy.suppressed is Suppressed.DROPPED
    table = with_suppression(counts.published.table, counts.classes, judgement.released, drop=dropped)
    with _written(table, paths, options) as draft:  # ③ rows → a draft that nobody sees yet
        measured = _measure(draft, source, counts)  # ④ draft → counts → verdict
        certificate = _certificate(source, counts, judgement, draft, measured, utility, options)  # ⑤
        draft.write(certificate, fitted=_fitted(source, counts), mapped=counts.masked)
    content = certificate.content
    return Released(
        out=str(options.out),
        certificate_path=paths[-2],
        rows=measured.records,
        suppressed=judgement.suppressed,
        verdicts=tuple(verdict.stated() for verdict in measured.verdicts),
        classes=measured.classes,
        smallest_class=measured.smallest_class,
        utility=utility,
        sha256=draft.sha256,
        unlisted_are_insensitive=tuple(content["roles"]["unlisted_are_insensitive"]),
        unlisted_that_look_identifying=tuple(content["roles"]["unlisted_that_look_identifying"]),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Source:
    """What is to be released, opened and not yet read.

    ``policy`` and ``roles`` speak of all columns, ``judged_policy`` and ``published_roles`` of those that are written.
    """

    dataset: Dataset
    configuration: Configuration
    hierarchies: Mapping[str, Hierarchy]
    policy: Policy
    roles: Roles
    left_out: tuple[str, ...]
    judged_policy: Policy
    published_roles: Roles

    @property
    def contents(self) -> tuple[str, ...]:
        """What is counted beside the quasi-identifiers and what the policy speaks of."""
        return () if self.published_roles.label is None else (self.published_roles.label,)


def _open(options: Release) -> _Source:
    policy = read_policy(options.policy)
    refuse_sanitized(options.data, policy)
    if options.drop_suppressed:
        policy = replace(policy, suppressed=Suppressed.DROPPED)
    if options.config is None and not policy.hierarchical:
        options.refuse("hierarchies", because="without a configuration and a policy that use them they change nothing")
    hierarchies = find_hierarchies(options.hierarchies, options.data)
    configuration = Configuration(name="as-it-is", masks={})
    if options.config is not None:
        configuration = one_configuration(options.config, hierarchies=hierarchies, data=options.data)
    dataset = open_table(options.data, options)
    roles = policy.roles_in(dataset.schema, roles_with(dataset, configuration, label=options.label))
    left_out = _left_out(dataset, options.columns)
    narrow = narrowed(policy, roles, left_out=left_out)
    return _Source(
        dataset=dataset,
        configuration=configuration,
        hierarchies=hierarchies,
        policy=policy,
        roles=roles,
        left_out=left_out,
        judged_policy=narrow.policy,
        published_roles=narrow.roles,
    )


def _left_out(dataset: Dataset, columns: Sequence[str] | None) -> tuple[str, ...]:
    """The columns that are not written, in the table's order."""
    if columns is None:
        return ()
    for name in sorted(set(columns)):
        dataset.schema.kind(name)  # says which columns there are if it is not one of them
    if not columns:
        raise RoleError("no column is named that should be written; name some, or leave the choice out for all")
    return tuple(name for name in dataset.schema.names if name not in columns)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Counts:
    """The table as it would be published, still an expression of the engine, and its classes, counted."""

    masked: MaskedData
    published: Dataset
    classes: ClassTable


def _count(source: _Source, options: Release) -> _Counts:
    masks = {c: mask for c, mask in all_masks(source.configuration, source.roles).items() if c not in source.left_out}
    masked = masked_data(source.dataset, masks, mappings=options.mapping is not None)
    published = masked.dataset
    if source.left_out:
        kept = as_dataset(published.table.drop(*source.left_out))
        published = replace(kept, name=published.name, roles=without(published.roles, source.left_out))
    if not is_url(options.out) and is_csv(Path(options.out)):
        published = replace(published, table=blank_is_missing(published.table))
    classes = classes_of(
        published,
        source.judged_policy,
        source.published_roles,
        contents=source.contents,
        hierarchies=source.hierarchies,
    )
    return _Counts(masked=masked, published=published, classes=classes)


def _judge(source: _Source, counts: _Counts) -> Judgement:
    suppress = bool(source.published_roles.quasi_identifying)
    judgement = judge_all(counts.classes, source.judged_policy, suppress=suppress)
    if not judgement.satisfied:
        raise PolicyNotSatisfiedError(f"nothing was released: {why_not(judgement, counts.classes)}")
    return judgement


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Draft:
    """A table that is written and not yet released, with the drafts of the files beside it."""

    dataset: Dataset
    sha256: str
    bytes: int | None
    certificate: Path
    page: Path
    fitted: Path | None
    mapping: Path | None

    def write(self, certificate: Certificate, *, fitted: Configuration, mapped: MaskedData) -> None:
        """Fill the files beside the table; they appear with it."""
        from aegis.report.certificate_report import render_certificate  # an extra

        texts = {self.certificate: certificate.to_json(), self.page: render_certificate(certificate.content)}
        if self.fitted is not None:
            texts[self.fitted] = dump(to_mapping(fitted))
        if self.mapping is not None:
            texts[self.mapping] = mapping_text(mapped.mappings)
        for path, text in texts.items():
            path.write_text(text, encoding="utf-8")


def _paths(options: Release) -> list[Path]:
    """Every file to be written: the release (unless it is a table), the extras, and the certificate's two."""
    extras = [Path(path) for path in (options.fitted, options.mapping) if path is not None]
    if is_url(options.out):
        table = TableAddress.parse(str(options.out)).table
        paths = [*extras, *certificate_paths(Path(table))]
    else:
        check_format(Path(options.out))
        paths = [Path(options.out), *extras, *certificate_paths(Path(options.out))]
    if len({path.absolute() for path in paths}) < len(paths):
        raise OutputError("two of the outputs have the same name; give each its own")
    for path in paths:
        check_free(path, overwrite=options.overwrite)
    check_apart([options.out, *extras], [options.data, options.config, options.policy])
    return paths


@contextmanager
def _written(table: ir.Table, paths: Sequence[Path], options: Release) -> Iterator[_Draft]:
    """The table written to where nobody looks yet, with drafts of the other files; all of it appears together."""
    # The mapping and the fitted configuration hold values: not for everybody's eyes.
    modes = [PRIVATE] * len(paths)
    modes[-2:] = [PUBLIC, PUBLIC]
    if is_url(options.out):
        address = TableAddress.parse(str(options.out))
        source = options.engine or options.data
        writing = draft_table(table, address, source=source, shuffle=options.shuffle, overwrite=options.overwrite)
        with writing as (_, written), drafts_of(paths, overwrite=options.overwrite, modes=modes) as drafts:
            dataset = as_dataset(written)
            yield _draft(dataset, sha256_of_table(dataset.table), None, drafts, options)
        return
    modes[0] = PUBLIC
    with drafts_of(paths, overwrite=options.overwrite, modes=modes) as (file, *drafts_beside):
        write_table(table, file, like=paths[0], shuffle=options.shuffle)
        seen = look_into(file, named=paths[0])
        dataset = open_written(file, named=paths[0], header=seen.header)
        yield _draft(dataset, seen.sha256, seen.bytes, drafts_beside, options)


def _draft(dataset: Dataset, sha256: str, size_bytes: int | None, beside: Sequence[Path], options: Release) -> _Draft:
    *extras, certificate, page = beside
    return _Draft(
        dataset=dataset,
        sha256=sha256,
        bytes=size_bytes,
        certificate=certificate,
        page=page,
        fitted=None if options.fitted is None else extras[0],
        mapping=None if options.mapping is None else extras[-1],
    )


def _measure(draft: _Draft, source: _Source, counts: _Counts) -> Judgement:
    """Judge the written table from scratch, as `verify` will."""
    measured = measure_written(
        draft.dataset,
        source.judged_policy,
        source.published_roles,
        kinds=_kinds(source, counts),
        hierarchies=source.hierarchies,
    )
    if not measured.satisfied:
        reason = why_not(measured, measured.released)
        raise PolicyNotSatisfiedError(f"nothing was released: the table as written fails the policy: {reason}")
    return measured


def _kinds(source: _Source, counts: _Counts) -> dict[str, Kind]:
    """What the columns hold that are judged by their values."""
    names = (*source.judged_policy.attributes, *source.contents)
    return {name: counts.published.schema.kind(name) for name in names}


def _fitted(source: _Source, counts: _Counts) -> Configuration:
    """The configuration as it was fitted to these rows.

    Whoever applies it to new rows has all columns again: those that were left out must not come back in the clear.
    """
    hidden = {column: Suppress() for column in source.left_out}
    return Configuration(
        name=source.configuration.name,
        masks={**counts.masked.masks, **hidden},
        label=source.published_roles.label,
        roles=source.roles,
    )


def _certificate(
    source: _Source,
    counts: _Counts,
    judgement: Judgement,
    draft: _Draft,
    measured: Judgement,
    utility: Mapping[str, Any] | None,
    options: Release,
) -> Certificate:
    dataset, out = source.dataset, options.out
    suspicious = looks_identifying(
        dataset, source.roles, masked=source.configuration.columns, rows=counts.classes.records
    )
    return Certificate(
        content={
            "aegis_certificate": FORMAT_VERSION,
            "software": {"aegis": __version__, "engine": dataset.backend.name},
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "release": {
                "name": TableAddress.parse(str(out)).table if is_url(out) else Path(out).name,
                "sha256": draft.sha256,
                "bytes": draft.bytes,
                "rows": measured.records,
                "columns": list(counts.published.table.columns),
                "left_out": list(source.left_out),
                "shuffled": options.shuffle,
            },
            "source": {"name": dataset.name, "rows": counts.classes.records},
            "roles": {
                **source.roles.to_mapping(),
                "unlisted_are_insensitive": [
                    name for name in unlisted(dataset.schema, source.roles) if name not in source.left_out
                ],
                "unlisted_that_look_identifying": [name for name in suspicious if name not in source.left_out],
            },
            "kinds": {name: kind.value for name, kind in _kinds(source, counts).items()},
            "hierarchies": {name: source.hierarchies[name].digest for name in source.judged_policy.hierarchical},
            "policy": source.policy.to_mapping(),
            "policy_id": source.policy.id,
            "configuration": {"id": source.configuration.id, **to_mapping(source.configuration)},
            "fitted_configuration_id": _fitted(source, counts).id,
            "suppressed": {
                "records": judgement.suppressed,
                "dropped": source.policy.suppressed is Suppressed.DROPPED,
            },
            "verdicts": measured.as_certificate()["models"],
            "classes": measured.classes,
            "smallest_class": measured.smallest_class,
            "utility": utility,
        }
    )
