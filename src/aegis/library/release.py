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
import numpy as np
from numpy.typing import NDArray

from aegis._version import __version__
from aegis.commands.release import Release
from aegis.counts.class_table import ClassTable, suppressed_classes
from aegis.data.dataset import Dataset
from aegis.data.engine import as_dataset, read_frame
from aegis.data.hierarchy import Hierarchy
from aegis.data.kind import Kind
from aegis.data.output import PRIVATE, PUBLIC, check_apart, check_free, drafts_of
from aegis.data.schema import Roles
from aegis.data.yaml_text import dump
from aegis.errors import LedgerError, OutputError, PolicyNotSatisfiedError, RoleError
from aegis.library.attack_release import as_certified, attack_draft, attacks_wanted
from aegis.library.check import unlisted
from aegis.library.judging import classes_of, read_policy, refuse_sanitized, why_not
from aegis.library.masked_data import MaskedData, all_masks, mapping_text, masked_data, roles_with
from aegis.library.opening import open_table
from aegis.library.proposals import find_hierarchies, one_configuration
from aegis.library.remembering import remember
from aegis.library.standing import OWN, Standing, breaks_with, check_same_contents, refusal, standing_of
from aegis.library.unlisted import decide
from aegis.library.utility_kept import utility_kept
from aegis.library.written import measure_written, open_written
from aegis.masking.configuration import Configuration
from aegis.masking.configuration_file import to_mapping
from aegis.masking.mask import PermutingMask, RandomMask
from aegis.masking.masks.suppress import Suppress
from aegis.operation import operation
from aegis.privacy.judgement import Judgement, judge_all
from aegis.privacy.policy import Policy, Suppressed, narrowed, without
from aegis.privacy.together import HELD, SHOWN, STARRED, Together, judge_together
from aegis.privacy.verdict import StatedVerdict
from aegis.releases.apply import with_suppression
from aegis.releases.certificate import FORMAT_VERSION, Certificate, certificate_paths, digest, read_certificate
from aegis.releases.fit import links_of
from aegis.releases.ledger_entry import Leaving
from aegis.releases.row_digest import POSITION
from aegis.releases.signature import read_private, signature_path, write_signature
from aegis.releases.table_hash import sha256_of_table
from aegis.releases.write import (
    PLACE,
    TableAddress,
    blank_is_missing,
    check_format,
    draft_table,
    is_csv,
    is_url,
    look_into,
    numbered,
    write_table,
)
from aegis.result import Result, plain

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class Released(Result):
    """A written table with its certificate.

    ``verdicts``, ``classes`` and ``smallest_class`` were measured on the table as it was written; ``utility`` says what
    it keeps about the label, where it has one. ``ledger`` says what it was judged together with, and what waits;
    None where it was judged alone. ``unlisted_are_insensitive`` are masked columns without a role,
    ``insensitive_as_the_rest`` those that were named insensitive all at once, ``left_out_as_identifying`` those that
    look as if they named people and that nobody named: they were not written.
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
    ledger: Mapping[str, Any] | None = None
    unlisted_are_insensitive: tuple[str, ...] = ()
    insensitive_as_the_rest: tuple[str, ...] = ()
    left_out_as_identifying: tuple[str, ...] = ()

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
        if not self.left_out_as_identifying:
            return ()
        names, several = ", ".join(self.left_out_as_identifying), len(self.left_out_as_identifying) > 1
        return (
            f"{names} {'look' if several else 'looks'} identifying and nobody gave {'them' if several else 'it'} "
            "a role: left out; --insensitive names what may be published as it is, --identifying what is to be hidden",
        )

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
    Every column that is written has a role or a mask: otherwise nothing is released, unless ``insensitive`` names it or
    says ``rest`` of all such columns. What looks identifying is left out where nobody named it.

    Records of failing classes are starred in every quasi-identifier, up to the policy's limit, or left out with
    ``drop_suppressed``. Identifying columns without a mask of their own are suppressed. If the policy is not satisfied
    nothing is written. Attacks that the policy limits are run on what was written, and the certificate says what came
    of them.
    """
    paths = _paths(options)
    key = None if options.sign is None else read_private(Path(options.sign))
    source = _open(options)
    attacks = attacks_wanted(options.attacks, source.policy)
    counts = _count(source, source.standing, options)  # ① source → counts of what would be published
    judged = _judge(source, counts, options)  # ② counts → verdict, together with what is out
    judgement = judged.own
    utility = utility_kept(source.dataset, counts.masked.masks, source.published_roles, released=judgement.released)
    table = _treated(source, counts, judged)
    with _written(_outer(table, options), paths, options) as draft:  # ③ rows → a draft that nobody sees yet
        measured = _measure(draft, source, counts)  # ④ draft → counts → verdict
        attacked = attack_draft(
            draft.dataset,
            source.dataset,
            attacks=attacks,
            masks=counts.masked.masks,
            roles=source.published_roles,
            policy=source.policy,
        )
        stated = _stated(source, judged, options)
        certificate = _certificate(source, counts, judgement, draft, measured, utility, stated, options)  # ⑤
        if attacked:
            certificate = Certificate(content={**certificate.content, "attacks": as_certified(attacked)})
        draft.write(certificate, fitted=_fitted(source, counts), mapped=counts.masked)
        _remember(source, table, judged, certificate, options)  # ⑥ on the record before anybody can see it
    content = certificate.content
    if key is not None:
        write_signature(content, key, signature_path(paths[-2]), overwrite=options.overwrite)
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
        ledger=content["ledger"],
        unlisted_are_insensitive=tuple(content["roles"]["unlisted_are_insensitive"]),
        insensitive_as_the_rest=source.as_the_rest,
        left_out_as_identifying=source.suspicious,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Source:
    """What is to be released, opened and not yet read.

    ``policy`` and ``roles`` speak of all columns, ``judged_policy`` and ``published_roles`` of those that are written.
    ``suspicious`` are those that are left out because they look identifying.
    """

    dataset: Dataset
    configuration: Configuration
    hierarchies: Mapping[str, Hierarchy]
    policy: Policy
    roles: Roles
    as_the_rest: tuple[str, ...]
    suspicious: tuple[str, ...]
    left_out: tuple[str, ...]
    judged_policy: Policy
    published_roles: Roles
    standing: Standing | None

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
    not_wanted = _left_out(dataset, options.columns)
    decided = decide(
        dataset,
        roles,
        insensitive=options.insensitive,
        masked=configuration.columns,
        columns=options.columns,
    )
    roles = decided.roles
    left_out = tuple(name for name in dataset.schema.names if name in {*not_wanted, *decided.left_out})
    narrow = narrowed(policy, roles, left_out=left_out)
    standing = standing_of(options.data, dataset, options, policy=narrow.policy, roles=narrow.roles, to_release=True)
    if standing is None:
        options.refuse("recipient", "despite_ledger", because="this source has no ledger: name one with --ledger")
    return _Source(
        dataset=dataset,
        configuration=configuration,
        hierarchies=hierarchies,
        policy=policy,
        roles=roles,
        as_the_rest=decided.as_the_rest,
        suspicious=decided.left_out,
        left_out=left_out,
        judged_policy=narrow.policy,
        published_roles=narrow.roles,
        standing=standing,
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


def _count(source: _Source, standing: Standing | None, options: Release) -> _Counts:
    masks = {c: mask for c, mask in all_masks(source.configuration, source.roles).items() if c not in source.left_out}
    dataset = source.dataset if standing is None else standing.dataset
    if not options.shuffle and POSITION not in dataset.table.columns:
        dataset = replace(dataset, table=numbered(dataset.table), blocks=None)
    masked = masked_data(dataset, masks, mappings=options.mapping is not None)
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
        known=standing is not None and standing.constrains,
    )
    return _Counts(masked=masked, published=published, classes=classes)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Judged:
    """The release by itself, what becomes of each class, and what it does together with what is out."""

    own: Judgement
    treatment: NDArray[np.int8]
    together: Together | None = None
    despite: str | None = None


