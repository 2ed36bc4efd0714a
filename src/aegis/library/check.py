"""Hold a table, masked or not, against a policy; several releases of it too, as somebody sees them who holds all.

A file whose certificate says how it was masked is that configuration; what any other shows of each row becomes a column
of the table, and a configuration that shows this column and nothing else stands for the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow as pa

from aegis.commands.check import Check
from aegis.counts.answer import ask
from aegis.counts.class_table import ClassTable
from aegis.counts.collect_classes import with_person
from aegis.counts.grouping import group_tuples
from aegis.data.dataset import Dataset
from aegis.data.engine import as_dataset
from aegis.data.hierarchy import Hierarchy
from aegis.data.schema import Roles, Schema
from aegis.library.ledgers.earlier_promises import masks_behind
from aegis.library.ledgers.recognition import known_as_made, made_elsewhere
from aegis.library.ledgers.row_by_row import check_same_rows
from aegis.library.tables.judging import (
    check_identifying,
    classes_of,
    open_written,
    read_policy,
    refuse_sanitized,
    why_not,
)
from aegis.library.tables.masked_data import masked_data, roles_with
from aegis.library.tables.opening import find_hierarchies, one_configuration, open_table
from aegis.library.tables.unlisted import unlisted
from aegis.masking.configuration import Configuration
from aegis.masking.mask import Mask
from aegis.masking.masks.suppress import Suppress
from aegis.operation import operation
from aegis.privacy.judgement import FailingClasses, Judgement, judge_all
from aegis.privacy.policy import Policy
from aegis.privacy.verdict import StatedVerdict
from aegis.ranking.joint import SeveralReleases
from aegis.releases.certificate import CertificateKind, certificate_beside
from aegis.releases.row_digest import OWN
from aegis.releases.write import check_released
from aegis.result import Result, plain


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked(Result):
    """What a policy says of a table, and the roles it was judged under.

    ``reason`` says in a sentence why the policy is not satisfied. ``records_to_suppress`` is how many records it asks
    to suppress, ``records_suppressible`` how many it allows; ``worst_classes`` are the smallest failing ones of the
    table as it came. ``unlisted_are_insensitive`` are the columns without a role: nobody decided that they are.
    Of several configurations judged ``together``, ``breaking`` are those that break the policy together. Where ``unit``
    names the column that says whose records they are, sizes of classes and all models count people. ``made_of`` says
    that a command made the table of another one's rows: earlier releases of those were not looked at.
    """

    satisfied: bool
    models: tuple[StatedVerdict, ...]
    classes: int
    records: int
    suppressed: int
    smallest_class: int
    records_to_suppress: int
    records_suppressible: int
    reason: str | None
    policy: Mapping[str, Any]
    worst_classes: tuple[FailingClasses, ...]
    roles: Roles
    unlisted_are_insensitive: tuple[str, ...]
    together: tuple[str, ...] = ()
    breaking: tuple[tuple[str, ...], ...] = ()
    unit: str | None = None
    made_of: str | None = None

    @property
    def exit_status(self) -> int:
        return 0 if self.satisfied else 1

    @property
    def headline(self) -> str:
        return "satisfied" if self.satisfied else f"not satisfied: {self.reason}"

    @property
    def warnings(self) -> tuple[str, ...]:
        """That the verdict is one of the table alone, where it is known to be made of another one."""
        return () if self.made_of is None else (f"judged alone, although {self.made_of}",)

    def table_rows(self) -> list[dict[str, Any]]:
        return [verdict.as_row() for verdict in self.models]

    def to_json(self) -> dict[str, Any]:
        """The object that ``aegis check --json`` prints."""
        return {**plain(self), "roles": self.roles.to_mapping()}


@operation(Check)
def check(options: Check) -> Checked:
    """Judge the table by the policy, after masking it by the configuration if one is given.

    Failing records are suppressed up to the policy's limit unless ``suppress`` is off.

    Example::

        aegis.check("clinic.csv", config="configurations/strict.yaml", policy="policy.yaml")
    """
    policy = read_policy(options.policy, person=options.person)
    refuse_sanitized(options.data, policy)
    if not options.configs and not options.release and not policy.hierarchical:
        options.refuse("hierarchies", because="without a configuration and a policy that use them they change nothing")
    hierarchies = find_hierarchies(options.hierarchies, options.data)
    configurations = [
        one_configuration(config, hierarchies=hierarchies, data=options.data) for config in options.configs
    ]
    if len(configurations) > 1 or options.release:
        return _together(configurations, policy, hierarchies, options)
    configuration = configurations[0] if configurations else None
    dataset = open_table(options.data, options)
    roles = policy.roles_in(dataset.schema, roles_with(dataset, configuration, label=options.label))
    if configuration is not None:
        check_identifying(roles, configuration.masks)
    counted = with_person(dataset, policy.unit)
    published = counted if configuration is None else masked_data(counted, configuration.masks).dataset
    classes = classes_of(published, policy, roles, hierarchies=hierarchies)
    judgement = judge_all(classes, policy, suppress=options.suppress)
    checked = _checked(judgement, classes, policy, roles, dataset.schema)
    derived = known_as_made(dataset, roles)
    return checked if derived is None else replace(checked, made_of=made_elsewhere(dataset.name, derived))


def _together(
    configurations: list[Configuration], policy: Policy, hierarchies: dict[str, Hierarchy], options: Check
) -> Checked:
    """What somebody sees who links the rows of releases by all these configurations."""
    dataset = open_table(options.data, options)
    schema = dataset.schema
    own = roles_with(dataset, configurations[0] if configurations else None, label=options.label)
    for configuration in configurations[1:]:
        own = own.overridden_by(configuration.roles)
    roles = policy.roles_in(schema, own)
    for configuration in configurations:
        configuration.check(schema)
        check_identifying(roles, configuration.masks)
    files = released_files([Path(path) for path in options.release], dataset, roles.quasi_identifying)
    listed = named_apart(
        [*(files.without_files(configuration) for configuration in configurations), *files.configurations]
    )
    seen = replace(roles, quasi_identifying=(*roles.quasi_identifying, *files.columns))
    raw = classes_of(files.dataset, policy, seen, hierarchies=hierarchies)
    as_written = frozenset(
        named.name
        for named, file in zip(listed[len(configurations) :], files.configurations, strict=True)
        if file.name in files.as_written
    )
    several = SeveralReleases.of(listed, raw, policy, suppress=options.suppress, as_written=as_written)
    classes = several.together()
    judgement = judge_all(classes, policy, suppress=False)
    checked = _checked(judgement, classes, policy, roles, schema)
    names = tuple(configuration.name for configuration in listed)
    if judgement.satisfied:
        return replace(checked, together=names)
    broken = several.breaking()
    which = "; ".join(" and ".join(releases) + (" together" if len(releases) > 1 else " alone") for releases in broken)
    models = ", ".join(
        f"{verdict.title} for {verdict.records_failing:,} records"
        for verdict in judgement.verdicts
        if not verdict.satisfied
    )
    reason = f"{models} (broken by {which}); release one of them only, or a coarser one beside it"
    return replace(checked, together=names, breaking=broken, reason=reason)


def named_apart(configurations: list[Configuration]) -> list[Configuration]:
    """The same configurations, those that share a name numbered."""
    names = [configuration.name for configuration in configurations]
    return [
        replace(configuration, name=f"{configuration.name} ({number})")
        if names.count(configuration.name) > 1
        else configuration
        for number, configuration in enumerate(configurations, start=1)
    ]


def _checked(judgement: Judgement, classes: ClassTable, policy: Policy, roles: Roles, schema: Schema) -> Checked:
    return Checked(
        satisfied=judgement.satisfied,
        models=tuple(verdict.stated() for verdict in judgement.verdicts),
        classes=judgement.classes,
        records=judgement.records,
        suppressed=judgement.suppressed,
        smallest_class=judgement.smallest_class,
        records_to_suppress=judgement.records_to_suppress,
        records_suppressible=judgement.records_suppressible,
        reason=why_not(judgement, classes),
        policy={"id": policy.id, **policy.to_mapping()},
        worst_classes=judgement.worst,
        roles=roles,
        unlisted_are_insensitive=unlisted(schema, roles),
        unit=policy.unit,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReleasedFiles:
    """Files beside the table they are of: ``columns`` are those added, those ``as_written`` suppress nothing more."""

    dataset: Dataset
    columns: tuple[str, ...]
    configurations: tuple[Configuration, ...]
    as_written: frozenset[str]

    def without_files(self, configuration: Configuration) -> Configuration:
        """A configuration of the table, which shows nothing of what the files show."""
        return replace(configuration, masks={**configuration.masks, **_hidden(self.columns)})


def released_files(paths: Sequence[Path], dataset: Dataset, quasi: Sequence[str]) -> ReleasedFiles:
    """Read the files; raises for one that is of another table, or that nobody can join to this one."""
    names = [path.stem if [other.stem for other in paths].count(path.stem) == 1 else str(path) for path in paths]
    masked: dict[str, Configuration] = {}
    classes: dict[str, tuple[str, np.ndarray[tuple[int], np.dtype[np.int64]]]] = {}
    original: pa.Table | None = None
    for name, path in zip(names, paths, strict=True):
        certified = _certified(path, quasi)
        if certified is not None:
            masked[name] = replace(certified, name=name)
            continue
        original = ask(dataset.table) if original is None else original
        shown = ask(open_written(path, named=path).table)
        check_same_rows(original, shown, source=dataset.name, finished=path.name)
        classes[name] = (f"{OWN}file_{len(classes)}", _classes(shown, [c for c in quasi if c in shown.column_names]))
    columns = tuple(column for column, _ in classes.values())
    if original is not None:
        for column, codes in classes.values():
            original = original.append_column(column, pa.array(codes))
        dataset = replace(as_dataset(ibis.memtable(original)), name=dataset.name, roles=dataset.roles)
    listed = []
    for name in names:
        if name in masked:
            own = masked[name]
            listed.append(replace(own, masks={**own.masks, **_hidden(columns)}))
        else:
            shown_only = _hidden([*quasi, *(column for column in columns if column != classes[name][0])])
            listed.append(Configuration(name=name, masks=shown_only))
    return ReleasedFiles(dataset=dataset, columns=columns, configurations=tuple(listed), as_written=frozenset(classes))


def _certified(path: Path, quasi: Sequence[str]) -> Configuration | None:
    """How a file was masked, by the certificate beside it; None where masks did not make it."""
    check_released(path)
    certificate = certificate_beside(path, otherwise="remove it, or give the file")
    if certificate is None or certificate.kind is not CertificateKind.MASKS:
        return None
    configuration = masks_behind(certificate, file=path.name)
    if not any(column in configuration.masks for column in quasi):
        return None  # it was finished before, and released as it was
    left_out = [column for column in certificate.content["release"]["left_out"] if column in quasi]
    return replace(configuration, masks={**configuration.masks, **_hidden(left_out)})


def _classes(shown: pa.Table, quasi: Sequence[str]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The class of each row: equal for rows whose quasi-identifiers are written alike."""
    if not quasi:
        return np.zeros(len(shown), dtype=np.int64)
    coded, sizes = [], []
    for name in quasi:
        column = shown[name].combine_chunks().dictionary_encode(null_encoding="encode")
        coded.append(np.asarray(column.indices.to_numpy(zero_copy_only=False), dtype=np.int64))
        sizes.append(len(column.dictionary))
    return group_tuples(np.stack(coded, axis=1), sizes)[1]


def _hidden(columns: Sequence[str]) -> Mapping[str, Mask]:
    return {column: Suppress() for column in columns}
