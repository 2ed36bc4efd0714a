"""Judge the classes of a table by a policy: as it was opened, and a release as it lies there, read again.

No model judges an identifying column. So a mask that leaves part of it (the last four digits, the first letters, a
coarser code) would publish what tells people apart, judged by nothing: nothing of it is published, or names that mean
nothing. Such a column is a quasi-identifier, and whoever wants to publish part of it calls it so.

A release is judged by every value as it is written, from scratch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import ibis
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from aegis.commands.fields import PolicyLike
from aegis.counts.answer import ask
from aegis.counts.class_table import ClassTable
from aegis.counts.collect_classes import PERSON, count_classes
from aegis.data import delimited
from aegis.data.dataset import Dataset
from aegis.data.domain import Domain, show
from aegis.data.engine import as_dataset, connect
from aegis.data.engine_words import in_our_words
from aegis.data.hierarchy import Hierarchy
from aegis.data.kind import Kind
from aegis.data.schema import Roles
from aegis.errors import DataError, OptionError, PolicyError, PolicyNotSatisfiedError, RoleError, VerificationError
from aegis.library.tables.opening import with_orders
from aegis.masking.configuration import Configuration
from aegis.masking.mask import Mask
from aegis.masking.masks.generalize import Generalize
from aegis.masking.masks.suppress import Suppress
from aegis.masking.transition import Partition, transition
from aegis.privacy.judgement import Judgement, hopeless, judge_all
from aegis.privacy.policy import Policy
from aegis.privacy.together import KNOWN_CLASS
from aegis.releases.certificate import sanitized_columns
from aegis.releases.row_digest import OWN
from aegis.releases.write import is_csv

EVERYBODY = f"{OWN}everybody"


def read_policy(policy: PolicyLike, *, person: str | None = None) -> Policy:
    """A policy from its file, from a mapping, or as it is; ``person`` is its unit where it names none."""
    if isinstance(policy, Mapping):
        rules = Policy.from_mapping(policy)
    else:
        rules = policy if isinstance(policy, Policy) else Policy.read(Path(policy))
    if rules.attacks:
        from aegis.attacks.attack import ATTACKS  # learners, which most policies do without

        for name, _ in rules.attacks:
            if name not in ATTACKS:
                raise PolicyError(
                    f"the policy limits the attack {name!r}, which does not exist; there are {', '.join(ATTACKS)}"
                )
    return by_person(rules, person)


def by_person(policy: Policy, person: str | None) -> Policy:
    """The policy, counting the people that a column names."""
    if person is None or policy.unit == person:
        return policy
    if policy.unit is not None:
        raise OptionError(
            f"the policy counts people by {policy.unit!r} and --person names {person!r}; name one of them"
        )
    return replace(policy, unit=person)


def refuse_sanitized(data: object, policy: Policy) -> None:
    """Raise if ``policy`` speaks of the values of a column in which a sanitizer's release stands.

    A symbol says less, or more, than the value behind it: two symbols in a class may hide one value. The true values
    were judged when the release was made, if by this very policy.
    """
    if not isinstance(data, str | Path):
        return
    released, judged_by = sanitized_columns(Path(data))
    spoken = [name for name in policy.attributes if name in released]
    if spoken and judged_by != policy.id:
        raise PolicyError(
            f"{spoken[0]!r} holds what a sanitizer released, and the policy speaks of its true values: judge them with "
            "aegis sanitize --policy"
        )


def classes_of(
    dataset: Dataset,
    policy: Policy,
    roles: Roles,
    *,
    contents: tuple[str, ...] = (),
    released: bool = False,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    known: bool = False,
) -> ClassTable:
    """The class table a policy needs, with further contents if wanted.

    ``known`` says that the table knows in which class of the earlier releases each record is: that is its last column.
    """
    attributes = tuple(dict.fromkeys((*policy.attributes, *contents)))
    quasi = roles.quasi_identifying
    if policy.unit is not None and policy.unit not in dataset.schema and PERSON not in dataset.table.columns:
        raise PolicyError(
            f"the policy counts people by the column {policy.unit!r}, which the table does not have; give the one that "
            "has it, or take the unit out of the policy to count records"
        )
    if not quasi:
        dataset, quasi = as_dataset(with_everybody(dataset.table)), (EVERYBODY,)
    columns = (*quasi, KNOWN_CLASS) if known else quasi
    table = count_classes(dataset, columns, contents=attributes, released=released, unit=policy.unit)
    table = with_orders(table, dataset.orders)
    levels = {}
    for column in policy.hierarchical:
        if not hierarchies or column not in hierarchies:
            raise PolicyError(f"the policy needs a hierarchy of {column!r}; put one into the hierarchies folder")
        levels[column] = level_partitions(hierarchies[column], table.contents[column].domain, column)
    return table.with_levels(levels) if levels else table


def with_everybody(table: ir.Table) -> ir.Table:
    """The table with the column that stands for quasi-identifiers where all are left out: nothing tells rows apart."""
    return table.mutate(**{EVERYBODY: ibis.literal("everybody")})


def level_partitions(hierarchy: Hierarchy, domain: Domain, column: str) -> tuple[Partition, ...]:
    """The levels of a hierarchy as partitions of a domain, finest first; a missing value stays apart until the top."""
    hierarchy.check_covers(domain, column=column)
    levels = []
    for level in range(1, hierarchy.top + 1):
        change = transition(Generalize(hierarchy=hierarchy, level=level), domain, np.ones(domain.size))
        assert isinstance(change, Partition)
        levels.append(change)
    if domain.missing:
        levels.append(Partition(codes=np.zeros(domain.size, dtype=np.int64), target=Domain.of(Kind.TEXT, ["*"])))
    return tuple(levels)


def why_not(judged: Judgement, table: ClassTable) -> str | None:
    """Why a table does not satisfy its policy, in one sentence; None where it does."""
    if judged.satisfied:
        return None
    never = hopeless(table, judged.policy)
    if never:
        sentences = "; ".join(verdict.sentence().removesuffix(": NOT satisfied") for verdict in never)
        more = "" if judged.policy.max_suppression == 0 else " without dropping records"
        return f"no masking can satisfy this policy{more}: with every quasi-identifier hidden, {sentences}"
    failed = "; ".join(
        verdict.sentence().removesuffix(": NOT satisfied") for verdict in judged.verdicts if not verdict.satisfied
    )
    reason = "; ".join(part for part in (failed, judged.reason) if part)
    return reason if "mask more" in reason else f"{reason}; mask more"


def check_identifying(roles: Roles, masks: Mapping[str, Mask]) -> None:
    """Raise where a mask shows part of an identifying column."""
    for column in roles.identifying:
        mask = masks.get(column)
        if mask is not None and not means_nothing(mask):
            raise RoleError(
                f"{column!r} is identifying, and {mask.describe()} shows part of it, which no model would judge: call "
                "it quasi_identifying in the policy, so that what is shown of it is judged, or hide it (suppress, "
                "pseudonym, token)"
            )


def check_hidden(unit: str | None, configuration: Configuration) -> None:
    """Raise where the column that people are counted by would be published, even as pseudonyms.

    Everybody could put the records of a person together. So nobody who holds the release can count people in it:
    whoever makes it counts them in the masked table, and the written classes are compared with those.
    """
    mask = None if unit is None else configuration.masks.get(unit)
    if mask is not None and not any(isinstance(step, Suppress) for step in mask.steps):
        raise PolicyError(
            f"people are counted by {unit!r}, and the configuration publishes something of it: whoever sees which "
            "records belong together knows more of a person than any class says; suppress it, or leave it out"
        )


def means_nothing(mask: Mask) -> bool:
    """Whether a mask leaves nothing of a value: a star, a missing value, or a name that means nothing."""
    return mask.hides or any(step.injective for step in mask.steps)


def pseudonymous(roles: Roles, masks: Mapping[str, Mask]) -> tuple[str, ...]:
    """The identifying columns that are published as pseudonyms or tokens: they say which rows are of one person."""
    return tuple(
        column
        for column in roles.identifying
        if column in masks and means_nothing(masks[column]) and not masks[column].hides
    )


Texts = Mapping[str, tuple[tuple[str | None, ...], NDArray[np.int64]]]

_TYPES = {
    Kind.INTEGER: "int64",
    Kind.REAL: "float64",
    Kind.BOOLEAN: "boolean",
    Kind.DATE: "date",
    Kind.TIMESTAMP: "timestamp",
}


def open_written(file: Path, *, named: Path, header: str | None = None) -> Dataset:
    """Open a released file by the format of its name, with nothing read into its values.

    The values of a CSV file stay texts: 1 and 1.0 are two values to whoever tells people apart by them. Its ``header``
    is given where the file was looked into before.
    """
    connection = connect(None)
    if is_csv(named):
        read = delimited.read(connection, file, delimiter=",", encoding="utf-8", as_text=True, header=header)
        return as_dataset(read)
    try:
        return as_dataset(connection.read_parquet(str(file)))
    except Exception as error:
        ours = DataError(f"{named.name} cannot be read as parquet ({type(error).__name__})")
        raise in_our_words(error, ours) from None


def measure_written(
    written: Dataset,
    policy: Policy,
    roles: Roles,
    *,
    kinds: Mapping[str, Kind],
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> Judgement:
    """Judge a written table from scratch.

    ``kinds`` says what the sensitive columns and the label hold: where a distance counts, 10 comes after 9. Records are
    counted: a written table does not say whose they are.
    """
    policy = policy.by_records()
    absent = [name for name in (*roles.quasi_identifying, *policy.attributes) if name not in written.schema]
    if absent:
        raise VerificationError(f"the release lacks the column {absent[0]!r} that its policy speaks of")
    label = roles.label if roles.label is not None and roles.label in written.schema else None
    contents = () if label is None else (label,)
    table = _typed(written.table, {name: kinds[name] for name in (*policy.attributes, *contents) if name in kinds})
    return judge_all(
        classes_of(as_dataset(table), policy, roles, contents=contents, released=True, hierarchies=hierarchies),
        policy,
        suppress=False,
    )


def check_written(
    written: Dataset,
    policy: Policy,
    roles: Roles,
    *,
    kinds: Mapping[str, Kind],
    hierarchies: Mapping[str, Hierarchy] | None = None,
    judged: Judgement | None = None,
    verb: str = "written",
) -> Judgement:
    """Judge a written table from scratch, as `verify` will; raises where it does not satisfy the policy.

    Where people were counted, it must have the classes that were ``judged``: it does not say whose its records are.
    ``verb`` is what was not done then.
    """
    measured = measure_written(written, policy, roles, kinds=kinds, hierarchies=hierarchies)
    if judged is not None and policy.unit is not None:
        _check_as_judged(measured, judged)
    elif not measured.satisfied:
        reason = why_not(measured, measured.released)
        raise PolicyNotSatisfiedError(f"nothing was {verb}: the table as written fails the policy: {reason}")
    return measured


def _check_as_judged(measured: Judgement, judged: Judgement) -> None:
    """Raise unless the classes as they were written are those that were judged, by their records and every model."""
    expected = judge_all(judged.released.by_records(), judged.policy.by_records(), suppress=False)
    same = np.array_equal(np.sort(measured.released.sizes), np.sort(expected.released.sizes)) and all(
        _close(now.value, then.value) for now, then in zip(measured.verdicts, expected.verdicts, strict=True)
    )
    if not same:
        raise PolicyNotSatisfiedError(
            "nothing was released: the classes of the table as written are not those whose people were counted; write "
            "another format"
        )


def _close(measured: float | None, expected: float | None) -> bool:
    if measured is None or expected is None:
        return measured is expected
    return bool(np.isclose(measured, expected, rtol=1e-9, atol=1e-12))


def _typed(table: ir.Table, kinds: Mapping[str, Kind]) -> ir.Table:
    """The table with texts read as what their columns hold; raises where one cannot be read so.

    A text that became a missing value would be judged as another table than the one that lies there.
    """
    columns = {
        name: table[name].try_cast(_TYPES[kind])
        for name, kind in kinds.items()
        if kind in _TYPES and table[name].type().is_string()
    }
    if not columns:
        return table
    lost = ask(
        table.aggregate(**{name: (table[name].notnull() & read.isnull()).any() for name, read in columns.items()})
    )
    for name in columns:
        if lost[name][0].as_py():
            raise VerificationError(
                f"the column {name!r} holds values that cannot be read as {kinds[name].value}, which it holds as the "
                "certificate says"
            )
    return table.mutate(**columns)


def written_texts(table: pa.Table) -> Texts:
    """The distinct texts of every column, and which of them stands in each row; a missing value is None."""
    texts = {}
    for name in table.column_names:
        packed = table[name].combine_chunks()
        packed = packed if pa.types.is_dictionary(packed.type) else packed.dictionary_encode()
        labels: list[str | None] = [None if v is None else show(v) for v in packed.dictionary.to_pylist()]
        codes = np.full(len(packed), len(labels), dtype=np.int64)
        valid = np.asarray(packed.indices.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
        codes[valid] = packed.indices.drop_null().to_numpy(zero_copy_only=False)
        if not valid.all():
            labels.append(None)
        texts[name] = (tuple(labels), codes)
    return texts