def _judge(source: _Source, counts: _Counts, options: Release) -> _Judged:
    standing = source.standing
    if standing is not None and standing.unjoinable is not None:
        if options.despite_ledger is None:
            raise PolicyNotSatisfiedError(f"nothing was released: {standing.unjoinable}")
        judged = _alone(source, counts)
        _check_alone(judged.own, counts.classes)
        return replace(judged, despite=options.despite_ledger)
    if standing is None or not standing.constrains:
        options.refuse("despite_ledger", because="nothing is out that it could be judged together with")
        judged = _alone(source, counts)
        _check_alone(judged.own, counts.classes)
        return judged
    try:
        check_same_contents(standing, source.configuration)
        together = standing.judge(counts.classes, source.judged_policy)
        _check_alone(together.own, counts.classes)
        why_refused = None if together.satisfied else _why_refused(source, together, options)
    except LedgerError as error:
        together, why_refused = None, str(error)
    if why_refused is None:
        options.refuse("despite_ledger", because="the ledger allows it")
        assert together is not None
        return _Judged(own=together.own, treatment=together.treatment, together=together)
    if options.despite_ledger is None:
        raise PolicyNotSatisfiedError(f"nothing was released: {why_refused}")
    alone = judge_together(counts.classes, source.judged_policy, alone=True)
    _check_alone(alone.own, counts.classes)
    return _Judged(own=alone.own, treatment=alone.treatment, together=together, despite=options.despite_ledger)


