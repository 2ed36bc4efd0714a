"""What is to be released: the source opened with its roles decided, and what would be published counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from aegis.commands.fields import READING
from aegis.commands.release import Release
from aegis.counts.answer import ask
from aegis.counts.class_table import ClassTable
from aegis.counts.collect_classes import with_person
from aegis.data.dataset import Dataset
from aegis.data.engine import as_dataset, open_dataset
from aegis.data.hierarchy import Hierarchy
from aegis.data.kind import Kind
from aegis.data.schema import Roles
from aegis.errors import RoleError
from aegis.inspection.telling import Tells, readable_columns, readable_words
from aegis.library.ledgers.constraints import earlier_releases_of
from aegis.library.ledgers.earlier_promises import masks_shown_earlier
from aegis.library.ledgers.earlier_releases import EarlierReleases
from aegis.library.ledgers.recognition import check_made_of
from aegis.library.tables.judging import check_hidden, check_identifying, classes_of, read_policy, refuse_sanitized
from aegis.library.tables.masked_data import MaskedData, all_masks, masked_data, roles_with
from aegis.library.tables.opening import find_hierarchies, one_configuration, open_table, reading
from aegis.library.tables.unlisted import decide
from aegis.masking.configuration import Configuration
from aegis.masking.mask import Mask
from aegis.masking.masks.identity import Identity
from aegis.masking.masks.suppress import Suppress
from aegis.operation import listed, word
from aegis.privacy.policy import Policy, Suppressed, narrowed, without
from aegis.releases.row_digest import POSITION
from aegis.releases.write import blank_is_missing, is_csv, is_url, numbered

IDENTITY = Identity()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Source:
    """What is to be released, opened and not yet read.

    ``policy`` and ``roles`` speak of all columns, ``judged_policy`` and ``published_roles`` of those that are written.
    ``suspicious`` are those that are left out because they look identifying, ``suspicious_and_named`` those that look
    so and are published because they are named insensitive; in ``readable`` the quasi-identifiers that are masked can
    be read, and they are published for the same reason. ``original`` is the table whose rows these
    are: another one where what is released was finished before. ``joint_policy`` speaks of what is written and of
    sensitive columns that are not, but that somebody has from an earlier release, masked by ``shown_earlier``.
    """

    dataset: Dataset
    original: Dataset
    configuration: Configuration
    hierarchies: Mapping[str, Hierarchy]
    policy: Policy
    roles: Roles
    as_the_rest: tuple[str, ...]
    suspicious: tuple[str, ...]
    suspicious_and_named: tuple[str, ...]
    readable: tuple[Tells, ...]
    left_out: tuple[str, ...]
    judged_policy: Policy
    joint_policy: Policy
    shown_earlier: Mapping[str, Mask | None]
    published_roles: Roles
    earlier: EarlierReleases | None

    @property
    def contents(self) -> tuple[str, ...]:
        """What is counted beside the quasi-identifiers and what the policy speaks of."""
        return () if self.published_roles.label is None else (self.published_roles.label,)


def open_source(options: Release) -> Source:
    policy = read_policy(options.policy, person=options.person)
    refuse_sanitized(options.data, policy)
    if options.drop_suppressed:
        policy = replace(policy, suppressed=Suppressed.DROPPED)
    if options.config is None and not policy.hierarchical:
        options.refuse("hierarchies", because="without a configuration and a policy that use them they change nothing")
    hierarchies = find_hierarchies(options.hierarchies, options.data)
    configuration = Configuration(name="as-it-is", masks={})
    if options.config is not None:
        configuration = one_configuration(options.config, hierarchies=hierarchies, data=options.data)
    dataset = _opened(options)
    original = dataset if options.rows_of is None else open_dataset(options.rows_of, **reading(options))
    if options.rows_of is not None:
        dataset = replace(dataset, roles=_roles_of_source(original, dataset))
    roles = policy.roles_in(dataset.schema, roles_with(dataset, configuration, label=options.label))
    if options.rows_of is not None:
        check_made_of(replace(dataset, roles=roles), original)
    check_hidden(policy.unit, configuration)
    check_identifying(roles, configuration.masks)
    not_wanted = _left_out(dataset, options.columns)
    decided = decide(
        dataset,
        roles,
        insensitive=options.insensitive,
        masked=configuration.columns,
        columns=options.columns,
        original=original,
    )
    roles = decided.roles
    left_out = tuple(name for name in dataset.schema.names if name in {*not_wanted, *decided.left_out})
    readable = _readable(dataset, original, configuration, roles, left_out=left_out, as_the_rest=decided.as_the_rest)
    narrow = narrowed(policy, roles, left_out=left_out)
    rows_of = options.data if options.rows_of is None else options.rows_of
    before = masks_shown_earlier(rows_of, options, policy=policy)
    shown_earlier = {name: before[name] for name in left_out if name in before and name in policy.attributes}
    joint = narrowed(policy, roles, left_out=[name for name in left_out if name not in shown_earlier])
    earlier = earlier_releases_of(
        rows_of,
        original,
        options,
        policy=joint.policy,
        roles=narrow.roles,
        identifying=roles.identifying,
        to_release=True,
        despite=options.despite_ledger,
        finished=None if options.rows_of is None else dataset,
    )
    if earlier is None:
        options.refuse("rows_of", because="without a ledger there is nothing to judge row by row")
        options.refuse("recipient", "despite_ledger", because="this source has no ledger: name one with --ledger")
    return Source(
        dataset=dataset,
        original=original,
        configuration=configuration,
        hierarchies=hierarchies,
        policy=policy,
        roles=roles,
        as_the_rest=decided.as_the_rest,
        suspicious=decided.left_out,
        suspicious_and_named=decided.named,
        readable=readable,
        left_out=left_out,
        judged_policy=narrow.policy,
        joint_policy=joint.policy,
        shown_earlier=shown_earlier,
        published_roles=narrow.roles,
        earlier=earlier,
    )


def _readable(
    dataset: Dataset,
    original: Dataset,
    configuration: Configuration,
    roles: Roles,
    *,
    left_out: Sequence[str],
    as_the_rest: Sequence[str],
) -> tuple[Tells, ...]:
    """What insensitive columns that are published as they are tell of quasi-identifiers that are not.

    Raises where nobody named such a column, but all the rest at once.
    """

    def as_it_is(name: str) -> bool:
        return name not in left_out and isinstance(configuration.masks.get(name, IDENTITY), Identity)

    changed = () if dataset is original else _changed(dataset, original, roles.quasi_identifying)
    masked = [name for name in roles.quasi_identifying if name in original.schema]
    masked = [name for name in masked if not as_it_is(name) or name in changed]
    shown = [name for name in roles.insensitive if name in original.schema and as_it_is(name)]
    tells = readable_columns(original, masked, shown)
    unnamed = [each for each in tells if each.column in as_the_rest]
    if unnamed:
        columns = tuple(dict.fromkeys(each.column for each in unnamed))
        raise RoleError(
            f"nothing was released: {readable_words(unnamed)}, and nobody gave {listed(columns)} a role; name what "
            f"people know quasi-identifying, mask it, or add --insensitive {word(listed(columns))} if it may be "
            "published as it is all the same"
        )
    return tells


def _changed(dataset: Dataset, original: Dataset, names: Sequence[str]) -> tuple[str, ...]:
    """Columns of a finished table that have other values than the table that it was made of."""
    both = [name for name in names if name in original.schema and name in dataset.schema]
    alike = [name for name in both if dataset.schema.kind(name) is original.schema.kind(name)]
    if not alike:
        return tuple(both)
    counts = [
        ask(each.table.aggregate([each.table[name].nunique().name(name) for name in alike]))
        for each in (dataset, original)
    ]
    return tuple(name for name in both if name not in alike or counts[0][name][0] != counts[1][name][0])


def _opened(options: Release) -> Dataset:
    """The table to be released; where it is open already, the options of reading are those of ``rows_of``."""
    if options.rows_of is not None and isinstance(options.data, Dataset):
        usual: dict[str, Any] = {field.name: field.default for field in fields(options) if field.name in READING}
        options = replace(options, **usual)
    return open_table(options.data, options)


def _roles_of_source(original: Dataset, finished: Dataset) -> Roles:
    """The roles of a finished table: its own, and for the columns that have none those that its source gives them."""
    elsewhere = [name for name in original.roles.named if name not in finished.schema]
    return without(original.roles, elsewhere).overridden_by(finished.roles)


def _left_out(dataset: Dataset, columns: Sequence[str] | None) -> tuple[str, ...]:
    """The columns that are not written, in the table's order."""
    if columns is None:
        return ()
    dataset.schema.check(*sorted(set(columns)))
    if not columns:
        raise RoleError("no column is named that should be written; name some, or leave the choice out for all")
    return tuple(name for name in dataset.schema.names if name not in columns)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReleaseCounts:
    """The table as it would be published, still an expression of the engine, and its classes, counted."""

    masked: MaskedData
    published: Dataset
    classes: ClassTable


