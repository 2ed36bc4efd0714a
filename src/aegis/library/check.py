"""Hold a table, masked or not, against a policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from aegis.commands.check import Check
from aegis.counts.class_table import ClassTable
from aegis.counts.collect_classes import with_person
from aegis.data.hierarchy import Hierarchy
from aegis.data.schema import Roles, Schema
from aegis.library.ledgers.derivation import known_as_made, made_elsewhere
from aegis.library.ledgers.row_by_row import released_files
from aegis.library.tables.judging import check_identifying, classes_of, read_policy, refuse_sanitized, why_not
from aegis.library.tables.masked_data import masked_data, roles_with
from aegis.library.tables.opening import find_hierarchies, one_configuration, open_table
from aegis.library.tables.unlisted import unlisted
from aegis.masking.configuration import Configuration
from aegis.operation import operation
from aegis.privacy.judgement import FailingClasses, Judgement, judge_all
from aegis.privacy.policy import Policy
from aegis.privacy.verdict import StatedVerdict
from aegis.ranking.joint import SeveralReleases
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