def _alone(source: _Source, counts: _Counts) -> _Judged:
    """The release by itself."""
    own = judge_all(counts.classes, source.judged_policy, suppress=bool(source.published_roles.quasi_identifying))
    treatment = np.full(counts.classes.classes, SHOWN, dtype=np.int8)
    if own.suppressed:
        treatment[suppressed_classes(counts.classes, own.released)] = STARRED
    return _Judged(own=own, treatment=treatment)


def _check_alone(own: Judgement, classes: ClassTable) -> None:
    if not own.satisfied:
        raise PolicyNotSatisfiedError(f"nothing was released: {why_not(own, classes)}")


def _why_refused(source: _Source, together: Together, options: Release) -> str:
    def judged_with(standing: Standing) -> Together:
        return standing.judge(_count(source, standing, options).classes, source.judged_policy)

    assert source.standing is not None
    return refusal(source.standing, together.broken, breaks_with(source.standing, judged_with), together.reason)


def _treated(source: _Source, counts: _Counts, judged: _Judged) -> ir.Table:
    """The rows as they will be written: some classes starred, some left out."""
    dropped = source.policy.suppressed is Suppressed.DROPPED
    classes, starred = counts.classes, [name for name in counts.classes.columns if not name.startswith(OWN)]
    table = with_suppression(counts.published.table, classes, judged.treatment == HELD, drop=True, starred=())
    if not (judged.treatment != HELD).any():
        raise PolicyNotSatisfiedError(
            f"nothing was released: all {classes.records:,} rows wait, for each would be told apart from what is out"
        )
    if dropped or starred:
        table = with_suppression(table, classes, judged.treatment == STARRED, drop=dropped, starred=starred)
    return table


def _outer(table: ir.Table, options: Release) -> ir.Table:
    """The table without the columns that are ours and nobody else's, in the order of the source if that is asked."""
    own = [name for name in table.columns if name.startswith(OWN)]
    if not options.shuffle and POSITION in own:
        table = table.order_by(POSITION)
    return table.drop(*own)