def count_published(source: Source, earlier: EarlierReleases | None, options: Release) -> ReleaseCounts:
    masks = {c: mask for c, mask in all_masks(source.configuration, source.roles).items() if c not in source.left_out}
    dataset = with_person(source.dataset if earlier is None else earlier.dataset, source.policy.unit)
    if not options.shuffle and POSITION not in dataset.table.columns:
        dataset = dataset.with_table(numbered(dataset.table))
    masked = masked_data(dataset, masks, mappings=options.mapping is not None)
    published = masked.dataset
    constrained = earlier is not None and earlier.constrains
    if source.left_out:
        remaining = as_dataset(published.table.drop(*source.left_out))
        published = replace(remaining, name=published.name, roles=without(published.roles, source.left_out))
    if not is_url(options.out) and is_csv(Path(options.out)):
        published = published.with_table(blank_is_missing(published.table))
    counted, policy = published, source.judged_policy
    if constrained and source.shown_earlier:
        before = {column: mask for column, mask in source.shown_earlier.items() if mask is not None}
        table = masked.dataset.table.cache() if before else masked.dataset.table  # its values are counted for masks
        shown = masked_data(masked.dataset.with_table(table), before).dataset.table if before else table
        unseen = [column for column in source.left_out if column not in source.shown_earlier]
        counted, policy = as_dataset(shown.drop(*unseen) if unseen else shown), source.joint_policy
        if not is_url(options.out) and is_csv(Path(options.out)):
            counted = counted.with_table(blank_is_missing(counted.table))
    classes = classes_of(
        counted,
        policy,
        source.published_roles,
        contents=source.contents,
        hierarchies=source.hierarchies,
        known=constrained,
    )
    return ReleaseCounts(masked=masked, published=published, classes=classes)


def judged_kinds(source: Source, counts: ReleaseCounts) -> dict[str, Kind]:
    """What the columns hold that are judged by their values."""
    names = (*source.judged_policy.attributes, *source.contents)
    return {name: counts.published.schema.kind(name) for name in names}


def fitted_configuration(source: Source, counts: ReleaseCounts) -> Configuration:
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