def _stated(source: _Source, judged: _Judged, options: Release) -> dict[str, Any] | None:
    """What the certificate says of the ledger: what the release was judged together with, and what waits."""
    standing = source.standing
    if standing is None:
        return None
    together = None if judged.despite is not None else judged.together
    return {
        "name": standing.path.name,
        "number": len(standing.ledger.entries) + (1 if standing.ledger.entries else 2),
        "head": standing.ledger.head,
        "recipient": standing.recipient,
        "recipients": source.policy.recipients.value,
        "together_with": list(standing.counted),
        "smallest_class_together": None if together is None else together.smallest_part,
        "held": 0 if together is None else together.held,
        "withdrawn": 0 if together is None else together.withdrawn,
        "despite": judged.despite,
    }


def _remember(source: _Source, table: ir.Table, judged: _Judged, certificate: Certificate, options: Release) -> None:
    """Write the release into the ledger, with the class that each of its rows has."""
    if source.standing is None:
        return
    said = certificate.content
    leaving = _leaving(source, judged, options, name=said["release"]["name"])
    remember(
        source.standing,
        replace(
            leaving,
            rows=said["release"]["rows"],
            held=said["ledger"]["held"] + said["ledger"]["withdrawn"],
            file_sha256=said["release"]["sha256"],
            certificate_sha256=digest(said),
            despite=judged.despite,
        ),
        table,
    )


def record_release(options: Release, *, name: str) -> None:
    """Put a release on the record that was written elsewhere: the same steps, without writing or a joint judgement."""
    source = _open(options)
    assert source.standing is not None, "whoever asks for a record has named a ledger"
    drawn = [
        c
        for c, mask in source.configuration.masks.items()
        if any(isinstance(link, RandomMask | PermutingMask) for link in links_of(mask))
    ]
    if drawn:
        raise LedgerError(
            f"what a mask drew for {drawn[0]!r} cannot be drawn again, so nobody can say what that release showed of "
            "which row"
        )
    counts = _count(source, source.standing, options)
    if source.standing.constrains:
        own = judge_together(counts.classes, source.judged_policy, alone=True)
        judged = _Judged(own=own.own, treatment=own.treatment)
    else:
        judged = _alone(source, counts)
    _check_alone(judged.own, counts.classes)
    table = _treated(source, counts, judged)
    leaving = replace(
        _leaving(source, judged, options, name=name), rows=judged.own.released.records, despite="added by hand"
    )
    remember(source.standing, leaving, table)


def _leaving(source: _Source, judged: _Judged, options: Release, *, name: str) -> Leaving:
    """What the ledger keeps of a release: how it was made, never a value. A pseudonym's key is no part of its mask."""
    assert source.standing is not None
    masked = options.config is not None
    return Leaving(
        name=name,
        kind="masks" if masked else "as it is",
        recipient=source.standing.recipient,
        configuration=to_mapping(source.configuration) if masked else None,
        columns=tuple(c for c in source.dataset.schema.names if c not in source.left_out),
        quasi_identifying=source.published_roles.quasi_identifying,
        suppressed=judged.own.suppressed,
        version=source.standing.version,
        policy=source.policy.to_mapping(),
        policy_id=source.policy.id,
        recipients=source.policy.recipients,
    )


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
    for path in (*paths, *((signature_path(paths[-2]),) if options.sign is not None else ())):
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
    stated: Mapping[str, Any] | None,
    options: Release,
) -> Certificate:
    dataset, out = source.dataset, options.out
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
                "columns": [
                    name for name in counts.published.table.columns if name != PLACE and not name.startswith(OWN)
                ],
                "left_out": list(source.left_out),
                "shuffled": options.shuffle,
            },
            "source": {"name": dataset.name, "rows": counts.classes.records},
            **({} if options.for_ is None else {"for": options.for_}),
            "roles": {
                **source.roles.to_mapping(),
                "unlisted_are_insensitive": [
                    name for name in unlisted(dataset.schema, source.roles) if name not in source.left_out
                ],
                "insensitive_as_the_rest": list(source.as_the_rest),
                "left_out_as_identifying": list(source.suspicious),
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
            "ledger": stated,
        }
    )
